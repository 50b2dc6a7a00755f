# The help of each command.
$ shallows merge --help
