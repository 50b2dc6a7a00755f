#!/usr/bin/env bash
# tests/wheel.sh WHEEL [MOST_BYTES [core]]: installs a wheel into empty environments and uses it as its users do, in a folder of its
# own. `core`: only into one without libraries for figures and fluid models, whose installation takes most of the time.
set -euo pipefail
wheel=$(realpath "$1")
tests=$(dirname "$(realpath "$0")")
python=${PYTHON:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

most=${2:-4000000}
[ "$(wc -c < "$wheel")" -le "$most" ] || { echo "the wheel has more than $most bytes"; exit 1; }
"$python" -m venv core
core/bin/pip install --quiet --disable-pip-version-check "$wheel"
core/bin/shallows --version | grep -E '^shallows [0-9.]+\+[0-9a-f]{10}'
package=$(core/bin/python -c 'import shallows; print(shallows.__path__[0])')
test -e "$package"/py.typed
# 4.4 to 8.7 MB without, above 20 with it.
[ "$(wc -c < "$package"/_core.abi3.so)" -lt 12000000 ] || { echo "the core has its debug information"; exit 1; }
core/bin/shallows scenarios > list
grep -q '^dctcp-40 ' list
core/bin/shallows scenarios dctcp-40 > mine.toml
core/bin/shallows run mine.toml --set duration=20ms --set warmup=5ms --out mine > /dev/null
core/bin/shallows compare dctcp-40 --cc dctcp --cc dx --set duration=20ms --set warmup=5ms --out both > /dev/null
# What is not installed is named, with what to write, before anything runs.
for words in "run dctcp-40 --plot" "run dcqcn-2 --world fluid" "fluid fixed-point dcqcn"; do
    ! core/bin/shallows $words 2> error || { echo "shallows $words did not fail"; exit 1; }
    grep -q 'pip install ".*whl\[' error || { cat error; exit 1; }
done
# Installed by its name, as from the package index, it names the index.
core/bin/pip install --quiet --no-deps --force-reinstall --no-index --find-links "$(dirname "$wheel")" shallows
! core/bin/shallows run dctcp-40 --plot 2> error || { echo "a figure without matplotlib"; exit 1; }
grep -q 'pip install "shallows\[plot\]"' error || { cat error; exit 1; }

if [ "${3-}" = core ]; then exit; fi

# What figures need beside Python itself, with pip and all that pip compiles.
"$python" -m venv plot
start=$SECONDS
plot/bin/pip install --quiet --disable-pip-version-check "$wheel[plot]"
installed=$SECONDS
megabytes=$(du -sm plot | cut -f 1)
[ "$megabytes" -lt 350 ] || { echo "the environment has $megabytes MB"; exit 1; }
plot/bin/shallows run dctcp-40 --plot --out figure > /dev/null
"$tests"/moved.sh core/bin plot/bin
test -s figure/figure.png
echo "with figures: installed in $((installed - start)) s, the first figure in $((SECONDS - installed)) s," \
    "$megabytes MB"
# The main job.
plot/bin/shallows compare websearch-tree --cc dctcp --cc dx@ns-2-multi-hop --out main > /dev/null
test -s main/figure.png

plot/bin/pip install --quiet --disable-pip-version-check "$wheel[fluid]"
plot/bin/shallows fluid margin dcqcn --flows 10 > /dev/null
plot/bin/shallows run dcqcn-2 --world fluid --out fluid > /dev/null
