# Files beside the configuration and as arguments.
# numbers: those of the files, in the units of a scenario.
$ cat > f.txt <<END
1
2 0 3 100 100 2
END
$ cat > star.toml <<END

duration = "5ms"
cc = "dcqcn"
topology = { kind = "star", hosts = 8, rate = "400Gbps", rtt = "4us" }
network = { pfc = true, mtu = "4096B" }
traffic = [{ kind = "incast", senders = 2 }]
END
$ shallows import mix/config.txt f.txt mix/trace.txt --out out.toml
$ cat out.toml
$ cat out.f.csv
