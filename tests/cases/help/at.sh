# The help of each command.
$ shallows at --help
