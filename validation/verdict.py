"""From samples over several seeds to a verdict. `summary` is the only function that decides one."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from shallows.sweeps import statistics
from validation.runs import F64

if TYPE_CHECKING:
    from validation.claim import Band, Claim

HOLDS, SHAPE, FAILS, CANNOT = "holds", "in shape", "does not hold", "cannot be tested"
VERDICTS = (HOLDS, SHAPE, FAILS, CANNOT)
OPEN = 0.05
"""A band is open if another set of as many seeds lies on its other side with a larger probability."""
_ROUNDING = 1e-12
"""Relative slack at the ends of a band, for the last bits of a sum."""


@dataclass(frozen=True)
class Estimate:
    """The mean of a metric over the seeds, and half of its 95 % interval (0 of a single run)."""

    mean: float
    half: float
    values: tuple[float, ...]

    @property
    def text(self) -> str:
        """Such as "84.3 ± 0.2"."""
        return interval(self.mean, self.half)


def interval(mean: float, half: float) -> str:
    """Such as "84.3 ± 0.2"; a half interval below a millionth of the mean is rounding, and left out."""
    text = f"{mean:.4g}" if abs(mean) < 1e4 else f"{mean:,.0f}"
    return f"{text} ± {half:.2g}" if half > 1e-6 * abs(mean) else text


def estimate(values: Sequence[float]) -> Estimate:
    """The `Estimate` of one value a seed."""
    found = statistics.mean(values)
    return Estimate(found.mean, found.half_width if found.n > 1 else 0.0, tuple(values))


@dataclass(frozen=True)
class Finding:
    """The outcome of a claim. estimates: metric -> `Estimate`. passed: one truth value a band, in the claim's order.

    touching: the same, whether its interval and the band have a value in common. open: metric of an open band -> the probability
    that another set of seeds lies on its other side.
    """

    claim: "Claim"
    verdict: str
    estimates: dict[str, Estimate]
    passed: tuple[bool, ...]
    touching: tuple[bool, ...] = ()
    open: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def checked(self) -> "list[tuple[Band, bool]]":
        """Each band of the claim, and whether it passes."""
        return list(zip(self.claim.bands, self.passed, strict=True))

    def expected(self, band: "Band") -> str:
        """What a band asks for, with the estimate of the metric that it is a multiple of."""
        beside = f" ({self.estimates[band.other].text})" if band.other else ""
        return band.expected + beside


def passes(band: "Band", samples: Sequence[Mapping[str, float]]) -> bool:
    """Whether the whole 95 % interval over the seeds lies inside the band.

    An end of the band that is an end of the metric's domain bounds nothing, so an interval may cross it. A band relative to
    another metric is judged by the differences within each seed; two equal metrics are in no order.
    """
    low, high = (estimate(side) for side in zip(*(band.sides(sample) for sample in samples), strict=True))
    least, most = band.limits
    slack = _ROUNDING * max(1.0, abs(band.low), abs(band.high))
    above = band.low == least or low.mean - low.half >= -slack
    below = band.high == most or high.mean - high.half >= -slack
    return bool(above and below and not (band.order and band.other and high.mean <= 0))


def touches(band: "Band", samples: Sequence[Mapping[str, float]]) -> bool:
    """Whether the 95 % interval over the seeds and the band have a value in common."""
    low, high = (estimate(side) for side in zip(*(band.sides(sample) for sample in samples), strict=True))
    return low.mean + low.half >= 0 and high.mean + high.half >= 0


def flips(band: "Band", samples: Sequence[Mapping[str, float]]) -> float:
    """The probability that another set of as many seeds lies on the other side of the band, if its values vary as these do.

    An integral over the estimated deviation of that set, whose mean is normal: the noncentral t distribution where one end counts.
    """
    count, inside = len(samples), passes(band, samples)
    sides = np.array([band.sides(sample) for sample in samples]).T
    spread = sides.std(axis=1, ddof=1) / math.sqrt(count) if count > 1 else np.zeros(2)
    counts = np.array([band.low != band.limits[0], band.high != band.limits[1]])
    if not spread[counts].all():
        return 0.0
    low, high = np.where(counts, sides.mean(axis=1) / np.where(counts, spread, 1), math.inf)
    freedom = count - 1
    deviation = (np.arange(2000) + 0.5) * (1 + 10 / math.sqrt(freedom)) / 2000
    weight = np.exp((freedom - 1) * np.log(deviation) - freedom * (deviation**2 - 1) / 2)
    half = statistics.student(freedom, statistics.CONFIDENCE) * deviation
    within = np.maximum(0, _normal(high - half) - _normal(half - low))
    chance = float(weight @ within / weight.sum())
    return 1 - chance if inside else chance


def _normal(at: F64) -> F64:
    """The probability that a normal variable is below each of these."""
    return np.array([math.erfc(-one / math.sqrt(2)) / 2 for one in at])


def judge(claim: "Claim", samples: Sequence[Mapping[str, float]]) -> Finding:
    """The `Finding` of a claim from `samples`, a dict metric -> value for each seed."""
    if claim.cannot:
        return Finding(claim, CANNOT, {}, ())
    metrics = dict.fromkeys(name for band in claim.bands for name in (band.metric, band.other) if name)
    estimates = {metric: estimate([sample[metric] for sample in samples]) for metric in metrics}
    passed = tuple(passes(band, samples) for band in claim.bands)
    touching = tuple(touches(band, samples) for band in claim.bands)
    chances = {
        band.metric: flips(band, samples) for band in claim.bands if band.metric not in claim.undecided
    }
    unsure = {metric: chance for metric, chance in chances.items() if chance > OPEN}
    return Finding(claim, summary(claim, passed, touching, unsure), estimates, passed, touching, unsure)


def summary(
    claim: "Claim", passed: Sequence[bool], touching: Sequence[bool], unsure: Collection[str] = ()
) -> str:
    """The verdict of a claim from the sides of its bands; `unsure`: the metrics of open bands.

    Checks decide nothing. A band that seeds leave undecided is missed only if its interval and the band have no value in common.
    Holds: every band passes, and all are decided, in the paper's own setting. In shape: none is missed otherwise, or every order
    passes, and a number does not. Otherwise the claim does not hold.
    """
    deciding = [
        (band, ok, near)
        for band, ok, near in zip(claim.bands, passed, touching, strict=True)
        if not band.check
    ]
    missed = [band for band, ok, near in deciding if not (ok or (band.metric in claim.undecided and near))]
    ordered = any(band.order for band, _, _ in deciding) and not any(band.order for band in missed)
    if not missed:
        is_open = any(band.metric in unsure for band, _, _ in deciding)
        return SHAPE if claim.limits or claim.undecided or is_open else HOLDS
    return SHAPE if ordered else FAILS
