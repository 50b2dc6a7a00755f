Files of the same tools, which are no traces: not for the number of ranks, nor a rank.

$ cat > feeder.0.json <<END
{"workload_graph": [{"Id": 1, "NodeType": 4}]}
END
$ shallows import feeder.0.json --on star.toml --out out.toml
$ cat > pytorch.0.json <<END
{"schema": "1.0.2-chakra.0.0.4", "pid": 1, "nodes": []}
END
$ shallows import pytorch.0.json --on star.toml --out out.toml
$ cat > pytorch-1.0.2.4.json <<END
{"schema": "1", "nodes": [{"id": 2}]}
END
$ shallows import pytorch-1.0.2.4.json --on star.toml --out out.toml
$ cat > kineto.0.json <<END
{"traceEvents": []}
END
$ shallows import kineto.0.json --on star.toml --out out.toml
$ cat > kineto.json <<END
{"schemaVersion": 1, "deviceProperties": []}
END
$ shallows import kineto.json --on star.toml --out out.toml
