# The help of each command.
$ shallows request --help
