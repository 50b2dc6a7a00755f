# Three tiers are a graph with the cores of htsim.
# numbers: those of the files, in the units of a scenario. Cables of 500, 700, 1000 and 600 ns of switches in halves:
# 5 us + 2 (300 + 500) / 2 ... end to end.
# Two pods of two racks; aggregation switch n of a pod has two cables to each of the cores n and n + 2. From h0 to h4
# links take 1 + 1 + 2 us each way, and five switches .3 + .5 + .7 + .5 + .3 us: 1.15, 1.4, 2.6, 2.6, 1.4 and 1.15 us
# are 10.3 us.
$ cat > fabric.topo <<END
Nodes 8
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 300
Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 4
Downlink_Latency_ns 1000
Switch_Latency_ns 500
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Bundle 2
Downlink_Latency_ns 2000
Switch_Latency_ns 700
END
$ cat > one.cm <<END
Nodes 8
0->7 start 0 size 10
END
$ shallows import one.cm fabric.topo --on star.toml --out out.toml
$ cat out.toml
$ cat out.one.csv
