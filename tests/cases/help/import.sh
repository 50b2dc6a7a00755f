# The help of each command.
$ shallows import --help
