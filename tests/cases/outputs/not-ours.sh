# A file that is not of Shallows, or a part of a result, is never replaced: the folder is as it was before.

$ cat > a.toml <<END
duration = "1ms"
cc = "dctcp"
topology = { kind = "dumbbell", hosts = 2 }
traffic = [{ kind = "trace", flows = [[0, 0, 2, 20000]] }]
END
$ cat > mine.pdf <<END
%PDF-1.4
mine
END
$ cat > mine.html <<END
<!doctype html><p>mine
END
$ cat > trace <<END

mine
END
$ shallows run a.toml --out out > report
$ cp -r . ../before
$ shallows export out --csv .
$ shallows why out 0 --record .
$ shallows why out 0 --figure mine.pdf
$ shallows why out 0 --figure a.toml
$ shallows why out 0 --html mine.html
$ shallows export out --perfetto a.toml
$ shallows export out --perfetto trace
$ shallows report out --html mine.html
$ shallows run a.toml --out other --html a.toml
$ shallows run a.toml --out other --html out/page.html
$ shallows why out 0 --html out/why.html
$ shallows export out --perfetto out/summary.json
$ shallows export out --pcap a.toml --port *->*
$ shallows export out --csv out
$ diff -r . ../before
