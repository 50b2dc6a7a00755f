A result that was changed or is not whole is a sentence, whatever reads it.

$ cat > a.toml <<END
duration = "1ms"
cc = "dctcp"
topology = { kind = "dumbbell", hosts = 2 }
traffic = [{ kind = "trace", flows = [[0, 0, 2, 20000]] }]
END
$ shallows run a.toml --out out > report
$ cp -r out spoilt
$ cat > spoilt/summary.json <<END
{
END
$ shallows report spoilt
$ cp -r out list
$ cat > list/summary.json <<END
[1]
END
$ shallows report list
$ mkdir alone
$ cp out/summary.json alone
$ shallows report alone
$ cp out/scenario.toml alone
$ shallows report alone
$ cp -r out table
$ cat > table/ports.parquet <<END
PAR1 no
END
$ shallows report table
$ cp -r out seed
$ cat > seed/scenario.toml <<END
seed = 3
END
$ shallows report seed
$ cp -r out summary
$ sed -i 's/"seed": 1/"seed": 3/' summary/summary.json
$ shallows report summary
$ shallows report nowhere

Nor is one that holds something else replaced, nor what a run reads.

$ mkdir mine
$ cat > mine/notes.txt <<END
mine
END
$ shallows run a.toml --out mine
$ cat mine/notes.txt
$ shallows run out/scenario.toml --out out
$ shallows run a.toml --out .

A table of a comparison.

$ mkdir compared
$ cat > compared/comparison.csv <<END
END
$ shallows report compared
$ cat > compared/comparison.csv <<END
cc
END
$ shallows report compared
$ cat > compared/comparison.csv <<END
a,b
1,2
END
$ shallows report compared
$ cat > compared/comparison.csv <<END
"
END
$ shallows report compared
