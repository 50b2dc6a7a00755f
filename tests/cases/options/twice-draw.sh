# An option with one value is given once.
$ shallows draw small.toml --out a.png --out b.png
