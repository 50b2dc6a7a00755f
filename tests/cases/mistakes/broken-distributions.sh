# Files of sizes that are no distribution.
$ cat > own.toml <<END
duration = "1s"
cc = "dctcp"
topology = { kind = "dumbbell", hosts = 4 }
traffic = [{ kind = "poisson", sizes = "sizes.csv", load = 0.2, load_of = "bottleneck", flows = 50 }]
END
$ cat > sizes.csv <<END
size_bytes,cum_prob
END
$ shallows run own.toml
$ cat > sizes.csv <<END
1,0
5,0.5
4,1
END
$ shallows run own.toml
$ cat > sizes.csv <<END
# only a comment
size_bytes,cum_prob
END
$ shallows run own.toml
$ cat > sizes.csv <<END
100,0
200,0.5
150,1
END
$ shallows run own.toml
$ cat > sizes.csv <<END
100,0
200,0.5
300,0.4
400,1
END
$ shallows run own.toml
$ cat > sizes.csv <<END
100,0
200,0.9
END
$ shallows run own.toml
$ cat > sizes.csv <<END
100,0
200,1.5
END
$ shallows run own.toml
$ cat > sizes.csv <<END
-1,0
200,1
END
$ shallows run own.toml
$ cat > sizes.csv <<END
100;0
200;1
END
$ shallows run own.toml
$ cat > sizes.csv <<END
nan,0
200,1
END
$ shallows run own.toml
$ cat > sizes.csv <<END
END
$ shallows run own.toml
