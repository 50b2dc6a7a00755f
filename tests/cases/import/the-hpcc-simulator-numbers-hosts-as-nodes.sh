# The hpcc simulator numbers hosts as nodes.
# numbers: those of the files, in the units of a scenario.
$ cat > flow.txt <<END
2
1 4 3 100 200000 2
3 2 3 100 50 2.000001
END
$ shallows import flow.txt topology.txt --out out.toml
$ cat out.toml
$ cat out.flow.csv
$ numbers out.toml flows.offered flows.finished
