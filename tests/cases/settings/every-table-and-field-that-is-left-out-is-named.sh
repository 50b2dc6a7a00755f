# numbers: those of the lines of read-tomahawk5

Beside what is left out already: two tables, a field of a scheduler, a watchdog without its times, and a pool that no queue uses.

$ shallows settings read tomahawk5.json > before
$ sed 's/^ "PORT": {/ "DOT1P_TO_TC_MAP": {"A": {"0": "1"}}, "VLAN": {}, &/; s/"weight": "15"/&, "pir": "5"/; s/"pfc_enable"/"pfcwd_sw_enable": "3,4", &/; s/"BUFFER_POOL": {/&"other": {"type": "egress", "mode": "static", "size": "9"},/' tomahawk5.json > more.json
$ shallows settings read more.json > after
$ diff before after
