# The help of each command.
$ shallows live --help
$ shallows live check --help
$ shallows live run --help
$ shallows live attach --help
$ shallows live detach --help
$ shallows live status --help
