Values for which a switch has no setting.

$ sed '$a network = { marking = { kind = "red", pmax = 0.004 } }' star.toml > own.toml
$ shallows settings write own.toml --sonic
$ sed '$a network = { marking = { kind = "red", pmax = 0.015 } }' star.toml > own.toml
$ shallows settings write own.toml --sonic
$ sed '$a network = { marking = { kind = "red", kmin = "0.4B" } }' star.toml > own.toml
$ shallows settings write own.toml --sonic
$ sed '$a network = { shared = { alpha = 0.3 } }' star.toml > own.toml
$ shallows settings write own.toml --sonic
$ sed '$a network = { shared = { alpha = 1024 } }' star.toml > own.toml
$ shallows settings write own.toml --sonic
