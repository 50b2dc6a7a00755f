# The help of each command.
$ shallows sweep --help
