# A configuration reads its topology and flows.
# numbers: those of the files, in the units of a scenario. DCQCN's parameters, 48 B of headers, and the memory of the
# switch without headroom and reserves.
# GLOBAL_T 1: the longest round trip, 4 us of propagation, frames of 1048 B twice and an acknowledgement twice, 4 + 2
# x (1048 + 64) x 8 / 100e3 us. Memory: 32 MiB - 3 links of (3 x 1 us x 100 Gbps / 8 + 4 KiB).
$ shallows import mix/config.txt --out out.toml
$ cat out.toml
$ cat out.flow.csv
