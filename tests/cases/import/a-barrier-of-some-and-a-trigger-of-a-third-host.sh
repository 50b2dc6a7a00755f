# numbers: flow 3 begins with the end of flow 2, the shorter one of two, and flow 4 with that of flow 3, 6.9872 + 2.17152 us

$ cat > a.cm <<END
Nodes 8
0->2 id 1 start 0 size 1000000 recv_done_trigger 9
1->2 id 2 start 0 size 30000 recv_done_trigger 9
2->3 id 3 trigger 9 size 1000 send_done_trigger 4
5->6 id 4 trigger 4 size 1000
trigger id 9 barrier count 1
trigger id 4 oneshot
END
$ sed 's/400Gbps/100Gbps/; s/, mtu = "4096B"//' star.toml > base.toml
$ shallows import a.cm --on base.toml --time-unit ps --out out.toml
$ cat out.toml
$ numbers out.toml flows:start_us flows:fct_us
