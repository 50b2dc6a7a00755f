# Flows keep their order but follow those that they wait for.
# numbers: those of the files, in the units of a scenario.
$ cat > a.cm <<END
Nodes 8
0->1 id 1 start 0 size 1
3->4 id 2 trigger 7 size 2
2->3 id 3 start 0 size 3 recv_done_trigger 7
5->6 id 4 start 0 size 4
trigger id 7 oneshot
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat out.toml
$ cat out.a.csv
