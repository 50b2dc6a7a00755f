# The settings of a tier are those of its ports.
# numbers: [[ports]] gives the spines another ramp, and the last hop another buffer; the rest is as everywhere.
$ cat > own.toml <<END
duration = "1ms"
cc = "dcqcn"
traffic = [{ kind = "shuffle", size = "10KB", class = "a" }]
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 2, rate = "100Gbps" }
network = { buffer = "400KB", marking = { kind = "red", kmin = "10KB", kmax = "20KB", pmax = 0.1 } }
ports = [
    { names = "spine*->*", marking = { kind = "red", kmin = "40KB", kmax = "80KB", pmax = 0.2 }, class = "a" },
    { names = "*->h*", buffer = "900KB", class = "a" },
]
classes = [{ name = "a" }, { name = "b", marking = "none", buffer = "70KB" }]
END
$ shallows settings write own.toml --sonic --queues 4,3 --tier 'spine*->*'
$ shallows settings write own.toml --sonic --queues 4,3
$ shallows settings write own.toml --sonic --queues 4,3 --tier 'leaf*->spine*'
$ shallows settings write own.toml --sonic --queues 4,3
$ shallows settings write own.toml --sonic --queues 4,3 --tier 'leaf0->h1'
$ shallows settings write own.toml --sonic --queues 4,3
$ cat > own.toml <<END
duration = "1ms"
cc = "dcqcn"
traffic = [{ kind = "shuffle", size = "10KB" }]
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 2, rate = "100Gbps" }
network = { buffer = "400KB", marking = { kind = "red", kmin = "10KB", kmax = "20KB", pmax = 0.1 } }
ports = [
    { names = "spine*->*", marking = { kind = "red", kmin = "40KB", kmax = "80KB", pmax = 0.2 } },
    { names = "*->h*", buffer = "900KB" },
]
END
$ shallows settings write own.toml --sonic --tier 'spine*->*'
$ shallows settings write own.toml --sonic
$ shallows settings write own.toml --sonic --tier 'leaf*->spine*'
$ shallows settings write own.toml --sonic
$ shallows settings write own.toml --sonic --tier 'leaf0->h1'
$ shallows settings write own.toml --sonic
