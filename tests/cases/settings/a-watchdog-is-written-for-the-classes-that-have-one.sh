# A watchdog is written for the classes that have one.
# numbers: times are milliseconds, 150 as in class a, and restoration lasts as long; threshold and headroom of 50 and
# 100 KB as given. What is not given is that of the scenario: 3000 B, two frames, of hysteresis, 250 frames of buffer,
# 375000 B, and a ramp of 12500 to 500000 B and 1 %.
$ cat > own.toml <<END
duration = "1ms"
topology = { kind = "star", hosts = 3, rate = "100Gbps", rtt = "8us" }
traffic = [
    { kind = "incast", senders = 2, size = "100KB", class = "a" },
    { kind = "incast", senders = 2, size = "100KB", class = "b" },
    { kind = "incast", senders = 2, size = "100KB", class = "c" },
]
cc = { name = "dcqcn" }
classes = [
    { name = "a", pfc = { threshold = "50KB", headroom = "100KB", watchdog = "150ms" } },
    { name = "b", pfc = { threshold = "50KB", headroom = "100KB" } },
    { name = "c" },
]
END
$ shallows settings write own.toml --sonic --queues 5,4,1
