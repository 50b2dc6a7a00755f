# Ports that are no tier are refused.
$ cat > own.toml <<END
duration = "1ms"
cc = "dcqcn"
traffic = [{ kind = "shuffle", size = "10KB" }]
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 2, rate = "100Gbps" }
network = { buffer = "400KB" }
ports = [
    { names = "spine*->*", marking = { kind = "red", kmin = "40KB", kmax = "80KB", pmax = 0.2 } },
    { names = "*->h*", buffer = "900KB" },
]
END
$ shallows settings write own.toml --sonic --tier 'leaf*->*'
$ shallows settings write own.toml --sonic --tier 'h0->*'
$ shallows settings write own.toml --sonic --tier 'core*->*'
