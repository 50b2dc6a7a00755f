"""The data of runs that figures show."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.results.bottlenecks import bottlenecks
from shallows.results.tables import Names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.results.run import Run

RATE_BINS = 80
GOODPUT_BINS = 200
Labelled = list[tuple["Run", str]]
"""Runs with their labels in a figure."""


def labelled(runs: "Run | Sequence[Run]", labels: Sequence[str] | None) -> Labelled:
    """`[(run, label)]`, from one run or several."""
    several = list(runs) if isinstance(runs, Sequence) else [runs]
    labels = labels or [", ".join(run.summary["cc"]) for run in several]
    return list(zip(several, labels, strict=True))


def table_columns(run: "Run", table: str) -> "dict[str, NDArray[Any]]":
    """The columns of a table as numpy arrays, text as objects."""
    columns = run.columns(table).items()
    return {name: values.texts() if isinstance(values, Names) else values for name, values in columns}


def at_bottlenecks(named: Labelled, table: str) -> Iterator[tuple[int, str, str, dict[str, "NDArray[Any]"]]]:
    """(index, label, port, columns) of each run whose `table` has rows of its bottleneck."""
    ports = [port["port"] for port in bottlenecks(run for run, _ in named)]
    for i, ((run, label), bottleneck) in enumerate(zip(named, ports, strict=True)):
        columns, port = _of_port(run, table, bottleneck)
        if port is not None:
            yield i, label, port, columns


def _of_port(run: "Run", table: str, bottleneck: str) -> "tuple[dict[str, NDArray[Any]], str | None]":
    """The rows of `table` for `bottleneck`, or else for the recorded port with the longest queue."""
    columns = table_columns(run, table)
    recorded = set(columns["port"])
    if not recorded:
        return columns, None
    ports = table_columns(run, "ports")
    mean = dict(zip(ports["port"], ports["queue_mean_pkt"], strict=True))
    port = bottleneck if bottleneck in recorded else max(sorted(recorded), key=lambda name: mean[name])
    rows = columns["port"] == port
    return {name: values[rows] for name, values in columns.items()}, port


def goodput_of_faults(run: "Run") -> "dict[str, tuple[NDArray[Any], NDArray[Any]]]":
    """Times (ms) and goodput (Gbit/s) of the flows of a run's first fault, and of the others if any.

    The first fault is the first of the summary. Each value is the mean of an interval; there are at most
    `GOODPUT_BINS` intervals.
    """
    rows = run.summary.get("faults")
    if not rows:
        return {}
    columns = table_columns(run, "goodput")
    found: dict[str, tuple[NDArray[Any], NDArray[Any]]] = {}
    for group in ("affected", "others"):
        its = (columns["fault"] == rows[0]["fault"]) & (columns["flows"] == group)
        time_us, gbps = columns["time_us"][its], columns["goodput_gbps"][its]
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
        for row in run.summary.get("faults") or ()
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


def decisions(run: "Run", what: str) -> "tuple[NDArray[Any], NDArray[Any], NDArray[Any]]":
    """Times (ms), flows and values of a run's probes of that name."""
    probes = table_columns(run, "probes")
    rows = probes["name"] == what
    return probes["time_us"][rows] / 1e3, probes["flow"][rows], probes["value"][rows]


def flow_labels(run: "Run", flows: "NDArray[Any]") -> list[str]:
    """Labels of flows, with their algorithms if there are several."""
    cc = table_columns(run, "flows")["cc"][flows]
    several = len(set(cc)) > 1
    return [f"flow {one}, {its}" if several else f"flow {one}" for one, its in zip(flows, cc, strict=True)]


def unlabelled(labelled: Labelled) -> "tuple[list[Run], list[str]]":
    """The runs and their labels, apart."""
    return [run for run, _ in labelled], [label for _, label in labelled]
