"""Processor time and memory before the first event of MRC over fabrics of 8 planes.

    python bench/fabrics.py [SIDE ...]

A fabric of SIDE leaves, SIDE spines and SIDE hosts a leaf in each plane has SIDE^2 hosts and 32 SIDE^2 links;
without numbers 16, 32 and 64. Each runs in a process of its own, to 100 ns, by the core that is installed.
Columns: seconds of Python (scenario, checks, request), seconds of the core (set-up, columns of the result),
and the peak memory of the process, of which Python without a run is the first row.
"""

import json
import os
import subprocess
import sys
import time

from measure import BenchError

PLANES = 8
COLUMNS = ("hosts", "links", "Python s", "core s", "peak MB")


def fabric(leaves, spines, hosts_per_leaf):
    """The keys of a permutation's first 100 ns: half of the hosts, but at most 4,096, send 400 KB."""
    hosts = leaves * hosts_per_leaf
    exchanges = {"kind": "request-response", "pairs": min(hosts // 2, 4096), "exchanges": 1}
    return {
        "duration": "100ns",
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
        "traffic": [{**exchanges, "request": "400KB", "response": "1B"}],
    }


def once(side):
    """Set one fabric up in this process, and print its links and times as JSON."""
    import shallows as sh
    from shallows import _core
    from shallows.worlds import packet
    from shallows.worlds.runner import prepare

    begun, links, times = time.process_time(), 0, [0.0, 0.0]
    if side:
        made = prepare(sh.Scenario(**fabric(side, side, side)), world="packet")
        asked, links = packet.request(made), len(made.graph.link_from)
        middle = time.process_time()
        _core.simulate(asked)
        times = [middle - begun, time.process_time() - middle]
    print(json.dumps((links, *times)))


def row(side):
    """The row of one fabric, in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--once", str(side)], stdout=subprocess.PIPE, text=True
    )
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise BenchError(f"the set-up of {side**2} hosts failed; its message is above")
    links, python_s, core_s = json.loads(text)
    return f"{side**2:10} {links:10} {python_s:10.2f} {core_s:10.2f} {usage.ru_maxrss / 1024:10.0f}"


def main(words):
    """Print a table."""
    if words[:1] == ["--once"]:
        return once(int(words[1]))
    print(" ".join(f"{name:>10}" for name in COLUMNS), flush=True)
    for side in (0, *(map(int, words) if words else (16, 32, 64))):
        print(row(side), flush=True)
    return None


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BenchError as error:
        sys.exit(str(error))
