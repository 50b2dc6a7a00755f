# The help of each command.
$ shallows advise --help
