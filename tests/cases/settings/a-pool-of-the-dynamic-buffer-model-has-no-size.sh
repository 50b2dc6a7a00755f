# numbers: the size of the pool that is gone

$ shallows settings read tomahawk5.json > before
$ sed '/"size": "165660324"/d' tomahawk5.json > dynamic.json
$ shallows settings read dynamic.json > after
$ diff before after
