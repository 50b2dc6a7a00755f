"""What a packet-hop costs as the network grows: k = 8 to 64, 128 to 65,536 hosts, on one thread and on two.

    python bench/scale.py [FIGURE] [--most K] [--pairs N]

Web search under DCTCP at 40 % over fat trees, 250 k flows each (2,000 at k = 8), to their end. For each size
runs on one and two threads go in turn, `--pairs` times, each a process of its own. Columns: the middle
processor and wall time a hop, without set-up; set-up; peak memory beyond an idle Python; processor time a hop
against k = 8; the middle of the pairs' ratios of wall times. FIGURE (a .pdf or .png) draws time a hop against
hosts, and against that memory with this machine's caches. A fingerprint that depends on the threads ends it.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

SIZES = (8, 16, 32, 64)
FLOWS_A_K = 250
THREADS = (1, 2)
COLUMNS = ("hosts", "threads", "M hops", "cpu ns", "wall ns", "set-up s", "MB", "times k=8", "times one")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")

ONE = """
import json, sys, time
from shallows import _core
from shallows.scenario import Scenario
from shallows.worlds import packet

k, flows, threads = map(int, sys.argv[1:])
begun, first = time.perf_counter(), []
def clocks():
    return time.perf_counter(), time.process_time()
def on_progress(_, hops, __):
    first or first.append((*clocks(), hops))
request = packet.request(Scenario.load("websearch-fat-tree", {"topology.k": k, "traffic.0.flows": flows}))
answer = _core.simulate(request, on_progress, threads)
(wall, cpu), (wall_first, cpu_first, hops_first) = clocks(), first[0]
hops = answer["packet_hops"]
times = {"wall_ns": wall - wall_first, "cpu_ns": cpu - cpu_first}
a_hop = {name: seconds * 1e9 / (hops - hops_first) for name, seconds in times.items()}
print(json.dumps(a_hop | {"setup_s": wall_first - begun, "hops": hops, "fingerprint": answer["fingerprint"]}))
"""


def measure(k, threads):
    """One run in a process of its own, with its peak memory in MB."""
    command = [sys.executable, "-c", ONE, *map(str, (k, FLOWS_A_K * k, threads))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"k = {k}: the run failed with status {status}")
    return json.loads(text) | {"memory_mb": usage.ru_maxrss / 1024}


def idle_mb():
    """What Python takes with what a run imports."""
    process = subprocess.Popen([sys.executable, "-c", "from shallows.worlds import packet"])
    return os.wait4(process.pid, 0)[2].ru_maxrss / 1024


def size(k, pairs):
    """`{threads: the middle of its runs}` of one network; `gain` is how much faster than beside it."""
    each = [{threads: measure(k, threads) for threads in THREADS} for _ in range(pairs)]
    if len({run["fingerprint"] for pair in each for run in pair.values()}) > 1:
        sys.exit(f"k = {k}: the fingerprint depends on the number of threads")
    for pair in each:
        for run in pair.values():
            run["gain"] = pair[1]["wall_ns"] / run["wall_ns"]
    numbers = [key for key in each[0][1] if key != "fingerprint"]
    return {
        threads: {key: median(pair[threads][key] for pair in each) for key in numbers} for threads in THREADS
    }


def caches():
    """`{"L2": MB}` of what this machine says of its data caches."""
    found = {}
    for at in sorted(CACHES.glob("index*")):
        kind, level, text = ((at / name).read_text().strip() for name in ("type", "level", "size"))
        if kind != "Instruction":
            found[f"L{level}"] = int(text.removesuffix("K")) / 1024
    return found


def draw(figure, sizes, idle):
    """Time a hop against hosts, and against memory with the caches."""
    from matplotlib.figure import Figure

    whole = Figure(figsize=(9, 3.6), layout="constrained")
    by_hosts, by_memory = whole.subplots(1, 2, sharey=True)
    for threads in THREADS:
        cost = [runs[threads]["wall_ns"] for runs in sizes.values()]
        label = f"{threads} thread{'s' * (threads > 1)}"
        by_hosts.plot([k**3 / 4 for k in sizes], cost, "o-", label=label)
        by_memory.plot([runs[threads]["memory_mb"] - idle for runs in sizes.values()], cost, "o-")
    for name, megabytes in caches().items():
        by_memory.axvline(megabytes, color="0.6", linewidth=0.8)
        by_memory.annotate(name, (megabytes, 1), (2, -10), ("data", "axes fraction"), "offset points")
    by_hosts.set(xscale="log", xlabel="hosts", ylabel="ns a packet-hop", ylim=(0, None))
    by_memory.set(xscale="log", xlabel="memory beyond an idle Python, MB")
    by_hosts.legend(frameon=False)
    whole.savefig(figure)


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figure", nargs="?", type=Path)
    parser.add_argument("--most", type=int, default=SIZES[-1], metavar="K", help="the largest tree")
    parser.add_argument("--pairs", type=int, default=3, help="runs on one thread and on two, of each size")
    asked = parser.parse_args(words)
    load, idle, sizes = os.getloadavg()[0], idle_mb(), {}
    print(f"load average {load:.1f}, {os.cpu_count()} cores, caches of {caches()} MB", flush=True)
    print(" ".join(f"{name:>9}" for name in COLUMNS), flush=True)
    for k in (k for k in SIZES if k <= asked.most):
        sizes[k] = size(k, asked.pairs)
        smallest = next(iter(sizes.values()))
        for threads, run in sizes[k].items():
            print(line(k, threads, run, smallest[threads], idle), flush=True)
    if asked.figure:
        draw(asked.figure, sizes, idle)


def line(k, threads, run, smallest, idle):
    """What one run has in the columns."""
    start = f"{k**3 // 4:9} {threads:9} {run['hops'] / 1e6:9.1f} {run['cpu_ns']:9.1f} {run['wall_ns']:9.1f}"
    memory, times = run["memory_mb"] - idle, run["cpu_ns"] / smallest["cpu_ns"]
    return f"{start} {run['setup_s']:9.2f} {memory:9.0f} {times:9.2f} {run['gain']:9.2f}"


if __name__ == "__main__":
    main()
