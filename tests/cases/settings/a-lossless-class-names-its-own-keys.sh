# A lossless class names its own keys.
# numbers: A link of 2 us at 100 Gbps needs 4 us x 12.5 B/ns, three frames of 1500 B and a pause of 64 B: 54564B. .255
# is within 3 % of .25 = 2^-2, .3 is not.
$ cat > own.toml <<END
duration = "1ms"
topology = { kind = "star", hosts = 3, rate = "100Gbps", rtt = "8us" }
cc = { name = "dcqcn" }
classes = [{ name = "a", pfc = true, pool = "lossless" }, { name = "b", pool = "lossless" }]
pools = [{ name = "lossless", size = "4MB", alpha = 0.255 }]
traffic = [{ kind = "incast", senders = 2, size = "100KB", class = "a" }]
END
$ shallows settings write own.toml --sonic --queues 3,0
$ sed -i -e '5c\pools = [{ name = "lossless", size = "4MB", alpha = 0.3 }]' own.toml
$ shallows settings write own.toml --sonic --queues 3,0
