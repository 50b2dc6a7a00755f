"""Settings in the packet world: the same scenario with each of them, over the same seeds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shallows.errors import ScenarioError
from shallows.results import statistics
from shallows.results.metrics import known
from shallows.results.statistics import Interval

if TYPE_CHECKING:
    from shallows.results.run import RunData
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
    unfinished: flows of all seeds that make the metric unknown, which is then at least `least`. needed_s:
    when flows without an end would settle, 0 if they have.
    """

    metric: Interval
    difference: Interval
    longer: float
    goodput_gbps: float
    pauses: float
    dropped: float
    drift: float
    unfinished: int = 0
    least: float = np.nan
    needed_s: float = 0.0

    def faults(self, own: "Trial") -> tuple[str, ...]:
        """What sets it back, whatever its metric, the worst first; own: of the scenario's own settings."""
        share = self.goodput_gbps / own.goodput_gbps if own.goodput_gbps else 1.0
        stops = self.pauses > own.pauses or self.dropped > own.dropped
        found = {
            f"{self.unfinished} flows unfinished": self.unfinished > 0,
            f"rates that rise for about {self.needed_s * 1e3:.3g} ms": self.needed_s > 0,
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

    def value(self, run: "RunData") -> tuple[float, float, int]:
        """Its value in one run; if unfinished flows make it unknown, NaN, a lower bound and their number."""
        if not self.ends:
            return known(run.summary, "queue_mean_pkt") * run.scenario.mtu / 1e3, np.nan, 0
        its = np.asarray(run.columns("flows")["bytes"], float) <= (SHORT if self.short else np.inf)
        counted = run.counted.among(its)
        value, least = counted.statistic("slowdown", partial(np.quantile, q=0.99))
        if value is None and least is not None:
            return np.nan, least, int(counted.unfinished.sum())
        return np.nan if value is None else value, np.nan, 0


def trials(
    scenario: "Scenario", settings: Sequence[Mapping[str, object]], seeds: int | Sequence[int],
    metric: Metric, folder: Path, progress: bool = False,
) -> list[Trial]:  # fmt: skip
    """A `Trial` of each of `settings` (all with the same keys of the scenario), saved in `folder`."""
    keys = tuple(settings[0])
    points = [tuple(one[key] for key in keys) for one in settings]
    if not metric.ends and not scenario.record.queues:
        scenario = scenario.changed({"record.queues": RECORDED})
    runs = swept(scenario, {keys: points}, seeds, folder, progress)
    values = [_measured(run, metric) for run in runs]
    count = len(values) // len(points)
    return [_trial(values[i : i + count], values[:count]) for i in range(0, len(values), count)]


def swept(
    scenario: "Scenario", over: Mapping[str | tuple[str, ...], Sequence[object] | str],
    seeds: int | Sequence[int], folder: Path, progress: bool,
) -> "Iterator[RunData]":  # fmt: skip
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


def _measured(run: "RunData", metric: Metric) -> tuple[float, ...]:
    network, goodput = run.summary["network"], run.summary["flows"]["goodput_gbps"]
    value, least, unfinished = metric.value(run)
    long = np.asarray(run.columns("flows")["bytes"], float) > SHORT
    longer, _ = run.counted.among(long).statistic("slowdown", np.mean)
    needed_s = max((row["needed_s"] for row in run.summary["unsettled"]), default=0.0)
    return (
        value, least, unfinished, needed_s, np.nan if longer is None else longer,
        np.nan if goodput is None else goodput, network["pauses"], network["dropped"],
        np.nan if metric.ends else drift(run),
    )  # fmt: skip


def drift(run: "RunData") -> float:
    """Change of the bottleneck's mean queue from the first to the second half of the measured time."""
    port = run.queues[run.queues["port"] == run.summary["bottleneck"]["port"]]
    queue = port["queue_bytes"][port["time_us"] * 1e6 >= run.scenario.warmup_ps].to_numpy()
    first, second = (half.mean() for half in np.array_split(queue, 2))
    return abs(second - first) / max(first, run.scenario.mtu)


def _trial(of: Sequence[tuple[float, ...]], reference: Sequence[tuple[float, ...]]) -> Trial:
    values, least, unfinished, needed_s, *rest = zip(*of, strict=True)
    longer, goodput, pauses, dropped, change = (float(np.mean(one)) for one in rest)
    missing, first = int(sum(unfinished)), [one[0] for one in reference]
    if missing:
        metric = difference = statistics.unfinished(len(values))
    else:
        metric, difference = statistics.mean(values), statistics.paired(values, first)
    if any(one[2] for one in reference):
        difference = statistics.unfinished(len(values))
    bound = float(np.mean(np.where(np.isnan(least), values, least))) if missing else np.nan
    measured = longer, goodput, pauses, dropped, change
    return Trial(metric, difference, *measured, missing, bound, max(needed_s))
