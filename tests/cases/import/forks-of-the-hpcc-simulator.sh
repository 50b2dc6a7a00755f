# Forks of the hpcc simulator.
# numbers: those of the files, in the units of a scenario. SimAI has NVLink switches, PowerTCP the number of racks,
# and ConWeave flows without a port.
$ cat > flow.txt <<END
1
0 3 3 1000 0
END
$ cat > simai.txt <<END
8 2 2 2 8 H100
4 5
6 7
0 4 900Gbps 100ns 0
0 6 400Gbps 1us 0
1 4 900Gbps 100ns 0
1 7 400Gbps 1us 0
2 5 900Gbps 100ns 0
2 6 400Gbps 1us 0
3 5 900Gbps 100ns 0
3 7 400Gbps 1us 0
END
$ shallows import flow.txt simai.txt --out out.toml
$ cat out.toml
$ cat out.flow.csv
$ cat > flow.txt <<END
1
1 2 3 1000 0
END
$ cat > powertcp.txt <<END
5 1 1 4
0
0 1 100Gbps 0.001ms 0
0 2 100Gb/s 1us 0
0 3 10000Mbps 1000ns 0.000001
0 4 1e11bps 1e-6 0
END
$ shallows import flow.txt powertcp.txt --out out.toml
$ cat out.toml
$ cat out.flow.csv
