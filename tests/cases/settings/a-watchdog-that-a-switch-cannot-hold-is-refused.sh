# A watchdog that a switch cannot hold is refused.
$ cat > own.toml <<END
duration = "1ms"
topology = { kind = "star", hosts = 3, rate = "100Gbps", rtt = "8us" }
traffic = [
    { kind = "incast", senders = 2, size = "100KB", class = "c0" },
    { kind = "incast", senders = 2, size = "100KB", class = "c1" },
]
cc = { name = "dcqcn" }
classes = [{ name = "c0", pfc = { watchdog = "5ms" } }, { name = "c1", pfc = { watchdog = "5ms" } }]
END
$ shallows settings write own.toml --sonic --queues 5,4
$ sed -i -e '8c\classes = [{ name = "c0", pfc = { watchdog = "150ms" } }, { name = "c1", pfc = { watchdog = "300ms" } }]' own.toml
$ shallows settings write own.toml --sonic --queues 5,4
