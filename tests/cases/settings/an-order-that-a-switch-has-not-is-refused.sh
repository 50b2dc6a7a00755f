# An order that a switch has not is refused.
$ cat > own.toml <<END
duration = "1ms"
topology = { kind = "star", hosts = 3, rate = "100Gbps", rtt = "8us" }
cc = { name = "dcqcn" }
classes = [
    { name = "sync", pfc = { headroom = "20KB", hysteresis = "3KB" }, pool = "lossless" },
    { name = "rdma", weight = 60, marking = { kind = "red", kmin = "50KB", kmax = "200KB", pmax = 0.1, at = "dequeue" }, pfc = { headroom = "30KB", threshold = "90KB", hysteresis = "4KB" } },
    { name = "tcp", weight = 40, marking = "none", pool = "lossless" },
    { name = "rest", buffer = "400KB", marking = "none" },
]
pools = [{ name = "lossless", size = "4MB", alpha = 0.25 }]
traffic = [{ kind = "incast", senders = 2, size = "100KB", class = "rdma" }]
END
$ shallows settings write own.toml --sonic --queues 6,4,1,0
$ sed -i -e '6c\    { name = "rdma", marking = { kind = "red", kmin = "50KB", kmax = "200KB", pmax = 0.1, at = "dequeue" }, pfc = { headroom = "30KB", threshold = "90KB", hysteresis = "4KB" } },' -e '7c\    { name = "tcp", marking = "none", pool = "lossless" },' own.toml
$ shallows settings write own.toml --sonic --queues 0,1,2,3
$ sed -i -e '6c\    { name = "rdma", weight = 1001, marking = { kind = "red", kmin = "50KB", kmax = "200KB", pmax = 0.1, at = "dequeue" }, pfc = { headroom = "30KB", threshold = "90KB", hysteresis = "4KB" } },' -e '7c\    { name = "tcp", weight = 7, marking = "none", pool = "lossless" },' -e '8c\    { name = "rest", weight = 10, buffer = "400KB", marking = "none" },' own.toml
$ shallows settings write own.toml --sonic --queues 6,4,1,0
