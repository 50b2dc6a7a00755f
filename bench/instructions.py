"""Counts instructions per packet-hop, which other processes on the machine do not change.

    python bench/instructions.py [CASE ...]       (`make counts`)

Each case of scenarios.toml that has `kept` runs once under `valgrind --tool=callgrind`, which counts only
while the simulation advances, not its set-up, its tables or Python. Exit status 1 if a count is more than 5 %
above `kept`. Without valgrind nothing is counted, and the command says so.
"""

import importlib.util
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import measure
from measure import ROOT, SCENARIOS, BenchError, cases

TOLERANCE = 0.05
COUNTED = "_core::threads::advance"  # the function that calls the main loop, crates/py/src/threads.rs


def main(names):
    if shutil.which("valgrind") is None:
        print("instructions a hop: not counted, there is no valgrind (Debian: apt-get install valgrind)")
        return 0
    selected = cases(names, having="kept")
    print(f"{'instructions a hop':<20} {'counted':>8} {'kept':>6} {'change':>8}")
    verdicts = [report(name, count(case), case["kept"]) for name, case in selected.items()]
    return 0 if all(verdicts) else 1


def report(name, counted, kept):
    """Print one line; return whether `counted` is within the tolerance."""
    change = counted / kept - 1
    advice = ""
    if change > TOLERANCE:
        advice = f"  TOO MANY: find out why, or write {counted:.0f} in {SCENARIOS.name} and give the reason"
    elif change < -TOLERANCE:
        advice = f"  better: write {counted:.0f} in {SCENARIOS.name}"
    print(f"{name:<20} {counted:8.1f} {kept:6} {change:+8.1%}{advice}", flush=True)
    return change <= TOLERANCE


def count(case, core=None):
    """Instructions per packet-hop of one case, by the installed core or by the one in the file `core`."""
    with tempfile.TemporaryDirectory() as folder:
        request = Path(folder) / "request.pickle"
        request.write_bytes(pickle.dumps(_request(case)))
        command = [
            "valgrind",
            "--tool=callgrind",
            f"--toggle-collect={COUNTED}",
            "--callgrind-out-file=/dev/null",
        ]
        command += [sys.executable, "-I", measure.__file__, "once", core or _core_file(), request]
        process = subprocess.run(command, capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", process.stderr)
    if process.returncode != 0 or not collected:
        raise BenchError(f"valgrind ended with status {process.returncode}:\n{process.stderr[-2000:]}")
    instructions, hops = int(collected[1]), int(process.stdout)
    if instructions == 0:
        raise BenchError(
            f"nothing was counted: no function is called {COUNTED}; correct COUNTED in {__file__}"
        )
    return instructions / hops


def _request(case):
    """The request to the core, built here so that valgrind does not run Python's part."""
    from shallows.runner import prepare
    from shallows.worlds import packet

    scenario = ROOT / "scenarios" / f"{case['scenario']}.toml"
    return packet.request(prepare(scenario, seed=None, overrides=case.get("set", {}), world="packet"))


def _core_file():
    return importlib.util.find_spec("shallows._core").origin


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BenchError as error:
        sys.exit(str(error))
