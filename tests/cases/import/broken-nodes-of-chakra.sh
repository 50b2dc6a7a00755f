Values, waits, names and attributes of nodes of Chakra that are none, in the file of rank 0.

$ cat > a.1.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 5}
END
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": "NaN"}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": "99999999999999999999999999999999999999999999999999"}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": []}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": null}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": -1}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 1.5}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 1e400}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": NaN}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 5, "dataDeps": 1}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 5, "dataDeps": "x"}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 5, "dataDeps": [null]}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 5, "dataDeps": [[]]}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 5, "dataDeps": ["x"]}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 5, "dataDeps": [1.5]}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 5, "dataDeps": {"a": 1}}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": null, "type": "COMP_NODE", "durationMicros": 5}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": [], "type": "COMP_NODE", "durationMicros": 5}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": "x", "type": "COMP_NODE", "durationMicros": 5}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": -1, "type": "COMP_NODE", "durationMicros": 5}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": true, "type": "COMP_NODE", "durationMicros": 5}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 5, "attr": 1}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 5, "attr": [1]}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 5, "attr": [{}]}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 5, "attr": [{"name": []}]}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 5, "attr": [{"name": null}]}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 5, "attr": [{"name": "comm_size", "int64Vol": 5}]}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 5, "attr": [{"name": "comm_size", "int64Val": 5, "int32Val": 6}]}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 5, "attr": [{"name": "comm_tag", "int64Val": 5}, {"name": "comm_tag", "int64Val": 6}]}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 5, "dataDeps": [], "data_deps": []}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1, "type": "COMP_NODE", "durationMicros": 5, "durationMicros": 6}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{"g": [null]}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{"g": ["x"]}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{"g": [{}]}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{"g": [[0]]}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{"g": [0, 0]}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{"g": [true]}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{"g": [1e400]}
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
[1]
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{}
{"id": 1
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ cat > a.0.json <<END
END
$ shallows import a.0.json a.1.json --on star.toml --out out.toml
$ ls
