# The help of each command.
$ shallows compare --help
