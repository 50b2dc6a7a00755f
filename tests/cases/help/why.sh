# The help of each command.
$ shallows why --help
