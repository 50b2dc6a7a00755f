# Callers that contradict the order are left out.
# numbers: those of the files, in the units of a scenario. Node 2 waits for 1 by data_deps, and is the caller of 1 by
# ctrl_deps.
$ cat > job.0.json <<END
{"id": 1, "type": "COMP_NODE", "durationMicros": 3, "ctrlDeps": [2]}{"id": 2, "type": 4, "durationMicros": 5, "dataDeps": [1]}{"id": 3, "type": "COMM_SEND_NODE", "dataDeps": ["2"], "attr": [{"name": "comm_dst", "int64Val": "1"}, {"name": "comm_size", "int64Val": "10"}]}
END
$ cat > job.1.json <<END
{"id": 1, "type": "COMM_RECV_NODE", "attr": [{"name": "comm_src", "int64Val": "0"}]}
END
$ cat > star.toml <<END

duration = "1s"
cc = "dcqcn"
topology = { kind = "star", hosts = 8, rate = "100Gbps", rtt = "4us" }
network = { pfc = true }
traffic = [{ kind = "incast" }]
END
$ shallows import job.0.json job.1.json --on star.toml --out out.toml
$ cat out.toml
