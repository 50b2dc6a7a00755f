# Sizes in shares are those in percent.
# numbers: those of the files, in the units of a scenario.
$ cat > percent.txt <<END
0 0
10000 50
30000 100
END
$ cat > shares.txt <<END
0 0
10000 0.5
30000 1
END
$ shallows import shares.txt --on incast.toml --load 0.05 --out shares.toml
$ cat shares.toml
$ cat > shares.toml <<END
# Saved by shallows import.
# Assumed: shares.txt has shares from 0 to 1, because its last point is 1
# Assumed: flows are between random pairs of hosts, not to the one receiver of the topology
duration = "until-done"
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
kind = "poisson"
sizes = [
    [
        0.0,
        0.0,
    ],
    [
        10000.0,
        0.5,
    ],
    [
        30000.0,
        1.0,
    ],
]
load = 0.05
from = [
    "h0",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "h7",
]
to = [
    "h0",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "h7",
]
END
$ shallows import percent.txt --on incast.toml --load 0.05 --out percent.toml
$ cat percent.toml
