"""Settings in the packet world: the same scenario with each of them, over the same seeds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.errors import ScenarioError
from shallows.sweeps import statistics
from shallows.sweeps.statistics import Interval

if TYPE_CHECKING:
    from shallows.results.run import Run
    from shallows.scenario import Scenario

SHORT = 100_000
"""Bytes up to which a flow is short."""
GOODPUT = 0.98
"""A setting that carries less than this share of what another carries starves the links."""
DRIFT = 0.2
"""A queue that changes more than this from one half of the measured time to the other does not settle."""
RECORDED = "100us"
"""Interval of the recorded queue where the scenario has none."""


@dataclass(frozen=True)
class Trial:
    """Measurements of one setting in the packet world.

    metric: interval over seeds; difference: from the first setting, seed by seed. longer: mean slowdown of
    flows that are not short, NaN without any. goodput_gbps, pauses, dropped: means over seeds. drift: mean
    change of the queue from the first to the second half of the measured time, as a share; NaN if flows end.
    """

    metric: Interval
    difference: Interval
    longer: float
    goodput_gbps: float
    pauses: float
    dropped: float
    drift: float

    def faults(self, own: "Trial") -> tuple[str, ...]:
        """What sets it back, whatever its metric, the worst first; own: of the scenario's own settings."""
        share = self.goodput_gbps / own.goodput_gbps if own.goodput_gbps else 1.0
        stops = self.pauses > own.pauses or self.dropped > own.dropped
        found = {
            f"{share:.1%} of the goodput": share < GOODPUT,
            "more pauses or drops": stops,
            f"the queue changes by {self.drift:.0%}": self.drift > DRIFT,
        }
        return tuple(text for text, holds in found.items() if holds)


@dataclass(frozen=True)
class Metric:
    """What settings are compared by: its name, whether it is of flows that end or else of the queue, and
    whether of short flows only.
    """

    name: str
    ends: bool
    short: bool = False

    @classmethod
    def of(cls, scenario: "Scenario") -> "Metric":
        """p99 slowdown of short flows; without any, of all flows that end; without these, the mean queue."""
        sizes = scenario.flows.bytes
        ending = sizes[sizes > 0]
        if not len(ending):
            return cls("mean queue, KB", False)
        short = (ending <= SHORT).any()
        return cls("p99 slowdown of flows up to 100 KB" if short else "p99 slowdown", True, bool(short))

    def value(self, run: "Run") -> float:
        """Its value in one run."""
        if not self.ends:
            return float(run.summary["bottleneck"]["queue_mean_pkt"]) * run.scenario.mtu / 1e3
        flows = run.flows
        ended = flows[flows["slowdown"].notna()]
        chosen = (ended[ended["bytes"] <= SHORT] if self.short else ended)["slowdown"]
        return float(chosen.quantile(0.99)) if len(chosen) else np.nan


def trials(
    scenario: "Scenario", settings: Sequence[Mapping[str, Any]], seeds: int | Sequence[int], metric: Metric,
    folder: Path, progress: bool = False,
) -> list[Trial]:  # fmt: skip
    """A `Trial` of each of `settings` (all with the same keys of the scenario), saved in `folder`."""
    keys = tuple(settings[0])
    points = [tuple(one[key] for key in keys) for one in settings]
    if not metric.ends and not scenario.record.queues:
        scenario = scenario.replace({"record.queues": RECORDED})
    runs = swept(scenario, {keys: points}, seeds, folder, progress)
    values = [_measured(run, metric) for run in runs]
    count = len(values) // len(points)
    return [_trial(values[i : i + count], values[:count]) for i in range(0, len(values), count)]


def swept(
    scenario: "Scenario", over: Mapping[str | tuple[str, ...], Sequence[Any] | str],
    seeds: int | Sequence[int], folder: Path, progress: bool,
) -> "Iterator[Run]":  # fmt: skip
    """The runs of a sweep, by point and then by seed; those that `folder` holds are not repeated.

    Raises `ScenarioError` if a run fails, and KeyboardInterrupt, with what is saved, if the user ends it.
    """
    from shallows.sweeps.running import sweep

    try:
        done = sweep(scenario, over=over, seeds=seeds, out=folder, progress=progress)
    except RuntimeError as error:  # all runs failed
        raise ScenarioError("advise", None, f"runs that end: {error}") from None
    if done.interrupted:
        raise KeyboardInterrupt(f"after {len(done.rows)} runs, which are saved in {folder}")
    for message in done.failures.values():
        raise ScenarioError("advise", None, f"runs that end: {message}")
    return done.runs()


def _measured(run: "Run", metric: Metric) -> tuple[float, ...]:
    flows, network = run.flows, run.summary["network"]
    longer = flows["slowdown"][(flows["bytes"] > SHORT) & flows["slowdown"].notna()]
    return (
        metric.value(run), float(longer.mean()) if len(longer) else np.nan,
        run.summary["flows"]["goodput_gbps"], network["pauses"], network["dropped"],
        np.nan if metric.ends else drift(run),
    )  # fmt: skip


def drift(run: "Run") -> float:
    """Change of the bottleneck's mean queue from the first to the second half of the measured time."""
    port = run.queues[run.queues["port"] == run.summary["bottleneck"]["port"]]
    queue = port["queue_bytes"][port["time_us"] * 1e6 >= run.scenario.warmup_ps].to_numpy()
    first, second = (half.mean() for half in np.array_split(queue, 2))
    return abs(second - first) / max(first, run.scenario.mtu)


def _trial(of: Sequence[tuple[float, ...]], reference: Sequence[tuple[float, ...]]) -> Trial:
    values, *rest = zip(*of, strict=True)
    first = [one[0] for one in reference]
    means = (float(np.mean(one)) for one in rest)
    return Trial(statistics.mean(values), statistics.paired(values, first), *means)
