"""How fast the worlds are: whole runs of two scenarios other simulators were measured on, and a fluid map.

    python bench/speed.py [RUNS]

Each run is a process of its own, `shallows run SCENARIO`, on one thread. Speed is packet-hops (packets
received over one link, data and acks) a second of the simulation itself; memory is the peak of the whole
process, Python, tables and files included. The middle of RUNS (5) runs counts; compare only numbers from one
machine. The maps are margins of DCQCN: 100,000 by numba, a million by JAX where it is installed. Theirs is
the wall time of the whole command, by all cores (and a GPU where JAX finds one).
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
SHALLOWS = Path(sys.executable).parent / "shallows"
SCENARIOS = ("dctcp-40", "websearch-fat-tree")
MAP = "fluid map dcqcn --over flows=1:{} --over delay=0us:99.9us:0.1us --set ramp=extended --engine {}"


def run(scenario, folder):
    """(packet-hops, packet-hops a second, peak memory in MB) of one run."""
    command = [SHALLOWS, "run", ROOT / "scenarios" / f"{scenario}.toml", "--out", folder]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{scenario}: the run failed; try `shallows run scenarios/{scenario}.toml`")
    summary = json.loads((Path(folder) / "summary.json").read_text())
    return summary["packet_hops"], summary["packet_hops_per_s"], usage.ru_maxrss / 1000


def map_seconds(flows, engine):
    """Wall time of a map of 1000 `flows` points, after a small one that compiles what is kept on disk."""
    for command in ("fluid map dcqcn --over flows=1,2", MAP.format(flows, engine)):
        started = time.perf_counter()
        subprocess.run([SHALLOWS, *command.split()], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main(runs=5):
    print(f"{'scenario':<20} {'million hops':>12} {'Mhops/s: worst':>15} {'middle':>8} {'best':>8} {'MB':>6}")
    for scenario in SCENARIOS:
        with tempfile.TemporaryDirectory() as folder:
            hops, speeds, memory = zip(*(run(scenario, folder) for _ in range(runs)), strict=True)
        worst, middle, best = (of(speeds) / 1e6 for of in (min, median, max))
        print(
            f"{scenario:<20} {hops[0] / 1e6:12.2f} {worst:15.1f} {middle:8.1f} {best:8.1f} {max(memory):6.0f}"
        )
    print_map(100, "numba", runs)
    if importlib.util.find_spec("jax"):
        print_map(1000, "jax", runs)
    else:
        print(f"{'fluid map, jax':<20} not measured without JAX: `{sys.executable} -m pip install jax`")


def print_map(flows, engine, runs):
    seconds = [map_seconds(flows, engine) for _ in range(runs)]
    worst, middle, best = (of(seconds) for of in (max, median, min))
    label, points = f"fluid map, {engine}", f"{1000 * flows:,} points"
    print(f"{label:<20} {points}, s: worst {worst:.1f}, middle {middle:.1f}, best {best:.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
