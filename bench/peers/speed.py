"""Measures packet-hops per second and memory of both simulators, in pairs on the same work.

Both are measured by processor time, which other processes disturb less than wall time: ns-3 from the first
event to the last, Shallows with set-up and answer, both without the start of Python and tables. The gain of
two threads is measured by wall time, over the whole example.
"""

import json
import pickle
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

SCENARIOS = Path(__file__).parents[2] / "scenarios"
WORK = {
    "dctcp-40": {"duration": "200ms"},
    "websearch-fat-tree": {"traffic.0.flows": 200, "hosts.nic": "fifo", "network.marking.at": "enqueue"},
}
SHORTEST = 0.5  # seconds; shorter work is repeated


@dataclass
class Pair:
    """Results for one scenario: packet-hops per second, and peak memory in MB; `beyond` is without Python.

    `gain` is the speed of two threads relative to one.
    """

    work: str
    hops: int
    ours: float
    ns3: float
    ratio: float
    ours_mb: float
    ours_beyond_mb: float
    ns3_mb: float
    gain: float


def pairs(work, times=3):
    """Medians over some pairs of runs; `ratio` is the median of the ratios."""
    import ns3

    from shallows.runner import prepare
    from shallows.worlds import packet

    settings = {"network.header": f"{ns3.HEADER}B", **WORK[work]}
    scenario = prepare(SCENARIOS / f"{work}.toml", seed=None, overrides=settings, world="packet")
    request = packet.request(scenario)
    measured = []
    for _ in range(times):
        ours, theirs = _in_shallows(request), ns3.run(scenario)
        measured.append((ours["hops"] / ours["seconds"], theirs.hops / theirs.seconds, ours, theirs))
    return Pair(
        work=work,
        hops=ours["hops"],
        ours=median(one[0] for one in measured),
        ns3=median(one[1] for one in measured),
        ratio=median(one[0] / one[1] for one in measured),
        ours_mb=ours["memory_mb"],
        ours_beyond_mb=ours["memory_mb"] - ours["before_mb"],
        ns3_mb=theirs.memory_mb,
        gain=_gain(work, times),
    )


def _gain(work, times):
    """Speed of two threads relative to one over a whole example: the median of some pairs."""
    from shallows.runner import prepare
    from shallows.worlds import packet

    request = packet.request(prepare(SCENARIOS / f"{work}.toml", seed=None, overrides={}, world="packet"))
    return median(_in_shallows(request, 1)["wall"] / _in_shallows(request, 2)["wall"] for _ in range(times))


def _in_shallows(request, threads=1):
    with tempfile.NamedTemporaryFile() as file:
        file.write(pickle.dumps(request))
        file.flush()
        printed = subprocess.run(
            [sys.executable, __file__, file.name, str(threads)], check=True, capture_output=True
        ).stdout
    return json.loads(printed)


def simulate(request, threads):
    """In a process of its own: run a request until it can be timed; processor and wall seconds per run."""
    from shallows import _core

    before, runs = _peak_memory(), 0
    started, begun = time.process_time(), time.perf_counter()
    while time.process_time() - started < SHORTEST:
        hops = _core.simulate(request, None, threads)["packet_hops"]
        runs += 1
    seconds, wall = (time.process_time() - started) / runs, (time.perf_counter() - begun) / runs
    return {
        "hops": hops,
        "seconds": seconds,
        "wall": wall,
        "before_mb": before,
        "memory_mb": _peak_memory(),
    }


def _peak_memory():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1.024e-3


if __name__ == "__main__":
    print(json.dumps(simulate(pickle.loads(Path(sys.argv[1]).read_bytes()), int(sys.argv[2]))))
