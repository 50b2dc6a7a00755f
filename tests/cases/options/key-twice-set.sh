# A key is given once.
$ shallows run small.toml --set seed=1 --set seed=2
