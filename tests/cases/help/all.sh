# The commands, in the order of help.
$ shallows --help
