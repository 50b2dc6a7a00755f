# Irequires waits for the start.
# numbers: those of the files, in the units of a scenario.
$ cat > a.goal <<END
num_ranks 2
rank 0 { a: calc 100
 b: calc 1000 b requires a
 s: send 10b to 1 s irequires b }
rank 1 { r: recv 10b from 0 x: send 10b to 0 x irequires r }
END
$ cat > star.toml <<END

duration = "1s"
cc = "dcqcn"
topology = { kind = "star", hosts = 8, rate = "100Gbps", rtt = "4us" }
network = { pfc = true }
traffic = [{ kind = "incast" }]
END
$ shallows import a.goal --on star.toml --out out.toml
$ cat out.toml
