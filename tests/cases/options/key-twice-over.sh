# A key is given once.
$ shallows sweep small.toml --over traffic.0.senders=1,2 --over traffic.0.senders=3,4
