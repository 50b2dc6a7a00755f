One wrong value each in a topology of htsim.

$ sed 's|Podsize 32|Podsize 16|g' leaf-spine.topo > f.topo
$ shallows import f.topo one.cm --on star.toml --out out.toml
$ sed 's|Tiers 2|Tiers 4|g' leaf-spine.topo > f.topo
$ shallows import f.topo one.cm --on star.toml --out out.toml
$ sed 's|radix_down 8|radix_down 7|g' leaf-spine.topo > f.topo
$ shallows import f.topo one.cm --on star.toml --out out.toml
$ sed 's|Oversubscribed 2|Oversubscribed 4|g' leaf-spine.topo > f.topo
$ shallows import f.topo one.cm --on star.toml --out out.toml
$ cat > f.topo <<END
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
Radix_Down 6
Bundle 2
Downlink_Latency_ns 1000
Queue_Down 100000
END
$ shallows import f.topo one.cm --on star.toml --out out.toml
$ sed 's|Bundle 2|Radix_Up 2|g' leaf-spine.topo > f.topo
$ shallows import f.topo one.cm --on star.toml --out out.toml
$ sed 's|Bundle 2|Speed 2|g' leaf-spine.topo > f.topo
$ shallows import f.topo one.cm --on star.toml --out out.toml
$ sed 's|Bundle 2|Bundle two|g' leaf-spine.topo > f.topo
$ shallows import f.topo one.cm --on star.toml --out out.toml
$ sed 's|Bundle 2|Bundle 0|g' leaf-spine.topo > f.topo
$ shallows import f.topo one.cm --on star.toml --out out.toml
$ sed 's|Gbps 100|Gbps 10001|g' leaf-spine.topo > f.topo
$ shallows import f.topo one.cm --on star.toml --out out.toml
$ sed 's|Tier 1|Tier 0|g' leaf-spine.topo > f.topo
$ shallows import f.topo one.cm --on star.toml --out out.toml
$ cat > f.topo <<END
# two tiers
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
$ shallows import f.topo one.cm --on star.toml --out out.toml
