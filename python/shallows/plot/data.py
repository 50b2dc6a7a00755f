"""The data of runs that figures show."""

import tomllib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shallows.errors import ScenarioError
from shallows.results.bottlenecks import bottlenecks
from shallows.results.tables import Names
from shallows.units import SIZE, TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.core.contract import F64, U32
    from shallows.results.run import RunData

RATE_BINS = 80
GOODPUT_BINS = 200
SERIES = ("queues", "probes", "goodput")
"""Tables with a sample of a time in each row."""
Labelled = list[tuple["RunData", str]]
"""Runs with their labels in a figure."""


def labelled(runs: "RunData | Sequence[RunData]", labels: Sequence[str] | None) -> Labelled:
    """`[(run, label)]`, from one run or several."""
    several = list(runs) if isinstance(runs, Sequence) else [runs]
    labels = labels or [", ".join(run.summary["cc"]) for run in several]
    return list(zip(several, labels, strict=True))


class Excerpt:
    """A run whose samples are those of a window of time, for figures: from `since_us` to `until_us`."""

    def __init__(self, run: "RunData", since_us: float, until_us: float) -> None:
        self._run, self.window_us = run, (since_us, until_us)

    def __getattr__(self, name: str) -> object:
        return getattr(self._run, name)


def excerpts(runs: Labelled, since: str | None, until: str | None) -> Labelled:
    """The runs, or excerpts of them from `since` to `until`, times such as "20ms".

    Raises `ScenarioError` for an empty window, or one in which no run has a sample.
    """
    if since is None and until is None:
        return runs
    begin = _time_us("since", since) if since else 0.0
    end = _time_us("until", until) if until else max(run.summary["duration_s"] for run, _ in runs) * 1e6
    if begin >= end:
        raise ScenarioError(
            "until", until, f"a time after {since or 'the start'}, and before the end of the run"
        )
    cut = [(cast("RunData", Excerpt(run, begin, end)), label) for run, label in runs]
    if not any(len(table_columns(run, table)["time_us"]) for run, _ in cut for table in SERIES):
        raise ScenarioError(
            "since", since, "a window of time with samples; record.queues sets how often they come"
        )
    return cut


def _time_us(key: str, text: str) -> float:
    try:
        return TIME.parse(text) / 1e6
    except ValueError as error:
        raise ScenarioError(key, text, str(error)) from None


def table_columns(run: "RunData", table: str) -> "dict[str, NDArray[Any]]":
    """The columns of a table as numpy arrays, text as objects."""
    columns = {
        name: values.texts() if isinstance(values, Names) else values
        for name, values in run.columns(table).items()
    }
    if table in SERIES and isinstance(run, Excerpt):
        begin, end = run.window_us
        rows = (columns["time_us"] >= begin) & (columns["time_us"] <= end)
        columns = {name: values[rows] for name, values in columns.items()}
    return columns


def window_ms(runs: Labelled) -> tuple[float, float] | None:
    """The window of time of excerpts in milliseconds; None for whole runs."""
    first = runs[0][0]
    return (first.window_us[0] / 1e3, first.window_us[1] / 1e3) if isinstance(first, Excerpt) else None


def thresholds_pkt(run: "RunData") -> list[float]:
    """Thresholds of the marking in full frames, where all ports have the same; empty without marking."""
    network = tomllib.loads(run.scenario_toml).get("network", {})
    marking = network.get("marking", {})
    values = [marking[key] for key in ("threshold", "kmin", "kmax") if key in marking]
    if not values or not all(isinstance(value, str) and value != "recommended" for value in values):
        return []  # no marking, a threshold for each rate, or one that no port has
    mtu = SIZE.parse(network["mtu"])
    return [SIZE.parse(value, frame=mtu) / mtu for value in values]


def at_bottlenecks(named: Labelled, table: str) -> Iterator[tuple[int, str, str, dict[str, "NDArray[Any]"]]]:
    """(index, label, port, columns) of each run whose `table` has rows of its bottleneck."""
    ports = [port["port"] for port in bottlenecks(run for run, _ in named)]
    for i, ((run, label), bottleneck) in enumerate(zip(named, ports, strict=True)):
        columns, port = _of_port(run, table, bottleneck)
        if port is not None:
            yield i, label, port, columns


def _of_port(run: "RunData", table: str, bottleneck: str) -> "tuple[dict[str, NDArray[Any]], str | None]":
    """The rows of `table` for `bottleneck`, or else for the recorded port with the longest queue."""
    columns = table_columns(run, table)
    recorded = set(columns["port"])
    if not recorded:
        return columns, None
    ports = table_columns(run, "ports")
    mean = dict(zip(ports["port"], ports["queue_mean_pkt"], strict=True))
    port = (
        bottleneck if bottleneck in recorded else max(sorted(recorded), key=lambda name: mean.get(name, 0.0))
    )
    rows = columns["port"] == port
    return {name: values[rows] for name, values in columns.items()}, port


def goodput_of_faults(run: "RunData") -> "dict[str, tuple[F64, F64]]":
    """Times (ms) and goodput (Gbit/s) of the flows of a run's first fault, and of the others if any.

    The first fault is the first of the summary. Each value is the mean of an interval; there are at most
    `GOODPUT_BINS` intervals.
    """
    rows = run.summary["faults"]
    if not rows:
        return {}
    columns = table_columns(run, "goodput")
    found: dict[str, tuple[F64, F64]] = {}
    for group in ("affected", "others"):
        rows_of_group = (columns["fault"] == rows[0]["fault"]) & (columns["flows"] == group)
        time_us, gbps = columns["time_us"][rows_of_group], columns["goodput_gbps"][rows_of_group]
        if not gbps.any():
            continue
        lasts = np.diff(time_us, prepend=0.0)
        many = max(1, -(-len(time_us) // GOODPUT_BINS))
        first = np.arange(0, len(time_us), many)
        width = np.add.reduceat(lasts, first)
        ends = np.cumsum(width)
        found[group] = (ends - width / 2) / 1e3, np.add.reduceat(gbps * lasts, first) / width
    return found


def spans_of_faults(runs: Labelled) -> list[tuple[float, float]]:
    """(begin, end) of every fault of the runs, in microseconds; a fault that lasts ends with its run."""
    spans = {
        (row["at_us"], row["until_us"] or run.summary["duration_s"] * 1e6): None
        for run, _ in runs
        for row in run.summary["faults"]
    }
    return list(spans)


def port_title(drawn: dict[int, str]) -> str:
    names = sorted(set(drawn.values()))
    return names[0] if len(names) == 1 else "the bottleneck"


def decision(runs: Labelled) -> str:
    """The decision of the algorithms of all runs: windows, or rates if a run has no windows."""
    named = [table_columns(run, "probes")["name"] for run, _ in runs]
    named = [names for names in named if len(names)]
    return "window_pkt" if all("window_pkt" in names for names in named) else "rate_gbps"


def decisions(run: "RunData", what: str) -> "tuple[F64, U32, F64]":
    """Times (ms), flows and values of a run's probes of that name."""
    probes = table_columns(run, "probes")
    rows = probes["name"] == what
    return probes["time_us"][rows] / 1e3, probes["flow"][rows], probes["value"][rows]


def flow_labels(run: "RunData", flows: "U32") -> list[str]:
    """Labels of flows, with their algorithms if there are several."""
    cc = table_columns(run, "flows")["cc"][flows]
    several = len(set(cc)) > 1
    return [f"flow {one}, {name}" if several else f"flow {one}" for one, name in zip(flows, cc, strict=True)]


def unlabelled(labelled: Labelled) -> "tuple[list[RunData], list[str]]":
    """The runs and their labels, apart."""
    return [run for run, _ in labelled], [label for _, label in labelled]
