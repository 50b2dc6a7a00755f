# The help of each command.
$ shallows cc --help
