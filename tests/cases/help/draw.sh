# The help of each command.
$ shallows draw --help
