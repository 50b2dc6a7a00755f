# An empty table beside others is named.
# numbers: 2.5 KB per Gbps is the default of the scenario.
$ cat > config_db.json <<END
{"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3"}}}
END
$ cat > pg_profile_lookup.ini <<END
# speed cable size xon xoff threshold
END
$ shallows settings read config_db.json pg_profile_lookup.ini
