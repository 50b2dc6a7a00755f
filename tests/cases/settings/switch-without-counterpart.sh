# numbers: those of the scenario, of its network by default, and of marking = "red" by default

$ sed '$a network = { marking = { kind = "red", weight = 0.5 } }' star.toml > own.toml
$ shallows settings write own.toml --sonic
$ sed '$a network = { marking = { kind = "red", gentle = true } }' star.toml > own.toml
$ shallows settings write own.toml --sonic
$ sed '$a network = { marking = { kind = "red", uniform = true } }' star.toml > own.toml
$ shallows settings write own.toml --sonic
$ sed '$a network = { marking = { kind = "pi" }, buffer = "9MB" }' star.toml > own.toml
$ shallows settings write own.toml --sonic
$ sed '$a network = { buffer = "unlimited" }' star.toml > own.toml
$ shallows settings write own.toml --sonic
$ sed '$a network = { balancing = "packet" }' star.toml > own.toml
$ shallows settings write own.toml --sonic
