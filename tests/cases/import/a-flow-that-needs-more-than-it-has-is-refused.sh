# A flow that needs more than it has is refused.
# numbers: those of the files, in the units of a scenario.
$ cat > a.csv <<END
id,src,dst,bytes,after,needs
a,0,1,1000,,
c,1,3,1000,a,2
END
$ cat > star.toml <<END

duration = "1s"
cc = "dcqcn"
topology = { kind = "star", hosts = 8, rate = "100Gbps", rtt = "4us" }
network = { pfc = true }
traffic = [{ kind = "incast" }]
END
$ shallows import a.csv --on star.toml --out out.toml
$ cat > a.csv <<END
id,src,dst,bytes,after,needs
a,0,1,1000,,
c,1,3,1000,a,x
END
$ shallows import a.csv --on star.toml --out out.toml
