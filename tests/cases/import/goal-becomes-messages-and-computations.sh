# numbers: .1 us are computed first. 8 KB are five frames of 1500 B and one of 740 B, 8240 B at 100 Gbps: the sixth begins to leave at
# .1 + 5 * .12 us, and with it the message behind. All are there .6592 us and 2 us of links later, and a full frame, .12 us, at the second
# link. .5 us are computed after them, and the third message begins at .1 + 2.7792 + .5 us.

$ cat > a.goal <<END
num_ranks 3
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
$ sed 's/400Gbps/100Gbps/; s/, mtu = "4096B"//' star.toml > base.toml
$ shallows import a.goal --on base.toml --out out.toml
$ cat out.toml
$ numbers out.toml flows:start_us flows:fct_us
