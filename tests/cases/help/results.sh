# The help of each command.
$ shallows results --help
$ shallows results list --help
$ shallows results diff --help
$ shallows results clean --help
