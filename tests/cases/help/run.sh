# The help of each command.
$ shallows run --help
