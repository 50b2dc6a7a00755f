# The help of each command.
$ shallows settings --help
$ shallows settings read --help
$ shallows settings write --help
$ shallows settings explain --help
