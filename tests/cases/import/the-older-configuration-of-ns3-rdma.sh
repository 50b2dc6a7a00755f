# The older configuration of ns3 rdma.
# numbers: those of the files, in the units of a scenario.
$ cat > mix/config.txt <<END
TOPOLOGY_FILE mix/topology.txt
FLOW_FILE mix/flow.txt
CNP_INTERVAL 50
ALPHA_RESUME_INTERVAL 55
RP_TIMER 60
BYTE_COUNTER 300000000
DCTCP_GAIN 0.00390625
KMAX 1000
KMIN 40
PMAX 1.0
END
$ shallows import mix/config.txt --out out.toml
$ cat out.toml
$ cat out.flow.csv
