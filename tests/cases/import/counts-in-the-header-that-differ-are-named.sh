# Counts in the header that differ are named.
# numbers: those of the files, in the units of a scenario.
$ cat > a.cm <<END
Nodes 8
Connections 3
0->1 start 0 size 10
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat out.toml
$ cat out.a.csv
