#!/usr/bin/env bash
# Installs a source distribution, and a copy of this checkout without its .git, with no git on the path.
# The core is built quickly, with what `make build` left in target/.
set -euo pipefail
source=$(realpath "$1")
root=$(realpath "$(dirname "$0")/..")
python=$("${PYTHON:-python3}" -c 'import sys; print(sys.executable)')
release=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -1)
commit=$(git -C "$root" rev-parse HEAD | cut -c 1-10)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir checkout path
git -C "$root" archive HEAD | tar xf - -C checkout
tar xf "$source"

# Every program of the path but git.
IFS=: read -ra places <<< "$PATH"
for place in "${places[@]}"; do ln -s "$place"/* path 2> /dev/null || true; done
rm -f path/git*
export PATH=$folder/path CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target} MATURIN_PEP517_ARGS="--profile quick"
hash -r
! command -v git > /dev/null || { echo "git is still on the path"; exit 1; }

# The source distribution knows its commit; a copy of a checkout cannot.
for built in "shallows-$release $commit" "checkout unknown"; do
    read -r place identity <<< "$built"
    "$python" -m venv "in-$place"
    "in-$place/bin/pip" install --quiet --disable-pip-version-check "./$place"
    found=$("in-$place/bin/shallows" --version)
    [[ $found = "shallows $release+$identity"* ]] || { echo "$place: $found, expected $identity"; exit 1; }
    "in-$place/bin/shallows" run dctcp-40 --set duration=20ms --set warmup=5ms --out "run-$place" > /dev/null
    echo "$place: built and run as $found"
done
