# Sizes in percent become arrivals with a load.
# numbers: those of the files, in the units of a scenario.
$ cat > WebSearch.txt <<END
0 0
10000 15
20000 20
30000000 100
END
$ sed -i -e '3c\topology = { kind = "leaf-spine", rate = "400Gbps" }' star.toml
$ shallows import WebSearch.txt --on star.toml --load 0.3 --out out.toml
$ cat out.toml
$ shallows import WebSearch.txt --on star.toml --out out.toml
$ cat > x.txt <<END
0 0
10000 15
9000 20
30000000 100
END
$ shallows import x.txt --on star.toml --load 0.3 --out out.toml
$ cat > x.txt <<END
0 0
10 50
END
$ shallows import x.txt --on star.toml --load 0.3 --out out.toml
