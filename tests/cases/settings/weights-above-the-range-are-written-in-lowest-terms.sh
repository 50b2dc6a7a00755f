# Weights above the range are written in lowest terms.
# numbers: 600, 400 and 200 are 3, 2 and 1; the rest is as in the case of classes that are written.
$ cat > own.toml <<END
duration = "1ms"
topology = { kind = "star", hosts = 3, rate = "100Gbps", rtt = "8us" }
cc = { name = "dcqcn" }
classes = [
    { name = "sync", pfc = { headroom = "20KB", hysteresis = "3KB" }, pool = "lossless" },
    { name = "rdma", weight = 600, marking = { kind = "red", kmin = "50KB", kmax = "200KB", pmax = 0.1, at = "dequeue" }, pfc = { headroom = "30KB", threshold = "90KB", hysteresis = "4KB" } },
    { name = "tcp", weight = 400, marking = "none", pool = "lossless" },
    { name = "rest", weight = 200, buffer = "400KB", marking = "none" },
]
pools = [{ name = "lossless", size = "4MB", alpha = 0.25 }]
traffic = [{ kind = "incast", senders = 2, size = "100KB", class = "rdma" }]
END
$ shallows settings write own.toml --sonic --queues 6,4,1,0
