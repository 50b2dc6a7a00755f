# A topology alone has the traffic of the base.
# numbers: those of the files, in the units of a scenario.
$ cat > t.txt <<END
4 1 3
3
0 3 100Gbps 1us 0
1 3 100Gbps 1us 0
2 3 100Gbps 1us 0.001
END
$ shallows import t.txt --on incast.toml --out out.toml
$ cat out.toml
