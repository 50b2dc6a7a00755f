# A base needs no traffic if the files have some.
# numbers: those of the files, in the units of a scenario. An all-reduce of 8192 hosts has 134 million messages, more
# than a run may have.
$ cat > on.toml <<END
duration = "until-done"
cc = "dcqcn"
topology = { kind = "leaf-spine", leaves = 128, spines = 64, hosts_per_leaf = 64 }
END
$ cat > one.cm <<END
Nodes 8192
0->1 start 0 size 1000
END
$ shallows import one.cm --on on.toml --out out.toml
$ cat out.toml
$ cat out.one.csv
$ cat > on.toml <<END
duration = "until-done"
cc = "dcqcn"
topology = { kind = "leaf-spine", leaves = 128, spines = 64, hosts_per_leaf = 64 }
[[traffic]]
kind = "all-reduce"
size = "8MB"
END
$ shallows import one.cm --on on.toml --out out.toml
$ cat out.toml
$ cat out.one.csv
