# The lookup of headroom and the table of ports join the rest.
# numbers: The row for 100 Gbps and 40 m: xoff, xon_offset, and 2^-2 of the pool.
$ cat > qos.json <<END
{
    "PORT_QOS_MAP": {"Ethernet0,Ethernet4": {"pfc_enable": "3"}},
    "CABLE_LENGTH": {"AZURE": {"Ethernet0": "40m", "Ethernet4": "5m"}},
    "BUFFER_POOL": {"ingress_lossless_pool": {"size": "1000000", "type": "ingress", "mode": "dynamic"}}
}
END
$ cat > pg_profile_lookup.ini <<END
# PG lossless profiles.
# speed cable size xon xoff threshold xon_offset
100000 5m 1248 0 177632 -1 2288
100000 40m 1248 0 200000 -2 2288
END
$ cat > port_config.ini <<END
# name lanes alias speed
Ethernet0 1,2 Eth1 100000
Ethernet4 3,4 Eth2 100000
END
$ shallows settings read qos.json pg_profile_lookup.ini port_config.ini --port Ethernet0
$ shallows settings read qos.json pg_profile_lookup.ini port_config.ini --port Ethernet4
$ shallows settings read qos.json pg_profile_lookup.ini
