# A failure takes an uplink down from the start.
# numbers: those of the files, in the units of a scenario.
# The one flow finishes over another link.
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
Failures 1
0->7 start 0 size 10
failure switch_type AGG switch_id 1 link_id 2
END
$ shallows import one.cm fabric.topo --on star.toml --out out.toml
$ cat out.toml
$ cat out.one.csv
$ numbers out.toml flows.offered flows.finished
$ sed -i -e '4c\failure switch_type CORE switch_id 1 link_id 2' one.cm
$ shallows import one.cm fabric.topo --on star.toml --out out.toml
$ sed -i -e '4c\failure switch_type SPINE switch_id 1 link_id 2' one.cm
$ shallows import one.cm fabric.topo --on star.toml --out out.toml
$ sed -i -e '4c\failure switch_type AGG switch_id 1 link_id 4' one.cm
$ shallows import one.cm fabric.topo --on star.toml --out out.toml
$ sed -i -e '4c\failure switch_type AGG switch_id 1 link_id 2' one.cm
$ shallows import one.cm --on star.toml --out out.toml
