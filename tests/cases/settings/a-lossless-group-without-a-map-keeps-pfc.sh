# A lossless group without a map keeps pfc.
# numbers: dynamic_th 0 is 2^0 = 1.0; sizes are those of the file.
$ cat > config_db.json <<END
{
    "BUFFER_POOL": {"pool": {"type": "ingress", "mode": "dynamic", "size": "1000000"}},
    "BUFFER_PROFILE": {
        "pg_lossless": {"pool": "pool", "size": "0", "xoff": "50000", "xon_offset": "3000", "dynamic_th": "0"},
        "egress": {"pool": "pool", "size": "0", "static_th": "900000"}
    },
    "BUFFER_PG": {"Ethernet0|3-4": {"profile": "pg_lossless"}},
    "BUFFER_QUEUE": {"Ethernet0|3-4": {"profile": "egress"}}
}
END
$ shallows settings read config_db.json
