"""From numbers over several seeds to a verdict. Nothing else decides one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shallows.sweeps import statistics

if TYPE_CHECKING:
    from shallows.papers.claim import Check, Row

HOLDS, SHAPE, FAILS, CANNOT = "holds", "holds in shape", "does not hold", "cannot be tested here"
VERDICTS = (HOLDS, SHAPE, FAILS, CANNOT)


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
    """Such as "84.3 ± 0.2"; half of an interval that is below a millionth of the mean is rounding, and left out."""
    text = f"{mean:.4g}" if abs(mean) < 1e4 else f"{mean:,.0f}"
    return f"{text} ± {half:.2g}" if half > 1e-6 * abs(mean) else text


def estimate(values: Sequence[float]) -> Estimate:
    """The `Estimate` of one value a seed."""
    found = statistics.mean(values)
    return Estimate(found.mean, found.half_width if found.n > 1 else 0.0, tuple(values))


@dataclass(frozen=True)
class Finding:
    """What came out of a row. estimates: metric -> `Estimate`. passed: a truth a check, in the row's order."""

    row: "Row"
    verdict: str
    estimates: dict[str, Estimate]
    passed: tuple[bool, ...]

    @property
    def checked(self) -> "list[tuple[Check, bool]]":
        """Each check of the row, and whether it passes."""
        return list(zip(self.row.checks, self.passed, strict=True))

    def expected(self, check: "Check") -> str:
        """What a check asks for, with what was measured of the metric that it is a multiple of."""
        beside = f" ({self.estimates[check.other].text})" if check.other else ""
        return check.expected + beside


def judge(row: "Row", samples: Sequence[Mapping[str, float]]) -> Finding:
    """The `Finding` of a row from `samples`, a dict metric -> value for each seed."""
    if row.cannot:
        return Finding(row, CANNOT, {}, ())
    estimates = {metric: estimate([sample[metric] for sample in samples]) for metric in samples[0]}
    means = {metric: found.mean for metric, found in estimates.items()}
    passed = tuple(check.passes(means) for check in row.checks)
    shapes = [ok for check, ok in zip(row.checks, passed, strict=True) if check.shape]
    if all(passed):
        verdict = HOLDS
    elif shapes and all(shapes):
        verdict = SHAPE
    else:
        verdict = FAILS
    return Finding(row, verdict, estimates, passed)
