# An option with one value is given once.
$ shallows run small.toml --cc dctcp --cc dx
