# A dump of the database is read as its tables.
# numbers: dynamic_th 0 is 2^0 = 1.0; sizes are those of the file.
$ cat > config_db.json <<END
{
    "BUFFER_POOL|pool": {
        "type": "hash",
        "value": {"type": "ingress", "mode": "dynamic", "size": "1000000", "NULL": "NULL"}
    },
    "BUFFER_PROFILE|pg_lossless": {
        "type": "hash",
        "value": {
            "pool": "pool",
            "size": "0",
            "xoff": "50000",
            "xon_offset": "3000",
            "dynamic_th": "0",
            "NULL": "NULL"
        }
    },
    "BUFFER_PROFILE|egress": {"type": "hash", "value": {"pool": "pool", "size": "0", "static_th": "900000", "NULL": "NULL"}},
    "BUFFER_PG|Ethernet0|3-4": {"type": "hash", "value": {"profile": "pg_lossless", "NULL": "NULL"}},
    "BUFFER_QUEUE|Ethernet0|3-4": {"type": "hash", "value": {"profile": "egress", "NULL": "NULL"}},
    "PORT_QOS_MAP|Ethernet0": {"type": "hash", "value": {"pfc_enable": "3,4", "NULL": "NULL"}},
    "CONFIG_DB_INITIALIZED": {"type": "string", "value": "1"}
}
END
$ shallows settings read config_db.json
$ cat > config_db.json <<END
{
    "BUFFER_POOL": {"pool": {"type": "ingress", "mode": "dynamic", "size": "1000000"}},
    "BUFFER_PROFILE": {
        "pg_lossless": {"pool": "pool", "size": "0", "xoff": "50000", "xon_offset": "3000", "dynamic_th": "0"},
        "egress": {"pool": "pool", "size": "0", "static_th": "900000"}
    },
    "BUFFER_PG": {"Ethernet0|3-4": {"profile": "pg_lossless"}},
    "BUFFER_QUEUE": {"Ethernet0|3-4": {"profile": "egress"}},
    "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}}
}
END
$ shallows settings read config_db.json
$ cat > config_db.json <<END
{"ASIC_STATE:SAI_OBJECT_TYPE_PORT:oid:1": {"type": "hash", "value": {"A": "1"}}}
END
$ shallows settings read config_db.json
