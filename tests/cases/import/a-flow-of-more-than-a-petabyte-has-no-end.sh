# A flow of more than a petabyte has no end.
# numbers: those of the files, in the units of a scenario.
$ cat > f.txt <<END
2
0 1 3 100 1000 2.0
1 2 3 100 5000000000000000 2.1
END
$ shallows import f.txt mix/topology.txt --out f.toml
$ cat f.toml
$ cat f.f.csv
