# A workload without its number of ranks has all hosts.
# numbers: those of the files, in the units of a scenario.
$ cat > mix/config.txt <<END
ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000 {bytes}

TOPOLOGY_FILE mix/topology.txt
FLOW_FILE mix/flow.txt
TRACE_FILE mix/trace.txt
FCT_OUTPUT_FILE mix/fct.txt
SIMULATOR_STOP_TIME 4.00
CC_MODE 1
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 900
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 50Mb/s
RATE_HAI 100Mb/s
MIN_RATE 100Mb/s
U_TARGET 0.95
MI_THRESH 0
HAS_WIN 1
GLOBAL_T 1
LINK_DOWN 0 0 0
KMAX_MAP 2 25000000000 400 100000000000 1600
KMIN_MAP 2 25000000000 100 100000000000 400
PMAX_MAP 2 25000000000 0.2 100000000000 0.2
BUFFER_SIZE 32
END
$ cat > mix/flow.txt <<END
2
0 2 3 100 1000000 2
1 2 3 100 500000 2.00001
END
$ cat > mix/topology.txt <<END
4 1 3
3
0 3 100Gbps 1us 0
1 3 100Gbps 1us 0
2 3 100Gbps 1us 0.001
END
$ cat > mix/trace.txt <<END
2
0 1
END
$ cat > star.toml <<END

duration = "5ms"
cc = "dcqcn"
topology = { kind = "star", hosts = 8, rate = "400Gbps", rtt = "4us" }
network = { pfc = true, mtu = "4096B" }
traffic = [{ kind = "incast", senders = 2 }]
END
$ cat > w.txt <<END
HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4
1
embedding -1 1000 BROADCAST 16384 1 NONE 0 1 NONE 0 1
END
$ shallows import w.txt --on star.toml --out w.toml
$ cat w.toml
$ cat > six.toml <<END

duration = "5ms"
cc = "dcqcn"
topology = { kind = "star", hosts = 6, rate = "400Gbps", rtt = "4us" }
network = { pfc = true, mtu = "4096B" }
traffic = [{ kind = "incast", senders = 2 }]
END
$ cat > w.toml <<END
# Saved by shallows import.
# Assumed: all 8 hosts are ranks: the file has no all_gpus
# Assumed: one pass, and collectives as rings, or all at once for all-to-all
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
kind = "tasks"
name = "w"
tasks = [
    { name = "0.3f", host = 0, compute = "1us" },
    { name = "1.3f", host = 1, compute = "1us" },
    { name = "2.3f", host = 2, compute = "1us" },
    { name = "3.3f", host = 3, compute = "1us" },
    { name = "4.3f", host = 4, compute = "1us" },
    { name = "5.3f", host = 5, compute = "1us" },
    { name = "6.3f", host = 6, compute = "1us" },
    { name = "7.3f", host = 7, compute = "1us" },
    { name = "3f.0.m0", from = 0, to = 1, size = "16KiB", after = ["0.3f"] },
    { name = "3f.0.m1", from = 1, to = 2, size = "16KiB", after = ["3f.0.m0", "1.3f"] },
    { name = "3f.0.m2", from = 2, to = 3, size = "16KiB", after = ["3f.0.m1", "2.3f"] },
    { name = "3f.1.m0", from = 4, to = 5, size = "16KiB", after = ["4.3f"] },
    { name = "3f.1.m1", from = 5, to = 6, size = "16KiB", after = ["3f.1.m0", "5.3f"] },
    { name = "3f.1.m2", from = 6, to = 7, size = "16KiB", after = ["3f.1.m1", "6.3f"] },
    { name = "0.3i", host = 0, compute = "1ns", behind = ["3f.0.m0"] },
    { name = "1.3i", host = 1, compute = "1ns", behind = ["3f.0.m1"] },
    { name = "2.3i", host = 2, compute = "1ns", behind = ["3f.0.m2"] },
    { name = "3.3i", host = 3, compute = "1ns", after = ["3f.0.m2"] },
    { name = "4.3i", host = 4, compute = "1ns", behind = ["3f.1.m0"] },
    { name = "5.3i", host = 5, compute = "1ns", behind = ["3f.1.m1"] },
    { name = "6.3i", host = 6, compute = "1ns", behind = ["3f.1.m2"] },
    { name = "7.3i", host = 7, compute = "1ns", after = ["3f.1.m2"] },
    { name = "0.3w", host = 0, compute = "1ns", after = ["0.3i"] },
    { name = "1.3w", host = 1, compute = "1ns", after = ["1.3i"] },
    { name = "2.3w", host = 2, compute = "1ns", after = ["2.3i"] },
    { name = "3.3w", host = 3, compute = "1ns", after = ["3.3i"] },
    { name = "4.3w", host = 4, compute = "1ns", after = ["4.3i"] },
    { name = "5.3w", host = 5, compute = "1ns", after = ["5.3i"] },
    { name = "6.3w", host = 6, compute = "1ns", after = ["6.3i"] },
    { name = "7.3w", host = 7, compute = "1ns", after = ["7.3i"] },
]
END
$ shallows import w.txt --on six.toml --out w.toml
$ shallows import w.txt --out w.toml
