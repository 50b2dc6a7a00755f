# A time of a nic is a short text.
$ cat > nic.txt <<END
RPG_TIME_RESET_P1=20
DCE_TCP_RTT_P1=10
END
$ shallows settings read nic.txt
