# The help of each command.
$ shallows judge --help
