# The help of each command.
$ shallows wire --help
$ shallows wire receive --help
$ shallows wire send --help
$ shallows wire host --help
