# Files beside the configuration and as arguments.
# numbers: those of the files, in the units of a scenario.
$ cat > f.txt <<END
1
2 0 3 100 100 2
END
$ shallows import mix/config.txt f.txt mix/trace.txt --out out.toml
$ cat out.toml
$ cat out.f.csv
