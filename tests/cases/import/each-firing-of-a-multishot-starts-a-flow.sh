# numbers: flow 3 begins with the end of the shorter message, flow 4 with that of the other one, at the host that receives them

$ cat > a.cm <<END
Nodes 8
0->2 id 1 start 0 size 1000000 recv_done_trigger 5
1->2 id 2 start 0 size 30000 recv_done_trigger 5
2->3 id 3 trigger 5 size 1000
2->4 id 4 trigger 5 size 1000
trigger id 5 multishot
END
$ sed 's/400Gbps/100Gbps/; s/, mtu = "4096B"//' star.toml > base.toml
$ shallows import a.cm --on base.toml --time-unit ps --out out.toml
$ cat out.toml
$ numbers out.toml flows:start_us flows:fct_us
