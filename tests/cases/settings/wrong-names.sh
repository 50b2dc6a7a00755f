Names of NICs and switches as keys: an error has the name that was written.

$ sed 's|{ name = "dcqcn" }|{ name = "dcqcn", rpg_ai_rate = "5Mbps" }|g' star.toml > own.toml
$ shallows run own.toml
$ sed 's|{ name = "dcqcn" }|{ name = "dcqcn", rpg_ai_rate = 5, r_ai = "5Mbps" }|g' star.toml > own.toml
$ shallows run own.toml
$ sed 's|{ name = "dcqcn" }|{ name = "dcqcn", rpg_gd = 10 }|g' star.toml > own.toml
$ shallows run own.toml
$ sed 's|{ name = "dcqcn" }|{ name = "dcqcn", rpg_byte_reset = 5 }|g' star.toml > own.toml
$ shallows run own.toml
$ sed '$a network = { marking = { green_min_threshold = "x" } }' star.toml > own.toml
$ shallows run own.toml
$ sed '$a network = { pfc = { xoff = -1 } }' star.toml > own.toml
$ shallows run own.toml
$ sed '$a network = { shared = { dynamic_th = 99 } }' star.toml > own.toml
$ shallows run own.toml
