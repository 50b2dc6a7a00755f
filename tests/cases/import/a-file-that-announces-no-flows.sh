# A file that announces no flows.
# numbers: those of the files, in the units of a scenario.
$ cat > none.txt <<END
0
END
$ cat > star.toml <<END

duration = "5ms"
cc = "dcqcn"
topology = { kind = "star", hosts = 8, rate = "400Gbps", rtt = "4us" }
network = { pfc = true, mtu = "4096B" }
traffic = [{ kind = "incast", senders = 2 }]
END
$ shallows import none.txt --on star.toml --out out.toml
$ cat out.toml
$ cat > some.cm <<END
Nodes 8
0->1 start 0 size 1
END
$ shallows import none.txt some.cm --on star.toml --out both.toml
$ cat both.toml
$ cat both.some.csv
