# Headroom has the response of the nic if it is given.
# numbers: 3 us at 100 Gbps hold 37,500 B more.
# Without it 100 us at 100 Gbps, 1.25 MB, three frames of 1500 B and a pause of 64 B: 1254564.
$ cat > own.toml <<END
duration = "1ms"
topology = { kind = "star", hosts = 4, rate = "100Gbps" }
traffic = [{ kind = "incast", senders = 2, size = "100KB" }]
cc = { name = "dcqcn" }
network = { pfc = true }
END
$ shallows settings write own.toml --sonic
$ shallows settings write own.toml --sonic --nic-response 3us
$ sed -i -e '5c\network = { pfc = { headroom = "90KB" } }' own.toml
$ shallows settings write own.toml --sonic --nic-response 3us
