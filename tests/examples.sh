#!/usr/bin/env bash
# Installs a wheel with its extras into an empty environment, and runs the gallery and the notebooks outside of the checkout.
set -euo pipefail
wheel=$(realpath "$1")
examples=$(realpath "$(dirname "$0")/examples.py")
python=${PYTHON:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
unset PYTHONPATH
"$python" -m venv environment
environment/bin/pip install --quiet --disable-pip-version-check "$wheel[notebook,fluid]"
environment/bin/python "$examples"
