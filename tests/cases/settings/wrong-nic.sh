Lines of a NIC that are refused.

$ cat > nic.txt <<END
rpg_ai_rate fast
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END

RPG_AI_RATE_P1=5
RPG_AI_RATE_P2=6
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
rpg_byte_reset=40000
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
rpg_ai_rate=200000
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
rpg_hai_rate=5
set rpg_ai_rate to 5 please
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
RPG_AI_RATE_P1  5  50
END
$ shallows settings read nic.txt
$ cat > nic.txt <<END
nothing=1
END
$ shallows settings read nic.txt
