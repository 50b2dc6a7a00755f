Traces of Chakra in JSON: the error shows the beginning of a long value.

$ cat > a.0.json <<END
{"0": [0, "a rank, which is written out in many more words than fit a line"]}
END
$ shallows import a.0.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{"0": [0, 0]}
END
$ shallows import a.0.json --on star.toml --out out.toml
$ cat > a.0.json <<END
{"version": "0.0.4"} {"id": 1, "type": 7
END
$ shallows import a.0.json --on star.toml --out out.toml
