# Ports of a nic that differ are chosen between.
$ cat > nic.txt <<END
RPG_AI_RATE_P1 5
RPG_AI_RATE_P2 50
RPG_HAI_RATE_P1 60
END
$ shallows settings read nic.txt
$ shallows settings read nic.txt --port P1
$ shallows settings read nic.txt --port P2
$ cat > nic.txt <<END
/sys/class/net/eth0/ecn/roce_rp/rpg_ai_rate:5
/sys/class/net/eth1/ecn/roce_rp/rpg_ai_rate:50
/sys/class/net/eth0/ecn/roce_rp/rpg_hai_rate:60
END
$ shallows settings read nic.txt
$ shallows settings read nic.txt --port eth0
$ shallows settings read nic.txt --port eth1
