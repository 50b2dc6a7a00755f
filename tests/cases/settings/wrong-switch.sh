One wrong value each in the configuration of a switch.

$ sed 's|"wred_profile": "AZURE_LOSSLESS"|"wred_profile": "AZURE_LOSLESS"|g' tomahawk5.json > wrong.json
$ shallows settings read wrong.json
$ sed 's|"profile": "pg_lossless"|"profile": "pg"|g' tomahawk5.json > wrong.json
$ shallows settings read wrong.json
$ sed 's|"pool": "ingress_lossless_pool"|"pool": "gone"|g' tomahawk5.json > wrong.json
$ shallows settings read wrong.json
$ sed 's|"green_max_threshold": "2097152"|"green_max_threshold": "5"|g' tomahawk5.json > wrong.json
$ shallows settings read wrong.json
$ sed 's|"green_drop_probability": "5"|"green_drop_probability": "101"|g' tomahawk5.json > wrong.json
$ shallows settings read wrong.json
$ sed 's|"ecn": "ecn_all"|"ecn": "ecn_all_green"|g' tomahawk5.json > wrong.json
$ shallows settings read wrong.json
$ sed 's|"pool": "ingress_lossless_pool"|"pool": "ingress_lossless_pool", "static_th": "9"|g' tomahawk5.json > wrong.json
$ shallows settings read wrong.json
$ sed 's|"dynamic_th": "0"|"dynamic_th": "9"|g' tomahawk5.json > wrong.json
$ shallows settings read wrong.json
$ sed 's|"pfc_enable": "3,4"|"pfc_enable": "3;4"|g' tomahawk5.json > wrong.json
$ shallows settings read wrong.json
$ sed 's|"Ethernet0": "40m"|"Ethernet0": "40"|g' tomahawk5.json > wrong.json
$ shallows settings read wrong.json
$ sed '/green_min_threshold/d' tomahawk5.json > wrong.json
$ shallows settings read wrong.json
