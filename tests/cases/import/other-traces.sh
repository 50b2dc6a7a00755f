Other traces in JSON: the error names the program that converts them.

$ cat > a.0.json <<END
{"workload_graph": [{"Id": 1}]}
END
$ shallows import a.0.json --on star.toml --out out.toml
$ cat > a.4.json <<END
{"schema": "1.0", "nodes": [{"id": 2}]}
END
$ shallows import a.4.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{"traceEvents": []}
END
$ shallows import a.0.json --on star.toml --out out.toml
$ cat > a.0.json <<END
END
$ shallows import a.0.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
END
$ shallows import a.0.json --on star.toml --out out.toml
