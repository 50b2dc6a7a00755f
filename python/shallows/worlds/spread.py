"""Differences between repeated runs of one scenario in real time."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from shallows.sweeps import statistics

QUANTITIES = {
    "utilization": ("bottleneck", "utilization"),
    "queue_mean_pkt": ("bottleneck", "queue_mean_pkt"),
    "goodput_gbps": ("flows", "goodput_gbps"),
}


def spread(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The number of runs and, for each of `QUANTITIES`, mean, least, most, and half the width of the
    confidence interval of the mean (`confidence`); None with one run.
    """
    values = {name: [run[table][key] for run in summaries] for name, (table, key) in QUANTITIES.items()}
    return {
        "runs": len(summaries),
        "confidence": statistics.CONFIDENCE,
        **{name: _of(column) for name, column in values.items() if None not in column},
    }


def _of(values: Sequence[float]) -> dict[str, Any]:
    return {
        "mean": fmean(values),
        "half_width": half_width(values),
        "least": min(values),
        "most": max(values),
    }


def half_width(values: Sequence[float]) -> float | None:
    """Half the width of the confidence interval of the mean of independent values; None for less than two."""
    if len(values) < 2:
        return None
    return statistics.mean(values).half_width
