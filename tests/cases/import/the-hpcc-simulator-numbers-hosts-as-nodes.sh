# The hpcc simulator numbers hosts as nodes.
# numbers: those of the files, in the units of a scenario.
$ cat > flow.txt <<END
2
1 4 3 100 200000 2
3 2 3 100 50 2.000001
END
$ cat > topology.txt <<END
5 1 4
0
0 1 100Gbps 0.001ms 0
0 2 100Gb/s 1us 0
0 3 10000Mbps 1000ns 0.000001
0 4 1e11bps 1e-6 0
END
$ shallows import flow.txt topology.txt --out out.toml
$ cat out.toml
$ cat out.flow.csv
$ numbers out.toml flows.offered flows.finished
