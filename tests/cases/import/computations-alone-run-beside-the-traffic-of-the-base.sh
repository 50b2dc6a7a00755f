# Computations alone run beside the traffic of the base.
# numbers: those of the files, in the units of a scenario.
$ cat > calc.goal <<END
num_ranks 2
rank 0 { a: calc 1000 }
rank 1 { b: calc 2000 }
END
$ shallows import calc.goal --on incast.toml --out out.toml
$ cat out.toml
$ numbers out.toml computations:start_us computations:finish_us
$ cat > calc.goal <<END
num_ranks 2
rank 0 { a: calc 0 }
rank 1 { b: calc 0 }
END
$ shallows import calc.goal --on incast.toml --out out.toml
