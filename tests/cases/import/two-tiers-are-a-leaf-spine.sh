# Two tiers are a leaf spine.
# numbers: those of the files, in the units of a scenario.
$ cat > fabric.topo <<END
# two tiers
Nodes 32
Tiers 2
Podsize 32

Tier 0
Downlink_speed_Gbps 100
radix_down 8
Radix_Up 4
Downlink_Latency_ns 1000
Oversubscribed 2
Queue_Up 100000
Queue_Down 100000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 8
Bundle 2
Downlink_Latency_ns 1000
Queue_Down 100000
END
$ shallows import one.cm fabric.topo --cc ndp --out out.toml
$ cat out.toml
$ cat out.one.csv
