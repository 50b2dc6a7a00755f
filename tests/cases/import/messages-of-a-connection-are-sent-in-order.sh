# Messages of a connection are sent in order.
# numbers: those of the files, in the units of a scenario.
$ cat > a.cm <<END
Nodes 2
0->1 id 1 msg start 0 size 10
0->1 id 1 msg 2 start 0 size 10
0->1 id 1 msg start 0 size 10
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat out.toml
$ cat out.a.csv
