# The help of each command.
$ shallows flow-session --help
