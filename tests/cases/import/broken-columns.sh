Tables of flows in columns.

$ cat > f.csv <<END
src,dst,start
END
$ shallows import f.csv --on star.toml --out out.toml
$ cat > f.csv <<END
src,dst,bytes,start
0,1,5,0
END
$ shallows import f.csv --on star.toml --out out.toml
$ cat > f.csv <<END
src,dst,bytes,size
END
$ shallows import f.csv --on star.toml --out out.toml
$ cat > f.csv <<END
src,dst,bytes
0,1
END
$ shallows import f.csv --on star.toml --out out.toml
$ cat > f.csv <<END
src,dst,bytes
0,1,5.5
END
$ shallows import f.csv --on star.toml --out out.toml
$ cat > f.csv <<END
src,dst,bytes
0,x,5
END
$ shallows import f.csv --on star.toml --out out.toml
$ cat > f.csv <<END
src,dst,bytes
0,9,5
END
$ shallows import f.csv --on star.toml --out out.toml
$ cat > f.csv <<END
src,dst,bytes,id,after
0,1,5,a,b
END
$ shallows import f.csv --on star.toml --out out.toml
$ cat > f.csv <<END
src,dst,bytes,id,after
0,1,5,a,b
1,0,5,b,a
END
$ shallows import f.csv --on star.toml --out out.toml
$ cat > f.csv <<END
END
$ shallows import f.csv --on star.toml --out out.toml
