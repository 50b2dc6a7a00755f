# Two files are two tenants.
# numbers: those of the files, in the units of a scenario.
$ cat > a.cm <<END
Nodes 8
0->1 start 0 size 10
END
$ cat > b.cm <<END
Nodes 8
2->3 start 0 size 20
END
$ shallows import a.cm b.cm --on star.toml --out out.toml
$ cat out.toml
$ cat out.a.csv
$ cat out.b.csv
