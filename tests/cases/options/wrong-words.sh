# A mistake of words is one message, and status 2. A DSCP has six bits (RFC 2474), a priority three (IEEE 802.1Q).
$ shallows run nowhere.toml
$ shallows run small.toml --world moon
$ shallows run small.toml --set seed
$ shallows run small.toml --set cc.name=dctpc
$ shallows run small.toml --set cc.name=bbr
$ shallows live run dx --set headroom
$ shallows live attach dx --iface lo --set x
$ shallows fluid margin dcqcn --set kmax
$ shallows run small.toml --seed many
$ shallows settings write small.toml --sonic --dscp 64
$ shallows settings write small.toml --sonic --queues 8
$ shallows run small.toml --out small.toml
$ shallows run
$ shallows compare small.toml --cc dctcp --cc dctcp
$ shallows compare small.toml --cc dctcp --threads 0
$ shallows sweep small.toml --seeds 0
$ shallows sweep small.toml --workers -1
$ shallows run small.toml --threads 0
$ shallows cc dctpc
$ shallows fly
