# A broken schedule is reported with line and column.
# numbers: those of the files, in the units of a scenario.
$ cat > a.goal <<END
ranks 3
// two messages around a computation
rank 0 {
  l1: calc 100 cpu 0
  l2: send 8000b to 1 tag 7
  l2 requires l1
  l3: send 100b to 2
  l3 requires l2
}
rank 1 {
  r: recv 8000b from 0 tag 7
  c: calc 500 cpu 2
  c requires r  /* and
  only then */  s: send 100b to 2 tag 3
  s requires c
}
rank 2 { r: recv 100b from 1 tag -1
  q: recv 100b from 0
  last: calc 50
  last requires r last requires q }
END
$ cat > star.toml <<END

duration = "1s"
cc = "dcqcn"
topology = { kind = "star", hosts = 8, rate = "100Gbps", rtt = "4us" }
network = { pfc = true }
traffic = [{ kind = "incast" }]
END
$ shallows import a.goal --on star.toml --out out.toml
$ sed -i -e '1c\num_ranks 3' -e '17c\rank 3 { r: recv 100b from 1 tag -1' a.goal
$ shallows import a.goal --on star.toml --out out.toml
$ sed -i -e '5c\  l2: send 8000 to 1 tag 7' -e '17c\rank 2 { r: recv 100b from 1 tag -1' a.goal
$ shallows import a.goal --on star.toml --out out.toml
$ sed -i -e '5c\  l2: send 8000b to 0 tag 7' a.goal
$ shallows import a.goal --on star.toml --out out.toml
$ sed -i -e '5c\  l2: send 8000b to 1 tag 7' -e '6c\  l2 requires l9' a.goal
$ shallows import a.goal --on star.toml --out out.toml
$ sed -i -e '6c\  l2 requires l1' -e '11c\  r: recv 8000b from 0 tag 8' a.goal
$ shallows import a.goal --on star.toml --out out.toml
$ sed -i -e '11c\  r: recv 8000b from 0 tag 7' -e '17c\rank 2 { r: recv 100b from -1' a.goal
$ shallows import a.goal --on star.toml --out out.toml
$ sed -i -e '6c\  l2 requires l1 l1 requires l2' -e '17c\rank 2 { r: recv 100b from 1 tag -1' a.goal
$ shallows import a.goal --on star.toml --out out.toml
$ sed -i -e '6c\  l2 requires l1' -e '12c\  c: calc soon cpu 2' a.goal
$ shallows import a.goal --on star.toml --out out.toml
$ sed -i -e '12c\  c: calc 500 cpu 2' -e '20c\  ' a.goal
$ shallows import a.goal --on star.toml --out out.toml
$ sed -i -e '7c\  l2: send 100b to 2' -e '20c\  last requires r last requires q }' a.goal
$ shallows import a.goal --on star.toml --out out.toml
