# numbers: a shipped profile has 800 KB, 3200 KB and 0.2; bytes and per cent on a switch, and 20.3 % is within 3 % of 20

$ sed '$a network.marking = { kind = "red", kmin = "800KB", kmax = "3200KB", pmax = 0.2 }' star.toml > own.toml
$ shallows settings write own.toml --sonic
$ sed '$a network.marking = { kind = "red", kmin = "800KB", kmax = "3200KB", pmax = 0.203 }' star.toml > own.toml
$ shallows settings write own.toml --sonic
