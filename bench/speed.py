"""How fast the packet world is: whole runs of two scenarios that other simulators were measured on.

    python bench/speed.py [RUNS]

Each run is a process of its own, `shallows run SCENARIO`, on one thread. Speed is packet-hops (packets
received over one link, data and acks) a second of the simulation itself; memory is the peak of the whole
process, Python, tables and files included. The middle of RUNS (5) runs counts; compare only numbers from one
machine.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
SHALLOWS = Path(sys.executable).parent / "shallows"
SCENARIOS = ("dctcp-40", "websearch-fat-tree")


def run(scenario, folder):
    """(packet-hops, packet-hops a second, peak memory in MB) of one run."""
    command = [SHALLOWS, "run", ROOT / "scenarios" / f"{scenario}.toml", "--out", folder]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{scenario}: the run failed; try `shallows run scenarios/{scenario}.toml`")
    summary = json.loads((Path(folder) / "summary.json").read_text())
    return summary["packet_hops"], summary["packet_hops_per_s"], usage.ru_maxrss / 1000


def main(runs=5):
    print(f"{'scenario':<20} {'million hops':>12} {'Mhops/s: worst':>15} {'middle':>8} {'best':>8} {'MB':>6}")
    for scenario in SCENARIOS:
        with tempfile.TemporaryDirectory() as folder:
            hops, speeds, memory = zip(*(run(scenario, folder) for _ in range(runs)), strict=True)
        worst, middle, best = (of(speeds) / 1e6 for of in (min, median, max))
        print(
            f"{scenario:<20} {hops[0] / 1e6:12.2f} {worst:15.1f} {middle:8.1f} {best:8.1f} {max(memory):6.0f}"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
