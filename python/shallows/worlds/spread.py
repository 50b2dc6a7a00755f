"""Differences between repeated runs of one scenario in real time."""

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from shallows.results import statistics

if TYPE_CHECKING:
    from shallows.results.contents import Summary


def spread(summaries: "Sequence[Summary]") -> dict[str, object]:
    """The number of runs and, for each quantity, mean, least, most, and half the width of the confidence
    interval of the mean (`confidence`); None with one run.
    """
    values: dict[str, list[float | None]] = {
        "utilization": [run["bottleneck"]["utilization"] for run in summaries],
        "queue_mean_pkt": [run["bottleneck"]["queue_mean_pkt"] for run in summaries],
        "goodput_gbps": [run["flows"]["goodput_gbps"] for run in summaries],
    }
    known = {name: [value for value in column if value is not None] for name, column in values.items()}
    return {
        "runs": len(summaries),
        "confidence": statistics.CONFIDENCE,
        **{name: _of(column) for name, column in known.items() if len(column) == len(summaries)},
    }


def _of(values: Sequence[float]) -> dict[str, float | None]:
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
