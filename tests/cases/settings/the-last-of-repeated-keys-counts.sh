As SONiC reads them, whose JSON reader keeps the last; they are named.

$ sed 's/"WRED_PROFILE": {/&"AZURE_LOSSLESS": {"ecn": "ecn_none"},/' tomahawk5.json > repeated.json
$ shallows settings read repeated.json > repeated
$ shallows settings read tomahawk5.json > once
$ diff once repeated
$ cat > nothing.json <<END
{"QUEUE": {"Ethernet0|3": {}, "Ethernet0|3": {}}}
END
$ shallows settings read nothing.json
