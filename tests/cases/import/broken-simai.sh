Workloads of SimAI.

$ sed 's|all_gpus: 4|all_gpus: 3|g' simai.txt > w.txt
$ shallows import w.txt --on star.toml --out out.toml
$ cat > w.txt <<END
HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4
3
first -1 1000 ALLREDUCE 1000000 2000 NONE 0 3000 ALLREDUCE 4000000 1
second -1 1000 NONE 0 2000 ALLGATHER 500000 3000 NONE 0 1
END
$ shallows import w.txt --on star.toml --out out.toml
$ sed 's|ALLGATHER|GATHER|g' simai.txt > w.txt
$ shallows import w.txt --on star.toml --out out.toml
$ cat > w.txt <<END
HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4
2
first -1 1000 ALLREDUCE 1000000 2000 NONE 0 3000 ALLREDUCE 4000000 1
second -1 1000 NONE 0 2000 ALLGATHER 500000 3000 NONE 0
END
$ shallows import w.txt --on star.toml --out out.toml
$ sed 's|vpp: 1|vqq: 1|g' simai.txt > w.txt
$ shallows import w.txt --on star.toml --out out.toml
$ sed 's|vpp: 1|pp: 1|g' simai.txt > w.txt
$ shallows import w.txt --on star.toml --out out.toml
$ cat > w.txt <<END
HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4
2 7
first -1 1000 ALLREDUCE 1000000 2000 NONE 0 3000 ALLREDUCE 4000000 1
second -1 1000 NONE 0 2000 ALLGATHER 500000 3000 NONE 0 1
END
$ shallows import w.txt --on star.toml --out out.toml
$ sed 's|HYBRID_TRANSFORMER_FWD_IN_BCKWD|HYBRID_TRANSFORMER|g' simai.txt > w.txt
$ shallows import w.txt --on star.toml --out out.toml
