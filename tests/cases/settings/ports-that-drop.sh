# numbers: the thresholds of the scenario, in bytes

$ sed '$a network.marking = { kind = "step", ecn = false, threshold = "50KB", at = "dequeue" }' cubic.toml > own.toml
$ shallows settings write own.toml --sonic > written.json
$ cat written.json
$ shallows settings read written.json
$ sed '$a network.marking = { kind = "red", pmax = 0.5, nodrop = true, kmin = "5KB", kmax = "99KB", at = "dequeue" }' cubic.toml > own.toml
$ shallows settings write own.toml --sonic > written.json
$ cat written.json
$ shallows settings read written.json
