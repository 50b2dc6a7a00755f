# numbers: 7000 B and 3 % take the place of 1 MiB and 5 %

Thresholds of packets that carry ECN take the place of the others, in the names of two versions of SONiC.

$ shallows settings read tomahawk5.json --queue 3 > before
$ sed 's/"ecn": "ecn_all",/& "ecn_green_min_threshold": "7000", "ecn_green_drop_probability": "3",/' tomahawk5.json > ecn.json
$ shallows settings read ecn.json --queue 3 > after
$ diff before after
$ sed 's/"ecn": "ecn_all",/& "green_ect_min_threshold": "7000", "green_ect_drop_probability": "3",/' tomahawk5.json > ect.json
$ shallows settings read ect.json --queue 3 > after
$ diff before after
