# numbers: those of the texts

$ cat > nic.txt <<END
rpg_ai_rate=5
RPG_THRESHOLD_P9 3
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
rpg_ai_rate=5
CNP_DSCP_P1 48
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
rpg_ai_rate=5
SRIOV_EN False(0)
Device type: CX7
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
rpg_ai_rate=5
Configurations:          Default    Current    Next Boot
RPG_HAI_RATE_P1 50 50 60
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
rpg_ai_rate=5
rpg_gd=10
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
rpg_ai_rate=5
rate_reduce_monitor_period=9
min_time_between_cnps=4
END
$ shallows settings read nic.txt
