Parameters for which the registers of a NIC have no value.

$ sed 's|"dcqcn"|"dcqcn", b = "91MB"|g' fast.toml > own.toml
$ shallows settings write own.toml --mlx5
$ sed 's|"dcqcn"|"dcqcn", r_ai = "400Kbps"|g' fast.toml > own.toml
$ shallows settings write own.toml --mlx5
$ sed 's|"dcqcn"|"dcqcn", r_hai = "200Gbps", b = "32KB"|g' fast.toml > own.toml
$ shallows settings write own.toml --mlx5
$ sed 's|"dcqcn"|"dcqcn", min_rate = "1.5Mbps"|g' fast.toml > own.toml
$ shallows settings write own.toml --mlx5
$ sed 's|"dcqcn"|"dcqcn", t = "200ms"|g' fast.toml > own.toml
$ shallows settings write own.toml --mlx5
$ sed 's|"dcqcn"|"dcqcn", tau = "1.5us"|g' fast.toml > own.toml
$ shallows settings write own.toml --mlx5
$ sed 's|"dcqcn"|"dcqcn", f = 40|g' fast.toml > own.toml
$ shallows settings write own.toml --mlx5
$ sed 's|"dcqcn"|"dcqcn", g = 0.0001|g' fast.toml > own.toml
$ shallows settings write own.toml --mlx5
$ sed 's|"dcqcn"|"dcqcn", alpha = 0.0007|g' fast.toml > own.toml
$ shallows settings write own.toml --mlx5
