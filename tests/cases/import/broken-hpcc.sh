Topologies and flows of the HPCC simulator.

$ cat > t.txt <<END
5 1 4
0
0 1 100Gbps 0.001ms 0
0 2 100Gb/s 1us 0
0 3 10000Mbps 1000 ns 0.000001
0 4 1e11bps 1e-6 0
END
$ shallows import t.txt flow.txt --out out.toml
$ cat > t.txt <<END
5 1 4
0
0 1 100Gbps 0.001ms 0
0 2 100G 1us 0
0 3 10000Mbps 1000ns 0.000001
0 4 1e11bps 1e-6 0
END
$ shallows import t.txt flow.txt --out out.toml
$ cat > t.txt <<END
5 1 4
0
0 1 100Gbps 0.001ms 0
0 2 100Gb/s 1us 0
0 3 10000Mbps 1000ns 0.000001
END
$ shallows import t.txt flow.txt --out out.toml
$ cat > t.txt <<END
5 1 4
0
0 1 100Gbps 0.001ms 0
0 2 100Gb/s 1us 0
0 3 10000Mbps 1000ns 0.000001
4 4 1e11bps 1e-6 0
END
$ shallows import t.txt flow.txt --out out.toml
$ cat > t.txt <<END
5 1 4
0
0 1 100Gbps 0.001ms 0
0 2 100Gb/s 1us 0
0 3 10000Mbps 1000ns 0.000001
0 4 1e14bps 1e-6 0
END
$ shallows import t.txt flow.txt --out out.toml
$ cat > t.txt <<END
5 1 4 1 1
0
0 1 100Gbps 0.001ms 0
0 2 100Gb/s 1us 0
0 3 10000Mbps 1000ns 0.000001
0 4 1e11bps 1e-6 0
END
$ shallows import t.txt flow.txt --out out.toml
$ cat > f.txt <<END
3
1 4 3 100 5 0
END
$ shallows import f.txt topology.txt --out out.toml
$ cat > f.txt <<END
1
0 4 3 100 5 0
END
$ shallows import f.txt topology.txt --out out.toml
$ cat > f.txt <<END
1
1 1 3 100 5 0
END
$ shallows import f.txt topology.txt --out out.toml
$ cat > f.yaml <<END
test
size: 1
END
$ shallows import f.yaml topology.txt --out out.toml
$ cat > f.txt <<END
1
1 4 3 5
END
$ shallows import f.txt topology.txt --out out.toml
$ cat > f.txt <<END
1
1 4 3 100 5 soon
END
$ shallows import f.txt topology.txt --out out.toml
