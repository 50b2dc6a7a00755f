# The help of each command.
$ shallows fit --help
