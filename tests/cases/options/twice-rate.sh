# An option with one value is given once.
$ shallows fluid margin dcqcn --rate 1Gbps --rate 2Gbps
