# A broken trace of flows is reported by line and column.
# numbers: hosts are 0 to 4; lines count from 1 in the file, with comments and the first line.
$ cat > own.toml <<END
duration = "1s"
cc = "dctcp"
topology = { kind = "star", hosts = 5 }
traffic = [{ kind = "trace", file = "flows.csv" }]
END
$ cat > flows.csv <<END
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,bytes
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,dst,bytes,tag
END
$ shallows run own.toml
$ cat > flows.csv <<END
src,start_s,dst,bytes,src
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,dst,bytes,after
0,1,2,9,1
0,2,1,9,
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,dst,bytes,id
0,1,2,9,x
0,2,1,9,x
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,dst,bytes,after
0,1,2,9,
0,3,1,9,0
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,dst,bytes,behind
0,1,2,9,
0,2,1,9,0
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,dst,bytes
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,dst,bytes
0,1,2,100
0,1,9,100
END
$ shallows run own.toml
$ cat > flows.csv <<END
# h

start_s,src,dst,bytes
#
0,1,h9,1
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,dst,bytes
0,1,1,100
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,dst,bytes
-1,1,2,100
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,dst,bytes
2e6,1,2,100
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,dst,bytes
nan,1,2,100
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,dst,bytes
0,1,2,0
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,dst,bytes
0,1,2,1.5
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,dst,bytes
#
0,1,2
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,dst,bytes
0,1,2,3,4
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,dst,bytes
0,1,2,3
0,1,2,"3
4"
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,dst,bytes
0,1,2,"3
END
$ shallows run own.toml
$ cat > flows.csv <<END
start_s,src,dst,bytes
soon,1,2,5
END
$ shallows run own.toml
