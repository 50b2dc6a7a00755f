# numbers: r_ai is the 20 Mbit/s of each text, and 0x14 is 20

$ cat > nic.txt <<END
Device #1:
  RPG_AI_RATE_P1  20
  CLAMP_TGT_RATE_P1  True(1)
  SRIOV_EN  False(0)
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
  CLAMP_TGT_RATE_P1  True(1)
* RPG_AI_RATE_P1  20
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
Configurations:          Default    Current    Next Boot
  CLAMP_TGT_RATE_P1  False(0) True(1) True(1)
*  RPG_AI_RATE_P1  5  20  20
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
PARAMS="RPG_AI_RATE_P1=20 CLAMP_TGT_RATE_P1=1 "
mlxconfig -d X set $PARAMS
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
echo 20 | sudo tee /sys/class/net/eth0/ecn/roce_rp/rpg_ai_rate; echo '1' > /sys/class/net/eth0/ecn/roce_rp/clamp_tgt_rate
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
RPG_AI_RATE_P1 = 0x14
CLAMP_TGT_RATE_P1 = 1
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
mlxconfig -d 01:00.0 set RPG_AI_RATE_P1=20 CLAMP_TGT_RATE_P1=1
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
/sys/class/net/eth0/ecn/roce_rp/rpg_ai_rate:20
/sys/class/net/eth0/ecn/roce_rp/clamp_tgt_rate:1
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
rp_ai_rate 20
rp_clamp_tgt_rate 1
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
echo 20 > /sys/class/net/eth0/ecn/roce_rp/rpg_ai_rate # Mbit/s
END
$ shallows settings read nic.txt
