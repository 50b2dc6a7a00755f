# Starts need a unit and are exact.
# numbers: those of the files, in the units of a scenario.
$ cat > a.cm <<END
Nodes 8
0->1 start 1500 size 10
2->3 start 0.25 size 20
END
$ shallows import a.cm --on star.toml --time-unit ns --out out.toml
$ cat out.toml
$ cat out.a.csv
$ shallows import a.cm --on star.toml --time-unit us --out out.toml
$ cat out.toml
$ cat out.a.csv
$ shallows import a.cm --on star.toml --out out.toml
