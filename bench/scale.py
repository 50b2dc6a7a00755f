"""How the cost of a packet-hop grows with the network: 128 to 65,536 hosts, on one thread and on two.

    python bench/scale.py [FIGURE] [--most K] [--pairs N]

Web search under DCTCP at 40 % over fat trees, k = 8 to 64, 250 k flows each, to their end. Runs on one and on
two threads alternate, each in a process of its own. Columns: medians of processor and wall time per hop
without set-up; set-up; peak memory beyond an idle Python; processor time per hop against k = 8; the median
ratio of wall times, one thread to two. FIGURE (a .pdf or .png) draws the time per hop against hosts, and
against memory with the caches of this machine. The command fails if a fingerprint depends on the threads.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from measure import ROOT, BenchError, build, measure

SIZES = (8, 16, 32, 64)
FLOWS_PER_K = 250
THREADS = (1, 2)
COLUMNS = ("hosts", "threads", "M hops", "cpu ns", "wall ns", "set-up s", "MB", "times k=8", "times one")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def idle_mb():
    """Memory of a Python that has imported what a run imports, in MB."""
    process = subprocess.Popen([sys.executable, "-c", "from shallows.worlds import packet"])
    return os.wait4(process.pid, 0)[2].ru_maxrss / 1024


def size(core, k, pairs):
    """`{threads: medians of its runs}` of one network; `gain` is one thread's wall time over this one's."""
    case = {"scenario": "websearch-fat-tree", "set": {"topology.k": k, "traffic.0.flows": FLOWS_PER_K * k}}
    each = [{threads: measure(core, ROOT, case, threads) for threads in THREADS} for _ in range(pairs)]
    if len({run.fingerprint for pair in each for run in pair.values()}) > 1:
        raise BenchError(f"k = {k}: the fingerprint depends on the number of threads")
    return {threads: middle([(pair[threads], pair[1]) for pair in each]) for threads in THREADS}


def middle(runs):
    """Medians over (run, the run on one thread beside it)."""
    rows = [
        {
            "hops": run.hops,
            "cpu_ns": run.cpu_s * 1e9 / run.hops,
            "wall_ns": run.wall_s * 1e9 / run.hops,
            "setup_s": run.setup_s,
            "memory_mb": run.memory_mb,
            "gain": (one.wall_s / one.hops) / (run.wall_s / run.hops),
        }
        for run, one in runs
    ]
    return {key: median(row[key] for row in rows) for key in rows[0]}


def caches():
    """`{"L2": MB}` of the data caches that this machine reports."""
    found = {}
    for at in sorted(CACHES.glob("index*")):
        kind, level, text = ((at / name).read_text().strip() for name in ("type", "level", "size"))
        if kind != "Instruction":
            found[f"L{level}"] = int(text.removesuffix("K")) / 1024
    return found


def draw(figure, sizes, idle):
    """Time per hop against hosts, and against memory with the caches."""
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
    by_hosts.set(xscale="log", xlabel="hosts", ylabel="ns per packet-hop", ylim=(0, None))
    by_memory.set(xscale="log", xlabel="memory beyond an idle Python, MB")
    by_hosts.legend(frameon=False)
    whole.savefig(figure)


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figure", nargs="?", type=Path)
    parser.add_argument("--most", type=int, default=SIZES[-1], metavar="K", help="the largest tree")
    parser.add_argument("--pairs", type=int, default=3, help="runs on one thread and on two, of each size")
    asked = parser.parse_args(words)
    load, idle, sizes, core = os.getloadavg()[0], idle_mb(), {}, build(ROOT)
    print(f"load average {load:.1f}, {os.cpu_count()} cores, caches of {caches()} MB", flush=True)
    print(" ".join(f"{name:>9}" for name in COLUMNS), flush=True)
    for k in (k for k in SIZES if k <= asked.most):
        sizes[k] = size(core, k, asked.pairs)
        smallest = next(iter(sizes.values()))
        for threads, run in sizes[k].items():
            print(line(k, threads, run, smallest[threads], idle), flush=True)
    if asked.figure:
        draw(asked.figure, sizes, idle)


def line(k, threads, run, smallest, idle):
    """The row of one run under COLUMNS."""
    start = f"{k**3 // 4:9} {threads:9} {run['hops'] / 1e6:9.1f} {run['cpu_ns']:9.1f} {run['wall_ns']:9.1f}"
    memory, times = run["memory_mb"] - idle, run["cpu_ns"] / smallest["cpu_ns"]
    return f"{start} {run['setup_s']:9.2f} {memory:9.0f} {times:9.2f} {run['gain']:9.2f}"


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(str(error))
