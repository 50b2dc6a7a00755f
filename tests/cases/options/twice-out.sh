# An option with one value is given once.
$ shallows run small.toml --out a --out=b
