# An option with one value is given once.
$ shallows sweep small.toml --x a --x b
