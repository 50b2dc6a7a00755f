# numbers: the timer's 55 us at 400 Gbps are 2.75 MB, which are 3 % of 91.7 MB: a counter above that is as good as off, 0

$ shallows settings write fast.toml --mlx5
$ sed 's|"dcqcn"|"dcqcn", b = "92MB"|g' fast.toml > own.toml
$ shallows settings write own.toml --mlx5
$ sed 's|"dcqcn"|"dcqcn", b = "1000000GB"|g' fast.toml > own.toml
$ shallows settings write own.toml --mlx5
$ sed 's|"dcqcn"|"dcqcn", b = "32767B"|g' fast.toml > own.toml
$ shallows settings write own.toml --mlx5
$ sed 's|"dcqcn"|"dcqcn", b = "33KB"|g' fast.toml > own.toml
$ shallows settings write own.toml --mlx5
$ sed 's|"dcqcn"|"dcqcn", b = "4KB"|g' fast.toml > own.toml
$ shallows settings write own.toml --mlx5
$ sed 's|"dcqcn"|"dcqcn", tau = "2us"|g' fast.toml > own.toml
$ shallows settings write own.toml --mlx5

With a byte counter and a share that registers can hold exactly, nothing is rounded.

$ sed 's|"dcqcn"|"dcqcn", alpha = 0.5, b = "32KB"|' fast.toml > own.toml
$ shallows settings write own.toml --mlx5
