# An algorithm that does not exist, one of Linux alone, and files without one.
$ shallows judge nosuch
$ shallows judge bbr
$ shallows judge ./none.py:Mine
$ shallows judge ./inputs.py:Nope --families ./small.toml
