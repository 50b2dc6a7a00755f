# Files that are no families: each mistake is named with its key.
$ sed "s/better = .*/better = \"more\"/" small.toml > a.toml
$ shallows judge reno --families ./a.toml
$ sed "s/value = .*/value = \"use.real\"/" small.toml > b.toml
$ shallows judge reno --families ./b.toml
$ sed "s/^low = .*/low = \"__import__('os')\"/" small.toml > c.toml
$ shallows judge reno --families ./c.toml
$ sed "s/of = \"port\"/of = \"ports\"/" small.toml > d.toml
$ shallows judge reno --families ./d.toml
$ sed "s/column = /row = /" small.toml > e.toml
$ shallows judge reno --families ./e.toml
$ sed "s/^title = .*//" small.toml > f.toml
$ shallows judge reno --families ./f.toml
$ sed "s/cc = .*/cc = \".\/inputs.py:Least\"/" small.toml > g.toml
$ shallows judge reno --families ./g.toml
$ sed "s/100Mbps/{speed}bps/" small.toml > h.toml
$ shallows judge reno --families ./h.toml
$ sed "s/100Mbps/{1 \/ 0}bps/" small.toml > i.toml
$ shallows judge reno --families ./i.toml
