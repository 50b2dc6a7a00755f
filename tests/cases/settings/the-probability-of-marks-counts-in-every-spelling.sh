# The probability of marks counts in every spelling.
# numbers: Marks of 80 per cent between 256 and 512 KiB, beside drops of 5 per cent from 1 MiB on.
$ cat > config_db.json <<END
{
    "QUEUE": {"Ethernet0|3": {"wred_profile": "W"}},
    "WRED_PROFILE": {
        "W": {
            "ecn": "ecn_green",
            "wred_green_enable": "true",
            "green_min_threshold": "1048576",
            "green_max_threshold": "2097152",
            "green_drop_probability": "5",
            "green_ect_min_threshold": "262144",
            "green_ect_max_threshold": "524288",
            "green_ect_mark_probability": "80"
        }
    }
}
END
$ shallows settings read config_db.json
$ sed -i -e '10c\            "green_ecn_min_threshold": "262144",' -e '11c\            "green_ecn_max_threshold": "524288",' -e '12c\            "green_ecn_mark_probability": "80"' config_db.json
$ shallows settings read config_db.json
$ sed -i -e '10c\            "ecn_green_min_threshold": "262144",' -e '11c\            "ecn_green_max_threshold": "524288",' -e '12c\            "ecn_green_mark_probability": "80"' config_db.json
$ shallows settings read config_db.json
$ sed -i -e '10c\            "ect_green_min_threshold": "262144",' -e '11c\            "ect_green_max_threshold": "524288",' -e '12c\            "ect_green_mark_probability": "80"' config_db.json
$ shallows settings read config_db.json
