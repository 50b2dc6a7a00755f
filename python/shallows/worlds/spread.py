"""How far repeated runs of one scenario are apart: what a real machine gives is never the same twice."""

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import Any

CONFIDENCE = 0.95
# Student's t, two-sided, for 1 to 30 degrees of freedom; the normal distribution's beyond.
# fmt: off
T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)
# fmt: on
NORMAL = 1.960
QUANTITIES = {
    "utilization": ("bottleneck", "utilization"),
    "queue_mean_pkt": ("bottleneck", "queue_mean_pkt"),
    "goodput_gbps": ("flows", "goodput_gbps"),
}


def spread(summaries: list[dict[str, Any]]) -> dict[str, Any]:
    """How many runs there were and, for each of `QUANTITIES`, their mean, least and most, and half the width
    of the interval that has the true mean in it with `CONFIDENCE`; None with one run.
    """
    values = {name: [run[table][key] for run in summaries] for name, (table, key) in QUANTITIES.items()}
    return {
        "runs": len(summaries),
        "confidence": CONFIDENCE,
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
    """Half the width of the confidence interval of the mean of independent values; None of fewer than two."""
    if len(values) < 2:
        return None
    freedom = len(values) - 1
    return (T[freedom - 1] if freedom <= len(T) else NORMAL) * stdev(values) / sqrt(len(values))
