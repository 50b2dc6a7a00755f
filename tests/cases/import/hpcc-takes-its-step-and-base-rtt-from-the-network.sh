# Hpcc takes its step and base rtt from the network.
# numbers: those of the files, in the units of a scenario. RATE_AI times the longest round trip: 4 us of propagation,
# frames of 1090 B twice, and an ack twice.
$ cat > mix/config.txt <<END
ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000 {bytes}

TOPOLOGY_FILE mix/topology.txt
FLOW_FILE mix/flow.txt
TRACE_FILE mix/trace.txt
FCT_OUTPUT_FILE mix/fct.txt
SIMULATOR_STOP_TIME 4.00
CC_MODE 3
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 900
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 50Mb/s
RATE_HAI 100Mb/s
MIN_RATE 100Mb/s
U_TARGET 0.95
MI_THRESH 0
HAS_WIN 1
GLOBAL_T 1
LINK_DOWN 0 0 0
KMAX_MAP 2 25000000000 400 100000000000 1600
KMIN_MAP 2 25000000000 100 100000000000 400
PMAX_MAP 2 25000000000 0.2 100000000000 0.2
BUFFER_SIZE 32
END
$ shallows import mix/config.txt --out out.toml
$ cat out.toml
$ cat out.flow.csv
