# A micro workload is one collective of all ranks.
# numbers: those of the files, in the units of a scenario.
$ cat > m.txt <<END
MICRO
1
micro_test	-1	1	NONE	0	1	NONE	0	1	ALLREDUCE	4096	1
END
$ shallows import m.txt --on incast.toml --out m.toml
$ cat m.toml
