"""Intervals over seeds.

A run is one draw of everything random, so runs of other seeds are independent, and the mean of a number over
`n` seeds has Student's t interval with `n - 1` degrees of freedom. That is an interval of the mean over
seeds, also of a percentile: the mean of the runs' p99, not the p99 of all their flows.

Two algorithms that met the same seeds met the same arrivals (common random numbers), so their difference
seed by seed varies less than either: its interval is Student's, too, over the differences (a paired t
interval). Where seeds differ, Welch's takes its place. (Law, Simulation Modeling and Analysis, 5th ed., §9.4,
§10.2.)
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from shallows.core.contract import F64

CONFIDENCE = 0.95
ONE_RUN = "one run: seeds change nothing"
"""The method of an interval without width: runs that draw nothing random are one run."""
UNFINISHED = "unknown: flows are unfinished"
"""The method of a mean that unfinished flows make unknown in some run."""


class Interval(NamedTuple):
    """A mean with its interval; `low` and `high` are NaN for a single value."""

    mean: float
    low: float
    high: float
    n: int
    method: str

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


def mean(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Student's t interval of the mean of independent `values`, without missing ones."""
    known = np.asarray(values, float)
    return _student(known[np.isfinite(known)], confidence, f"Student t, {confidence:.0%}")


def one_run(value: float) -> Interval:
    """The number of a run that is the same with every seed; it has no interval."""
    return Interval(value, math.nan, math.nan, 1, ONE_RUN)


def unfinished(n: int) -> Interval:
    """The mean of `n` values of which some are unknown: one over the others would prefer runs with losses."""
    return Interval(math.nan, math.nan, math.nan, n, UNFINISHED)


def paired(values: Sequence[float], baseline: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The interval of the mean of the paired differences `values - baseline`."""
    difference = np.asarray(values, float) - np.asarray(baseline, float)
    return _student(difference[np.isfinite(difference)], confidence, f"paired Student t, {confidence:.0%}")


def unpaired(values: Sequence[float], baseline: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The interval of the difference of the means of two independent samples (Welch)."""
    samples = [np.asarray(sample, float) for sample in (values, baseline)]
    samples = [sample[np.isfinite(sample)] for sample in samples]
    counts = [len(sample) for sample in samples]
    method = f"Welch t, {confidence:.0%}"
    if min(counts) == 0:
        return Interval(math.nan, math.nan, math.nan, 0, method)
    difference = float(np.mean(samples[0]) - np.mean(samples[1]))
    if min(counts) < 2:
        return Interval(difference, math.nan, math.nan, min(counts), method)
    errors = [float(np.var(sample, ddof=1)) / len(sample) for sample in samples]
    total = sum(errors)
    if total == 0:
        return Interval(difference, difference, difference, min(counts), method)
    freedom = total**2 / sum(error**2 / (count - 1) for error, count in zip(errors, counts, strict=True))
    half = student(freedom, confidence) * math.sqrt(total)
    return Interval(difference, difference - half, difference + half, min(counts), method)


def _student(values: F64, confidence: float, method: str) -> Interval:
    n = len(values)
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, 0, method)
    centre = float(np.mean(values))
    if n == 1:
        return Interval(centre, math.nan, math.nan, 1, method)
    half = student(n - 1, confidence) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return Interval(centre, centre - half, centre + half, n, method)


@cache
def student(freedom: float, confidence: float) -> float:
    """Student's t quantile of a two-sided interval, without scipy, which takes 140 MB.

    With t = sqrt(freedom) tan(angle), the probability within t is the integral of cos**(freedom - 1) from 0
    to the angle, times a constant (Abramowitz and Stegun, 26.7.1). It is concave, so Newton's steps from 0
    never overshoot, and smooth, so that Gauss-Legendre quadrature with 40 points gives ten digits at 95 %.
    """
    within = 2 / math.sqrt(math.pi) * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    points, weights = np.polynomial.legendre.leggauss(40)
    angle = step = confidence / within
    while step > 1e-15 * angle:
        inside = within * angle / 2 * float(weights @ np.cos(angle / 2 * (points + 1)) ** (freedom - 1))
        step = (confidence - inside) / (within * math.cos(angle) ** (freedom - 1))
        angle += step
    return math.sqrt(freedom) * math.tan(angle)
