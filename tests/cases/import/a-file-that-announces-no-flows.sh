# A file that announces no flows.
# numbers: those of the files, in the units of a scenario.
$ cat > none.txt <<END
0
END
$ shallows import none.txt --on incast.toml --out out.toml
$ cat out.toml
$ cat > some.cm <<END
Nodes 8
0->1 start 0 size 1
END
$ shallows import none.txt some.cm --on incast.toml --out both.toml
$ cat both.toml
$ cat both.some.csv
