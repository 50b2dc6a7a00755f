# An option with one value is given once.
$ shallows run small.toml --seed 1 --seed 2
