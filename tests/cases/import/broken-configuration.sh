One wrong value each in a configuration of the HPCC simulator.

$ sed 's|CC_MODE 1|CC_MODE 8|g' mix/config.txt > mix/wrong.txt
$ shallows import mix/wrong.txt --out out.toml
$ sed 's|mix/topology\.txt|mix/none.txt|g' mix/config.txt > mix/wrong.txt
$ shallows import mix/wrong.txt --out out.toml
$ sed 's|mix/flow\.txt|mix/none.txt|g' mix/config.txt > mix/wrong.txt
$ shallows import mix/wrong.txt --out out.toml
$ sed 's|BUFFER_SIZE 32|BUFFER_SIZE 0|g' mix/config.txt > mix/wrong.txt
$ shallows import mix/wrong.txt --out out.toml
$ sed 's|RP_TIMER 900|RP_TIMER|g' mix/config.txt > mix/wrong.txt
$ shallows import mix/wrong.txt --out out.toml
$ sed 's|RP_TIMER 900|RP_TIMER 900 300|g' mix/config.txt > mix/wrong.txt
$ shallows import mix/wrong.txt --out out.toml
$ sed 's|KMAX_MAP 2|KMAX_MAP 3|g' mix/config.txt > mix/wrong.txt
$ shallows import mix/wrong.txt --out out.toml
$ sed 's|RATE_AI 50Mb/s|RATE_AI 50Mx|g' mix/config.txt > mix/wrong.txt
$ shallows import mix/wrong.txt --out out.toml
$ sed 's|RATE_AI 50Mb/s|RATE_AI 2Tb/s|g' mix/config.txt > mix/wrong.txt
$ shallows import mix/wrong.txt --out out.toml
$ sed 's|RATE_AI 50Mb/s|RATE_AI 11Tb/s|g' mix/config.txt > mix/wrong.txt
$ shallows import mix/wrong.txt --out out.toml
$ sed 's|STOP_TIME 4\.00|STOP_TIME 0|g' mix/config.txt > mix/wrong.txt
$ shallows import mix/wrong.txt --out out.toml
$ sed 's|PMAX_MAP 2 25000000000 0\.2|PMAX_MAP 2 25000000000 2|g' mix/config.txt > mix/wrong.txt
$ shallows import mix/wrong.txt --out out.toml
$ sed 's|LINK_DOWN 0 0 0|LINK_DOWN 1 0 1|g' mix/config.txt > mix/wrong.txt
$ shallows import mix/wrong.txt --out out.toml
$ sed 's|HAS_WIN 1|has_win 1|g' mix/config.txt > mix/wrong.txt
$ shallows import mix/wrong.txt --out out.toml
