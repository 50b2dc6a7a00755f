"""Processor time and memory before the first event of MRC over fabrics of 8 planes.

    python bench/fabrics.py [SIDE | LEAVESxSPINESxHOSTS ...] [--until TIME]

Each fabric has LEAVES leaves with HOSTS hosts each and SPINES spines in each plane, or SIDE of all three,
which are 32 SIDE^2 links; without arguments 16, 32 and 64. Up to 8,192 hosts send 400 KB each. A process of
its own runs it to TIME (100 ns), by the core that is installed. Columns: processor time of Python (scenario,
checks, request) and of the core (set-up, run, columns of the result); packet-hops; memory of the core, and of
the core and Python together, at the last report of its progress; the peak with the result, and the estimate.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from pathlib import Path

from measure import BenchError

PLANES, FLOWS, BYTES = 8, 8192, 400_000
COLUMNS = ("fabric", "links", "Python s", "core s", "hops", "core MB", "running MB", "peak MB", "estimate MB")


def scenario(leaves, spines, hosts_per_leaf, until):
    """The keys of a run in which each of the senders has a receiver of its own."""
    hosts = leaves * hosts_per_leaf
    draw, count = random.Random(1), min(FLOWS, hosts)
    sources, targets = draw.sample(range(hosts), count), draw.sample(range(hosts), count)
    ends = [(a, b) for a, b in zip(sources, targets, strict=True) if a != b]
    return {
        "duration": until,
        "topology": {
            "kind": "leaf-spine",
            "leaves": leaves,
            "spines": spines,
            "hosts_per_leaf": hosts_per_leaf,
            "planes": PLANES,
            "rate": "100Gbps",
            "link_delay": "500ns",
        },
        "network": {"mtu": "4096B"},
        "hosts": {"rto_initial": "1ms"},
        "cc": "mrc",
        "traffic": [{"kind": "trace", "flows": [[0.0, f"h{a}", f"h{b}", BYTES] for a, b in ends]}],
    }


def memory_mb(key):
    """A line of /proc/self/status in MB."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[key].split()[0]) * 1024 / 1e6


def once(sizes, until):
    """Run one fabric in this process, and print what was measured as JSON."""
    import shallows as sh
    from shallows import _core
    from shallows.runner import prepare
    from shallows.scenario import needs
    from shallows.worlds import packet

    begun = time.process_time()
    made = prepare(sh.Scenario(**scenario(*sizes, until)), world="packet")
    asked = packet.request(made)
    middle, python_mb, before_mb = time.process_time(), memory_mb("VmHWM"), memory_mb("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    running_mb = []
    answer = _core.simulate(asked, lambda *_: running_mb.append(memory_mb("VmHWM")))
    peak_mb = max(python_mb, memory_mb("VmHWM"))
    measured = {
        "links": len(made.graph.link_from),
        "python_s": middle - begun,
        "core_s": time.process_time() - middle,
        "hops": answer["packet_hops"],
        "problems": len(answer["books"]["problems"]),
        "running_mb": (running_mb or [peak_mb])[-1],
        "core_mb": (running_mb or [peak_mb])[-1] - before_mb,
        "peak_mb": peak_mb,
        "estimate_mb": needs.of_run(made) / 1e6,
    }
    print(json.dumps(measured))


def measure(sizes, until="100ns"):
    """What `once` prints for a fabric, in a process of its own."""
    words = [sys.executable, __file__, "--once", "x".join(map(str, sizes)), "--until", until]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise BenchError(f"{words[3]}: ended with status {done.returncode}; its message is above")
    return json.loads(done.stdout)


def sizes_of(text):
    """Leaves, spines and hosts of a leaf, or one number for all three."""
    numbers = [int(word) for word in text.split("x")]
    if len(numbers) not in (1, 3):
        raise argparse.ArgumentTypeError(f"{text}: expected a number, or three such as 256x128x128")
    return numbers * 3 if len(numbers) == 1 else numbers


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(prog="fabrics", description=__doc__.partition("\n")[0])
    parser.add_argument("fabrics", type=sizes_of, nargs="*", default=[[16] * 3, [32] * 3, [64] * 3])
    parser.add_argument("--until", default="100ns", metavar="TIME", help="the end of each run")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.once:
        return once(asked.fabrics[0], asked.until)
    print(" ".join(f"{name:>12}" for name in COLUMNS), flush=True)
    for sizes in asked.fabrics:
        of = measure(sizes, asked.until)
        cells = [f"{of[key]:.2f}" for key in ("python_s", "core_s")]
        cells += [f"{of[key]:.0f}" for key in ("hops", "core_mb", "running_mb", "peak_mb", "estimate_mb")]
        print(
            " ".join(f"{cell:>12}" for cell in ("x".join(map(str, sizes)), of["links"], *cells)), flush=True
        )
    return None


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(str(error))
