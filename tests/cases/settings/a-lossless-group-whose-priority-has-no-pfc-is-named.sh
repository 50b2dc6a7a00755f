# A lossless group whose priority has no pfc is named.
$ cat > config_db.json <<END
{
    "BUFFER_POOL": {"pool": {"type": "ingress", "mode": "dynamic", "size": "1000000"}},
    "BUFFER_PROFILE": {
        "pg_lossless": {"pool": "pool", "size": "0", "xoff": "50000", "xon_offset": "3000", "dynamic_th": "0"},
        "egress": {"pool": "pool", "size": "0", "static_th": "900000"}
    },
    "BUFFER_PG": {"Ethernet0|3-4": {"profile": "pg_lossless"}},
    "BUFFER_QUEUE": {"Ethernet0|3-4": {"profile": "egress"}},
    "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3"}}
}
END
$ shallows settings read config_db.json --queue 4
$ sed -i -e '9c\    "PORT_QOS_MAP": {"Ethernet0": {"pfcwd_sw_enable": ""}}' config_db.json
$ shallows settings read config_db.json
