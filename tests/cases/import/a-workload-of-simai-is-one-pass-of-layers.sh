# A workload of simai is one pass of layers.
# numbers: those of the files, in the units of a scenario. Groups: {0, 1} and {2, 3} tensor parallel, {0, 2} and {1,
# 3} data parallel; rings of two ranks.
# Computations 1 + 1 + 2 + 3 + 2 + 3 us; at 400 Gbps two steps of 500 KB, one of 250 KB and two of 2 MB, 105 us in
# all, up to 2 % of headers, and at most half a round trip of 4 us, and .5 us, for each of the five steps: 117 to
# 131.6 us.
$ cat > w.txt <<END
HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4
2
first -1 1000 ALLREDUCE 1000000 2000 NONE 0 3000 ALLREDUCE 4000000 1
second -1 1000 NONE 0 2000 ALLGATHER 500000 3000 NONE 0 1
END
$ shallows import w.txt --on incast.toml --out out.toml
$ cat out.toml
$ numbers out.toml --set duration=until-done traffic.0.completion_us | between 117 131.6 'completion_us (.*)'
