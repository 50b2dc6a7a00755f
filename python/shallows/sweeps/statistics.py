"""Means over seeds with their intervals; they are in `shallows.results.statistics`, below the worlds."""

from shallows.results.statistics import (
    CONFIDENCE,
    ONE_RUN,
    UNFINISHED,
    Interval,
    mean,
    one_run,
    paired,
    student,
    unfinished,
    unpaired,
)

__all__ = [
    "CONFIDENCE",
    "ONE_RUN",
    "UNFINISHED",
    "Interval",
    "mean",
    "one_run",
    "paired",
    "student",
    "unfinished",
    "unpaired",
]
