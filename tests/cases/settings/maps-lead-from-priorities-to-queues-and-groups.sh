# Maps lead from priorities to queues and groups.
# numbers: Priority 5 pauses queue 2, whose packets are of traffic class 1 and of group 7.
$ cat > config_db.json <<END
{
    "PORT_QOS_MAP": {
        "Ethernet0": {
            "pfc_enable": "5",
            "pfc_to_queue_map": "A",
            "tc_to_queue_map": "A",
            "tc_to_pg_map": "A",
            "dscp_to_tc_map": "A"
        }
    },
    "MAP_PFC_PRIORITY_TO_QUEUE": {"A": {"5": "2"}},
    "TC_TO_QUEUE_MAP": {"A": {"1": "2", "2": "0"}},
    "TC_TO_PRIORITY_GROUP_MAP": {"A": {"1": "7"}},
    "DSCP_TO_TC_MAP": {"A": {"8": "1", "9": "1", "0": "2"}},
    "BUFFER_POOL": {"pool": {"size": "9000000"}},
    "BUFFER_PROFILE": {"lossless": {"pool": "pool", "xoff": "7000", "xon_offset": "3000", "dynamic_th": "1"}},
    "BUFFER_PG": {"Ethernet0|7": {"profile": "lossless"}},
    "SCHEDULER": {"strict": {"type": "STRICT"}, "low": {"type": "DWRR", "weight": "9"}},
    "QUEUE": {"Ethernet0|0": {"scheduler": "low"}, "Ethernet0|2": {"scheduler": "strict"}}
}
END
$ shallows settings read config_db.json
