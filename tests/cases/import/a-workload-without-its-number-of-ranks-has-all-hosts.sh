# A workload without its number of ranks has all hosts.
# numbers: those of the files, in the units of a scenario.
$ cat > w.txt <<END
HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4
1
embedding -1 1000 BROADCAST 16384 1 NONE 0 1 NONE 0 1
END
$ shallows import w.txt --on incast.toml --out w.toml
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
