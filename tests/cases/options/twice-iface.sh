# An option with one value is given once.
$ shallows live attach dx --iface a --iface b
