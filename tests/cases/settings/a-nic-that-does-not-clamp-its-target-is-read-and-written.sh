# A nic that does not clamp its target is read and written.
# numbers: 20 Mbit/s and no clamp, 0, as given; all others are those of write-nic.out, for the same network.
$ cat > nic.txt <<END
RPG_AI_RATE_P1 20
CLAMP_TGT_RATE_P1 False(0)
CLAMP_TGT_RATE_AFTER_TIME_INC_P1 True(1)
END
$ shallows settings read nic.txt
$ cat > own.toml <<END
duration = "1ms"
topology = { kind = "star", hosts = 9, rate = "400Gbps", rtt = "8us" }
traffic = [{ kind = "incast", senders = 2, size = "100KB" }]
cc = { name = "dcqcn", clamp = false }
END
$ shallows settings write own.toml --mlx5
