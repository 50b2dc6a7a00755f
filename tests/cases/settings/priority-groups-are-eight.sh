# A priority group is one of eight, or two of them: pg_num in sonic-buffer-pg.yang has one digit from 0 to 7, or two of them with a hyphen.

$ sed "s/Ethernet0|3-4/Ethernet0|8/" tomahawk5.json > wrong.json
$ shallows settings read wrong.json
$ sed "s/Ethernet0|3-4/Ethernet0|13/" tomahawk5.json > wrong.json
$ shallows settings read wrong.json
$ sed "s/Ethernet0|3-4/Ethernet0|03/" tomahawk5.json > wrong.json
$ shallows settings read wrong.json
$ sed "s/Ethernet0|3-4/Ethernet0|3-8/" tomahawk5.json > wrong.json
$ shallows settings read wrong.json
