# A window that is none is refused before the run.
$ shallows run small.toml --since 5us --until 5us
