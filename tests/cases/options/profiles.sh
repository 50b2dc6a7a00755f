# A session needs profiles with one scenario each, which exists.
$ shallows flow-session
$ shallows flow-session --profile small.toml
$ shallows flow-session --profile a=small.toml --profile a=other.toml
$ shallows flow-session --profile a=missing.toml
