# A threshold of a lookup above every exponent is in bytes.
# numbers: 36,736 B; a pause ends at xon, 32,256 B, which is 4,480 B below.
$ cat > config_db.json <<END
{
    "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3"}},
    "BUFFER_POOL": {"ingress_lossless_pool": {"size": "10875072", "type": "ingress", "mode": "dynamic"}}
}
END
$ cat > pg_profile_lookup.ini <<END
10000   5m    3584    32256  59136   36736
END
$ shallows settings read config_db.json pg_profile_lookup.ini
$ sed -i -e '3c\    "BUFFER_POOL": {"ingress_lossless_pool": {"size": "10875072", "type": "ingress", "mode": "static"}}' config_db.json
$ shallows settings read config_db.json pg_profile_lookup.ini
