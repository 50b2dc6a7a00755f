#!/usr/bin/env bash
# Moves a result with a trace and one with a class from the user of one environment to that of another, in a folder and with a home
# of its own, where the first runs again with the same fingerprint, and the second only with --trust.
# moved.sh AUTHOR RECEIVER: the folders of their commands.
set -euo pipefail
author=$(realpath "$1") receiver=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"/author/data "$folder"/receiver/home "$folder"/home
cd "$folder"/author
printf 'start_s,src,dst,bytes\n0,0,1,200000\n0.00001,2,1,300000\n' > data/f.csv
printf 'duration = "until-done"\ncc = "dctcp"\ntopology = { kind = "star", hosts = 3 }\ntraffic = [{ kind = "trace", file = "data/f.csv" }]\n' > trace.toml
printf 'WINDOW = 12\n' > helper.py
cat > mine.py <<'P'
from helper import WINDOW


class Fixed:
    def __init__(self, initial_window, line_rate):
        pass

    def on_ack(self, now, ack):
        pass

    def on_loss(self, now, loss):
        pass

    def decision(self):
        return WINDOW
P
export HOME="$folder"/home
unset XDG_STATE_HOME
"$author"/shallows run trace.toml --out trace > /dev/null
"$author"/shallows run trace.toml --cc mine.py:Fixed --out class > /dev/null
mv trace class ../receiver
rm -r ../author
cd ../receiver
export HOME="$folder"/receiver/home
! grep -rF "$folder"/author . || { echo "a result has a path of its author"; exit 1; }
same() {
    [ "$(grep '"fingerprint"' "$1"/summary.json)" = "$(grep '"fingerprint"' "$2"/summary.json)" ] \
        || { echo "$2 has another fingerprint than $1"; exit 1; }
}
"$receiver"/shallows run trace/scenario.toml --out trace-again > /dev/null
same trace trace-again
! "$receiver"/shallows run class/scenario.toml --out class-again 2> error || { echo "a class ran without --trust"; exit 1; }
grep -q 'Python code that you trust' error || { cat error; exit 1; }
"$receiver"/shallows run class/scenario.toml --trust --out class-again > /dev/null
same class class-again
