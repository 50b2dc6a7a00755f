# Flows of size zero have no end.
# numbers: those of the files, in the units of a scenario.
$ cat > a.cm <<END
Nodes 8
0->1 start 0 size 0
2->1 start 5 size 0
3->4 start 0 size 1000
END
$ shallows import a.cm --on incast.toml --time-unit us --out out.toml
$ cat out.toml
$ cat out.a.csv
$ sed -i -e '1c\duration = "until-done"' incast.toml
$ shallows import a.cm --on incast.toml --time-unit us --out done.toml
$ cat done.toml
$ cat done.a.csv
$ sed -i -e '2c\0->1 id 1 start 0 size 0 send_done_trigger 1' -e '3c\1->2 trigger 1 size 5' -e '4c\trigger id 1 oneshot' a.cm
$ cat > done.a.csv <<END
start_s,src,dst,bytes
0,3,4,1000
END
$ cat > done.toml <<END
# Saved by shallows import.
# Assumed: duration = 1ms, the default of htsim's programs: some flows have no end
duration = "1ms"
cc = "dcqcn"

[topology]
kind = "star"
hosts = 8
rate = "400Gbps"
rtt = "4us"

[network]
pfc = true
mtu = "4096B"

[[traffic]]
kind = "trace"
name = "a"
file = "done.a.csv"

[[traffic]]
kind = "long-lived"
from = [
    0,
]
to = [
    1,
]
start = "0s"
jitter = "0s"

[[traffic]]
kind = "long-lived"
from = [
    2,
]
to = [
    1,
]
start = "5us"
jitter = "0s"
END
$ shallows import a.cm --on incast.toml --out out.toml
