# A window that is none is refused before the run.
$ shallows compare small.toml --cc dctcp --since 5
