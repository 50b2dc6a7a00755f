# The help of each command.
$ shallows schema --help
