# A micro workload is one collective of all ranks.
# numbers: those of the files, in the units of a scenario.
$ cat > m.txt <<END
MICRO
1
micro_test	-1	1	NONE	0	1	NONE	0	1	ALLREDUCE	4096	1
END
$ cat > star.toml <<END

duration = "5ms"
cc = "dcqcn"
topology = { kind = "star", hosts = 8, rate = "400Gbps", rtt = "4us" }
network = { pfc = true, mtu = "4096B" }
traffic = [{ kind = "incast", senders = 2 }]
END
$ shallows import m.txt --on star.toml --out m.toml
$ cat m.toml
