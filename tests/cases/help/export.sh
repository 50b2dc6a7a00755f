# The help of each command.
$ shallows export --help
