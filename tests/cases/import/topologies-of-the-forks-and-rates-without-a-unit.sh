# Topologies of the forks and rates without a unit.
# numbers: those of the files, in the units of a scenario.
$ cat > f.txt <<END
1
0 1 3 100 1000000 2
END
$ cat > t.txt <<END
3 1 1 2
2
0 2 25000000000.0 1us 0
1 2 25000000000.0 1us 0
END
$ shallows import t.txt f.txt --out out.toml
$ cat out.toml
$ cat out.f.csv
$ sed -i -e '1c\3 1 1 2 25000000000 25000000000' -e '3c\0 2 25000000000 1us 0' -e '4c\1 2 25000000000 1us 0' t.txt
$ shallows import t.txt f.txt --out out.toml
$ cat out.toml
$ cat out.f.csv
$ sed -i -e '1c\3 1 2' -e '3c\0 2 25Gbps 1us 0' -e '4c\1 2 25Gbps 1us 0' t.txt
$ shallows import t.txt f.txt --out out.toml
$ cat out.toml
$ cat out.f.csv
