# Lines behind the announced ones are named.
# numbers: those of the files, in the units of a scenario. The simulator reads as many links and flows as the first
# line says.
$ cat > flow.txt <<END
1
1 4 3 100 200000 2
3 2 3 100 50 2
END
$ cat > topology.txt <<END
5 1 4
0
0 1 100Gbps 0.001ms 0
0 2 100Gb/s 1us 0
0 3 10000Mbps 1000ns 0.000001
0 4 1e11bps 1e-6 0
1 2 1Gbps 1us 0
END
$ shallows import topology.txt flow.txt --out out.toml
$ cat out.toml
$ cat out.flow.csv
