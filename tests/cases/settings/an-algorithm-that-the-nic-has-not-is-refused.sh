# An algorithm that the nic has not is refused.
$ cat > own.toml <<END
duration = "1ms"
topology = { kind = "star", hosts = 3, rate = "100Gbps", rtt = "8us" }
traffic = [{ kind = "incast", senders = 2, size = "100KB" }]
cc = { name = "dctcp" }
END
$ shallows settings write own.toml --mlx5
