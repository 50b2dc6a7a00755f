# numbers: eight hosts of the base

Traces of two ranks with one message, in which a number is wrong each time.

$ cat > job.1.json <<END
{}
{"id": 1, "type": "COMM_RECV_NODE", "attr": [{"name": "comm_src", "int64Val": 0}, {"name": "comm_tag", "int64Val": 5}]}
END
$ cat > right.json <<END
{}
{"id": 1, "type": "COMM_SEND_NODE", "attr": [{"name": "comm_dst", "int64Val": 1}, {"name": "comm_size", "int64Val": 10}, {"name": "comm_tag", "int64Val": 5}]}
END
$ sed 's/comm_size", "int64Val": 10/comm_size", "int64Val": 0/' right.json > job.0.json
$ shallows import job.0.json job.1.json --on star.toml --out out.toml
$ sed 's/comm_dst", "int64Val": 1/comm_dst", "int64Val": 9/' right.json > job.0.json
$ shallows import job.0.json job.1.json --on star.toml --out out.toml
$ sed 's/comm_dst", "int64Val": 1/comm_dst", "int64Val": 0/' right.json > job.0.json
$ shallows import job.0.json job.1.json --on star.toml --out out.toml
$ sed 's/comm_tag", "int64Val": 5/comm_tag", "int64Val": 4/' right.json > job.0.json
$ shallows import job.0.json job.1.json --on star.toml --out out.toml

Keys and attributes that have no effect are named.

$ sed 's/"type": "COMM_SEND_NODE"/&, "dtaDeps": [0]/; s/"attr": \[/&{"name": "pg_nome", "stringVal": "x"}, /' right.json > job.0.json
$ shallows import job.0.json job.1.json --on star.toml --out out.toml

A collective of a petabyte is refused before it is made, and one of another kind is not known.

$ cat > job.0.json <<END
{}
{"id": 1, "type": "COMM_COLL_NODE", "attr": [{"name": "comm_type", "int64Val": 5}, {"name": "comm_size", "int64Val": "1000000000000000"}]}
END
$ cp job.0.json job.1.json
$ shallows import job.0.json job.1.json --on star.toml --out large.toml
$ sed s/1000000000000000/10/ job.0.json > other.0.json
$ sed -i 's/comm_type", "int64Val": 5/comm_type", "int64Val": 3/' other.0.json
$ shallows import other.0.json --on star.toml --out large.toml

The name of a file has its rank, and there is one for each.

$ cp job.0.json job.json
$ shallows import job.json --on star.toml --out large.toml
$ shallows import job.1.json --on star.toml --out large.toml
