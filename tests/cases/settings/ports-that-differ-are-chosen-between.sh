# numbers: 1000 bytes of the profile SMALL are 1KB, 1048576 of the other are 1MiB; see read-tomahawk5 for the rest

Two ports differ in their thresholds. Without --port the first stands for both, which is named.

$ sed 's/"WRED_PROFILE": {/&"SMALL": {"ecn": "ecn_all", "green_min_threshold": "1000", "green_max_threshold": "2097152", "green_drop_probability": "5"},/; s/"Ethernet0|4": {/"Ethernet4|3": {"wred_profile": "SMALL"}, &/' tomahawk5.json > two.json
$ shallows settings read two.json > both
$ shallows settings read two.json --port Ethernet0 > first
$ diff both first
$ shallows settings read two.json --port Ethernet4 | grep kmin
$ shallows settings read two.json --port Ethernet0 --queue 3 | grep kmin

Two entries for one queue of a port.

$ sed 's/"QUEUE": {/&"Ethernet4|3-4": {"wred_profile": "AZURE_LOSSLESS"},/' two.json > twice.json
$ shallows settings read twice.json --port Ethernet4
