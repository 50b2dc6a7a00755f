# numbers: read off inputs/sn2700.json by hand: thresholds and sizes are bytes, 2^dynamic_th is alpha

$ shallows settings read sn2700.json --queue 3 > network.toml
$ cat network.toml

Written and read again, the settings are the same.

$ cat star.toml network.toml > own.toml
$ shallows settings write own.toml --sonic > again.json
$ shallows settings read again.json > again.toml
$ sed -i '/^#/d' network.toml again.toml
$ diff network.toml again.toml
