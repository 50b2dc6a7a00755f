# numbers: by the YANG model sonic-pfcwd times are milliseconds; restoration is not part of detection

PFC at priorities 3 and 4, and a watchdog at their port.

$ shallows settings read tomahawk5.json --queue 3 > before
$ shallows settings read tomahawk5.json > classes
$ sed '$s/}/,"PFC_WD": {"Ethernet0": {"action": "drop", "detection_time": "200", "restoration_time": "400"}}}/' tomahawk5.json > watched.json
$ shallows settings read watched.json --queue 3 > after
$ diff before after
$ shallows settings read watched.json > after
$ diff classes after

It watches the priorities that the port names.

$ sed 's/"pfc_enable"/"pfcwd_sw_enable": "4", &/' watched.json > one.json
$ shallows settings read one.json > after
$ diff classes after

One that forwards is none of a scenario, and one that polls acts later; restoration is as long as detection if it is not given.

$ sed 's/"action": "drop"/"action": "forward"/; s/"PFC_WD": {/&"GLOBAL": {"POLL_INTERVAL": "200"}, /' watched.json > forwards.json
$ shallows settings read forwards.json --queue 3 > after
$ diff before after
$ sed 's/, "restoration_time": "400"//; s/"PFC_WD": {/&"GLOBAL": {"POLL_INTERVAL": "200"}, /' watched.json > short.json
$ shallows settings read short.json --queue 3 > after
$ diff before after
$ sed 's/"detection_time": "200", //' watched.json > wrong.json
$ shallows settings read wrong.json
