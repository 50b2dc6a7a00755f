# The help of each command.
$ shallows report --help
