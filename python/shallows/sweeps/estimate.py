"""Estimate of runs before they start: packet-hops, time, and memory (`shallows.memory`).

`cost` estimates the packet-hops of a run; `speed` measures the time of one in the first events of the run.
The estimate of time should hold within a factor of two.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shallows import memory
from shallows.memory import bounds, needs
from shallows.sweeps.cost import packet_hops
from shallows.sweeps.speed import TYPICAL, Speed, measured
from shallows.units import NEVER

if TYPE_CHECKING:
    from shallows.scenario import Scenario
    from shallows.sweeps.plans import Job


RUN_S, FLOW_S, ROW_S = 0.010, 3e-6, 0.2e-6
"""CPU time to run and save: of a run of any size in a warm process; of a flow; of a recorded sample."""
MEASURED_POINTS = 20
"""The points of a sweep whose speed is measured, at most: each takes about a tenth of a second."""
SMALL_PACKETS, SMALL_HOPS, SMALL_LINKS, SMALL_ROWS = 200_000, 10_000_000, 10_000, 1_000_000


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


def of_scenario(scenario: "Scenario", known: Speed | None = None) -> Estimate:
    """The `Estimate` of one run in the packet world, at a `known` speed or the measured one."""
    rows, flows, expected = needs.samples(scenario), len(scenario.flows), packet_hops(scenario)
    known = known or _speed(scenario, expected)
    hops = expected * known.hop_ratio
    cpu_s = RUN_S + known.setup_s + hops * known.hop_s + FLOW_S * flows + ROW_S * rows
    return Estimate(1, hops, cpu_s, needs.of_run(scenario), 1)


def of_scenarios(scenarios: "list[Scenario]", at_a_time: int) -> Estimate:
    """The `Estimate` of a run of each scenario, with `at_a_time` concurrent runs."""
    each = [of_scenario(scenario) for scenario in scenarios]
    largest = max(one.memory_bytes for one in each)
    hops, cpu_s = sum(one.hops for one in each), sum(one.cpu_s for one in each)
    return Estimate(len(each), hops, cpu_s, largest, min(at_a_time, len(each)))


def is_small(scenario: "Scenario") -> bool:
    """True if a run is too small to be worth an `Estimate`: most take less than two seconds."""
    flows, network = scenario.flows, scenario.network
    if len(network.link_from) >= SMALL_LINKS or needs.samples(scenario) >= SMALL_ROWS:
        return False
    packets = float(np.sum(flows.bytes / scenario.frame.payload)) + len(flows)
    if not flows.bytes.all() and scenario.duration != NEVER:
        packets += float(network.host_rate_bps.sum()) * scenario.duration * 1e-12 / (8 * scenario.mtu)
    return packets < SMALL_PACKETS or packet_hops(scenario) < SMALL_HOPS


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
    of = _of_points({point: its[0] for point, its in points.items()})
    hops, cpu_s = (
        sum(getattr(of[point], key) * len(its) for point, its in points.items()) for key in ("hops", "cpu_s")
    )
    largest = max((one.memory_bytes for one in of.values()), default=0)
    return Estimate(len(jobs), hops, cpu_s, largest, at_a_time)


def _of_points(jobs: "dict[str, Job]") -> dict[str, Estimate]:
    """The `Estimate` of each job. The speed is measured for evenly spread ones and kept until the next."""
    every, known = math.ceil(len(jobs) / MEASURED_POINTS), TYPICAL
    found: dict[str, Estimate] = {}
    for at, (point, job) in enumerate(jobs.items()):
        scenario = job.make()
        known = _speed(scenario, packet_hops(scenario)) if at % every == 0 else known
        found[point] = of_scenario(scenario, known)
    return found


def _speed(scenario: "Scenario", expected_hops: float) -> Speed:
    """The measured speed, or the typical one if the scenario does not fit into memory."""
    left = bounds.free()
    fits = left is None or needs.of_run(scenario) <= left.amount
    return measured(scenario, expected_hops) if fits else TYPICAL


def check(estimate: Estimate, fewer_by: str = "--workers") -> None:
    """Raise `ScenarioError` if this machine lacks the memory; other machines are not checked.

    `fewer_by` is the option that limits the concurrent runs.
    """
    left, runs, each = bounds.free(), estimate.at_a_time, max(estimate.memory_bytes, 1)
    fit = 0 if left is None else int(left.amount // each)
    instead = f"{fit} fit, use {fewer_by} {fit}" if 0 < fit < runs else "a smaller scenario"
    memory.check(f"{runs} at a time", each * runs, instead)


def sentence(estimate: Estimate) -> str:
    """The sentence that a command prints before it starts."""
    from shallows.sweeps.progress import duration

    runs = "1 run" if estimate.runs == 1 else f"{estimate.runs} runs"
    if not estimate.runs:
        return "0 runs: all are there already"
    if not estimate.hops:
        return f"{runs}; only the packet world has an estimate"
    took = f"{duration(estimate.cpu_s)} of CPU"
    if estimate.wall_s is not None and estimate.runs > 1:
        took += f", {duration(estimate.wall_s)} on {estimate.at_a_time} at a time"
    each = memory.text(estimate.memory_bytes) + (" each" if estimate.runs > 1 else "")
    return f"{runs}, about {estimate.hops / 1e6:.3g} M packet-hops: {took}, {each}"
