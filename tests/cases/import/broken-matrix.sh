Matrices of htsim: the error names the line and the column.

$ cat > a.cm <<END
0->1 start 0 size 10
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8 9
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
0->8 start 0 size 1
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
3->3 start 0 size 1
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
0->1 start 0 size -5
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
0->1 start 0 bytes 5
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
0->1 start 0
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
0->1 size 7
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
0->1 start 0 size
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
0->1 start 0 size 1
flow 1
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
Connections 2
0->1 id 1 start 0 size 10 send_done_trigger 3
1->2 id 2 trigger 3 size 10
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
Connections 2
0->1 id 1 start 0 size 10 send_done_trigger 3
1->2 id 2 trigger 3 size 10
trigger id 3
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
Connections 2
0->1 id 1 start 0 size 10 send_done_trigger 3
1->2 id 2 trigger 3 size 10
trigger id 3 barrier
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
Connections 2
0->1 id 1 start 0 size 10 send_done_trigger 3
1->2 id 2 trigger 3 size 10
trigger id 3 barrier count 2
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
Connections 2
0->1 id 1 start 0 size 10 send_done_trigger 3
1->2 id 2 trigger 3 size 10
trigger id 3 oneshot
trigger id 3 oneshot
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
Connections 2
0->1 id 1 start 0 size 10 send_done_trigger 3
1->2 id 1 trigger 3 size 10
trigger id 3 oneshot
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
Connections 2
0->1 id 1 trigger 3 size 10 send_done_trigger 3
1->2 id 2 trigger 3 size 10
trigger id 3 oneshot
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
Connections 2
0->1 id 1 start 0 size 10 send_done_trigger 3
2->3 id 4 trigger 4 size 1
1->2 id 2 trigger 3 size 10
trigger id 3 oneshot
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 99
0->1 start 0 size 1
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
0->7 start 0 size 10
failure switch_type AGG switch_id -1 link_id 2
END
$ shallows import a.cm --on star.toml --out out.toml
$ cat > a.cm <<END
Nodes 8
0->7 start 0 size 10
failure switch_type SPINE switch_id 0 link_id 2
END
$ shallows import a.cm --on star.toml --out out.toml
