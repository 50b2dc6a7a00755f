# numbers: flow c begins 2 us after the end of a, 1000 B, and not after that of b, 100 kB: 2.1664 + 2 us

$ cat > a.csv <<END
id,start_us,src,dst,bytes,after,needs
a,0,0,1,1000,,
b,0,2,1,100000,,0
c,2,1,3,1000,a b,1
END
$ sed 's/400Gbps/100Gbps/; s/, mtu = "4096B"//' star.toml > base.toml
$ shallows import a.csv --on base.toml --out out.toml
$ cat out.toml
$ numbers out.toml flows:start_us flows:fct_us
