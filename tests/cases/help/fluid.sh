# The help of each command.
$ shallows fluid --help
$ shallows fluid fixed-point --help
$ shallows fluid margin --help
$ shallows fluid trajectory --help
$ shallows fluid map --help
