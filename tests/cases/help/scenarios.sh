# The help of each command.
$ shallows scenarios --help
