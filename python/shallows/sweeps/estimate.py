"""Estimate of runs before they start: packet-hops, time, memory.

`cost` estimates the packet-hops of a run. The time of a packet-hop is measured on this machine by a small run
of each algorithm, which differ by a factor of four, at ports with several classes if the scenario has them.
It grows with the number of ports, whose state exceeds the caches. The estimate should hold within a factor of
two.
"""

import os
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shallows.errors import ScenarioError
from shallows.sweeps.cost import packet_hops, run_ends_s
from shallows.units import NEVER

if TYPE_CHECKING:
    from shallows.algorithm import Algorithm
    from shallows.contract import F64
    from shallows.scenario import Scenario
    from shallows.sweeps.plans import Job


BASE_BYTES = 98_000_000
"""Memory of a process with everything loaded."""
LINK_BYTES, ROUTE_BYTES, FLOW_BYTES, ROW_BYTES = 2_500, 4, 900, 50
"""Memory of a link with its port and name; of a path from a switch to a host if switches choose by packet; of
a flow; of a recorded sample.
"""
RUN_S, FLOW_S, ROW_S = 0.010, 3e-6, 0.2e-6
"""CPU time to run and save: of a run of any size in a warm process; of a flow; of a recorded sample."""
SMALL_PORTS, GROWTH = 100, 0.225
"""Up to this many ports a hop takes as long as in the small run; its time then grows with this power."""
PROBED_S, PROBED_HOPS, PROBED_PS = 0.1, 200_000, 20 * 10**9
"""The total time, the packet-hops and the simulated picoseconds of the small runs of an algorithm."""
SMALL_PACKETS, SMALL_LINKS = 1_000_000, 10_000


class Estimate(NamedTuple):
    """Estimate of `runs` runs: packet-hops and CPU time of all, memory of the largest, runs at a time."""

    runs: int
    hops: float
    cpu_s: float
    memory_bytes: float
    at_a_time: int

    @property
    def wall_s(self) -> float | None:
        """Real time if every concurrent run has a core; None if their number is unknown."""
        return self.cpu_s / self.at_a_time if self.at_a_time else None


def of_scenario(scenario: "Scenario") -> Estimate:
    """The `Estimate` of one run of a `Scenario` in the packet world."""
    hops, rows, flows = packet_hops(scenario), _rows(scenario), len(scenario.flows)
    cpu_s = RUN_S + float(hops @ _hop_s(scenario)) + FLOW_S * flows + ROW_S * rows
    network = scenario.network
    memory = LINK_BYTES * len(network.link_from)
    if scenario.network_options.balancing != "flow":
        memory += ROUTE_BYTES * (network.nodes - network.hosts) * network.hosts
    memory += BASE_BYTES + FLOW_BYTES * flows + ROW_BYTES * rows
    return Estimate(1, float(hops.sum()), cpu_s, memory, 1)


def of_scenarios(scenarios: "list[Scenario]", at_a_time: int) -> Estimate:
    """The `Estimate` of a run of each scenario, with `at_a_time` concurrent runs."""
    each = [of_scenario(scenario) for scenario in scenarios]
    memory = max(one.memory_bytes for one in each)
    hops, cpu_s = sum(one.hops for one in each), sum(one.cpu_s for one in each)
    return Estimate(len(each), hops, cpu_s, memory, min(at_a_time, len(each)))


def is_small(scenario: "Scenario") -> bool:
    """True if a run is too small to be worth an `Estimate`, by a cheap bound."""
    flows, network = scenario.flows, scenario.network
    packets = float(np.sum(flows.bytes / scenario.frame.payload)) + len(flows)
    if not flows.bytes.all() and scenario.duration != NEVER:
        packets += float(network.host_rate_bps.sum()) * scenario.duration * 1e-12 / (8 * scenario.mtu)
    return (
        packets < SMALL_PACKETS and len(network.link_from) < SMALL_LINKS and _rows(scenario) < SMALL_PACKETS
    )


def of_jobs(jobs: "list[Job]", cores: int | None = None) -> Estimate:
    """The `Estimate` of the jobs of a sweep on `cores`, from the first seed of each point.

    Only the packet world has packet-hops: for other worlds only the number of runs is known.
    """
    at_a_time = min(cores, max(len(jobs), 1)) if cores else 0
    if any(job.world != "packet" for job in jobs):
        return Estimate(len(jobs), 0, 0, 0, at_a_time)
    points: dict[str, list[Job]] = {}
    for job in jobs:
        point = repr([value for key, value in job.settings.items() if key != "seed"])
        points.setdefault(point, []).append(job)
    of = {point: of_scenario(its[0].make()) for point, its in points.items()}
    hops, cpu_s = (
        sum(getattr(of[point], key) * len(its) for point, its in points.items()) for key in ("hops", "cpu_s")
    )
    memory = max((one.memory_bytes for one in of.values()), default=0)
    return Estimate(len(jobs), hops, cpu_s, memory, at_a_time)


def check(estimate: Estimate, fewer_by: str = "--workers") -> None:
    """Raise `ScenarioError` if this machine lacks the memory; other machines are not checked.

    `fewer_by` is the option that limits the concurrent runs.
    """
    need, there = estimate.memory_bytes * estimate.at_a_time, memory_available()
    if there is not None and need > there:
        demand = f"about {_bytes(need)} of memory for {estimate.at_a_time} at a time"
        fewer = max(int(there // estimate.memory_bytes), 0)
        instead = f"; {fewer} fit: use {fewer_by} {fewer}" if fewer and estimate.at_a_time > 1 else ""
        raise ScenarioError(demand, None, f"at most the {_bytes(there)} that are free here{instead}")


def sentence(estimate: Estimate) -> str:
    """The sentence that a command prints before it starts."""
    from shallows.sweeps.progress import duration

    runs = "1 run" if estimate.runs == 1 else f"{estimate.runs} runs"
    if not estimate.runs:
        return "0 runs: all are there already"
    if not estimate.hops:
        return f"{runs}; only the packet world has an estimate"
    took = f"{duration(estimate.cpu_s)} of CPU"
    if estimate.wall_s is not None:
        took += f", {duration(estimate.wall_s)} on {estimate.at_a_time} at a time"
    return (
        f"{runs}, about {estimate.hops / 1e6:.3g} M packet-hops: {took}, {_bytes(estimate.memory_bytes)} each"
    )


def _rows(scenario: "Scenario") -> float:
    """The number of samples to record."""
    ends, record = run_ends_s(scenario) * 1e12, scenario.record
    queues = ends / record.queues * len(scenario.network.recorded_ports) if record.queues else 0
    return queues + (ends / record.probes * 4 * len(scenario.probed_flows) if record.probes else 0)


def _hop_s(scenario: "Scenario") -> "F64":
    """CPU seconds of a packet-hop with each algorithm of the flows."""
    ports, network = len(scenario.network.link_from), scenario.network_options
    classes = bool(network.pfc or network.shared or scenario.flows.priority.any())
    slower = max(ports / SMALL_PORTS, 1) ** GROWTH
    return np.array([slower * probed_hop_s(_probed_as(used), classes) for used in scenario.flows.ccs])


def _probed_as(used: "Algorithm") -> str | type:
    """The algorithm of the small run; an algorithm of a kernel is replaced by another."""
    return used.user_class or ("cubic" if used.native else used.label)


@cache
def probed_hop_s(algorithm: str | type, classes: bool = False) -> float:
    """CPU seconds of a packet-hop on this machine, at ports with several classes or without.

    It is the median of several small runs.
    """
    try:
        hops, _ = _small_run(algorithm, classes, PROBED_PS)
    except Exception:
        if isinstance(algorithm, str):
            raise
        # A class that raises does so again in its run, which reports why.
        return probed_hop_s("cubic", classes)
    as_long = int(PROBED_PS * np.clip(PROBED_HOPS / max(hops, 1), 1, 50))
    began, took = time.thread_time(), list[float]()
    while not took or time.thread_time() - began < PROBED_S:
        hops, cpu_s = _small_run(algorithm, classes, as_long)
        took.append(cpu_s / max(hops, 1))
    return float(np.median(took))


def _small_run(algorithm: str | type, classes: bool, duration_ps: int) -> tuple[int, float]:
    """Packet-hops of four flows over a bottleneck, and CPU seconds."""
    from shallows import _core
    from shallows.scenario import Scenario
    from shallows.worlds.packet import request

    small = Scenario(
        duration=f"{duration_ps}ps",
        cc=algorithm,
        topology={"kind": "dumbbell", "hosts": 4},
        network={"pfc": classes},
        traffic=[{"kind": "long-lived", "flows": 4}],
    )
    asked = request(small)
    began = time.thread_time()
    hops = _core.simulate(asked, None)["packet_hops"]
    return hops, time.thread_time() - began


def memory_available() -> int | None:
    """Bytes that this process may still allocate; None if the system does not tell."""
    free: list[int] = []
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")]
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        if limit != "max":
            free.append(int(limit) - int(Path("/sys/fs/cgroup/memory.current").read_text()))
    except (OSError, ValueError):
        pass
    return min(free, default=_physical())


def _physical() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _bytes(amount: float) -> str:
    return f"{amount / 1e9:.1f} GB" if amount >= 1e9 else f"{amount / 1e6:.0f} MB"
