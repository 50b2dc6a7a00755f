# Options out of range.
$ shallows judge dctcp --families W9,Z1
$ shallows judge dctcp --families D2,D2
$ shallows judge dctcp --families ""
$ shallows judge dctcp --families ./none.toml
$ shallows judge dctcp --held-out abc
$ shallows judge dctcp --worst --budget 0
$ shallows judge dctcp --worst --budget much
$ shallows judge dctcp --budget 1M
$ shallows judge dctcp --threads 0
$ shallows judge dctcp --families ./small.toml --out taken
