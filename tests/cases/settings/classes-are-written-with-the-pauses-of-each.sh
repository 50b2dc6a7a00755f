# Classes are written with the pauses of each.
# numbers: By hand: .25 is 2^-2, and static pools hold the threshold or the buffer of both ports: 2 x 90 KB and 2 x
# 400 KB.
$ cat > own.toml <<END
duration = "1ms"
topology = { kind = "star", hosts = 3, rate = "100Gbps", rtt = "8us" }
cc = { name = "dcqcn" }
classes = [
    { name = "sync", pfc = { headroom = "20KB", hysteresis = "3KB" }, pool = "lossless" },
    { name = "rdma", weight = 60, marking = { kind = "red", kmin = "50KB", kmax = "200KB", pmax = 0.1, at = "dequeue" }, pfc = { headroom = "30KB", threshold = "90KB", hysteresis = "4KB" } },
    { name = "tcp", weight = 40, marking = "none", pool = "lossless" },
    { name = "rest", weight = 10, buffer = "400KB", marking = "none" },
]
pools = [{ name = "lossless", size = "4MB", alpha = 0.25 }]
traffic = [{ kind = "incast", senders = 2, size = "100KB", class = "rdma" }]
END
$ shallows settings write own.toml --sonic --ports Ethernet0,Ethernet8 --queues 6,4,1,0
