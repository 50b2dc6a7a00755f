"""The verdict of a row: its checks over seeds, beside the same numbers of the baselines."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shallows.judging import expressions
from shallows.judging.family import BEST, Check, Family, Row
from shallows.results import statistics
from shallows.results.statistics import Interval

PASS, FAIL, OPEN, REPORTED, NOT_APPLICABLE = "pass", "fail", "open", "reported", "not applicable"
VERDICTS = (FAIL, OPEN, PASS, REPORTED, NOT_APPLICABLE)
"""All verdicts; a row has the first that one of its checks has."""

Numbers = Mapping[str, float]
"""The numbers of a row with an algorithm and a seed, by their names in the family's file."""


@dataclass(frozen=True)
class Checked:
    """A check of a row: values by seed, those of the baselines, the bounds of the first seed, and a verdict.

    grade: 1 within the bounds, else how near they are, as a ratio; the mean over seeds.
    """

    check: Check
    verdict: str
    values: tuple[float, ...]
    baselines: Mapping[str, tuple[float, ...]]
    low: float | None
    high: float | None
    grade: float

    @property
    def interval(self) -> Interval:
        """The mean over seeds, with its interval."""
        return _mean(self.values)

    @property
    def interval_of(self) -> dict[str, Interval]:
        """The same of each baseline."""
        return {name: _mean(values) for name, values in self.baselines.items()}

    @property
    def differences(self) -> dict[str, Interval]:
        """The paired differences from each baseline, seed by seed."""
        return {name: statistics.paired(self.values, values) for name, values in self.baselines.items()}

    @property
    def is_worse(self) -> bool:
        """Whether it is worse than the best baseline, by an interval over seeds that excludes zero."""
        means = {name: one.mean for name, one in self.interval_of.items() if math.isfinite(one.mean)}
        if not means:
            return False
        best = _best(means, self.check.better)
        one = self.differences[next(name for name, mean in means.items() if mean == best)]
        return one.low > 0 if self.check.better == "smaller" else one.high < 0


@dataclass(frozen=True)
class Judged:
    """A row with its verdict.

    note: what an algorithm did wrong, or why the row does not apply to it; empty otherwise. packet_hops: of
    the runs of the judged algorithm, all seeds together.
    """

    family: Family
    row: Row
    seeds: tuple[int, ...]
    verdict: str
    note: str
    checks: tuple[Checked, ...]
    packet_hops: int

    @property
    def grade(self) -> float:
        """The least grade of the row's rules: 1 if it passes, 0 if it has no number."""
        if self.verdict == FAIL and not self.checks:
            return 0.0
        return min((one.grade for one in self.checks if one.check.is_rule), default=1.0)


def of_row(
    family: Family,
    row: Row,
    seeds: Sequence[int],
    numbers: Sequence[Numbers],
    baselines: Mapping[str, Sequence[Numbers]],
    packet_hops: int,
) -> Judged:
    """The `Judged` of a row whose runs all gave numbers, by seed; `baselines` have those of each baseline."""
    checks = tuple(_checked(one, row, numbers, baselines) for one in family.checks_of(row))
    verdict = next(one for one in VERDICTS if one in {check.verdict for check in checks} | {REPORTED})
    return Judged(family, row, tuple(seeds), verdict, "", checks, packet_hops)


def without_numbers(family: Family, row: Row, seeds: Sequence[int], verdict: str, note: str) -> Judged:
    """The `Judged` of a row of which a run gave no numbers."""
    return Judged(family, row, tuple(seeds), verdict, note, (), 0)


def _checked(
    check: Check, row: Row, numbers: Sequence[Numbers], baselines: Mapping[str, Sequence[Numbers]]
) -> Checked:
    values = [_value(check, row, one) for one in numbers]
    others = {name: [_value(check, row, one) for one in found] for name, found in baselines.items()}
    bounds = [_bounds(check, row, numbers, baselines, others, seed) for seed in range(len(values))]
    within = [_is_within(value, *pair) for value, pair in zip(values, bounds, strict=True)]
    kept = PASS if all(within) else OPEN if any(within) else FAIL
    verdict = kept if check.is_rule else REPORTED
    grades = [_grade(value, *pair) for value, pair in zip(values, bounds, strict=True)]
    return Checked(
        check,
        verdict,
        tuple(values),
        {name: tuple(found) for name, found in others.items()},
        *bounds[0],
        sum(grades) / len(grades),
    )


def _value(check: Check, row: Row, numbers: Numbers) -> float:
    return expressions.value(check.value, {**row.parameters, **numbers})


def _bounds(
    check: Check,
    row: Row,
    numbers: Sequence[Numbers],
    baselines: Mapping[str, Sequence[Numbers]],
    others: Mapping[str, Sequence[float]],
    seed: int,
) -> tuple[float | None, float | None]:
    """The bounds of a seed. A name that the row's own run has no number for has that of a baseline."""
    names: dict[str, float] = dict(row.parameters)
    for found in [*(of[seed] for of in baselines.values()), numbers[seed]]:
        names.update({name: number for name, number in found.items() if not math.isnan(number)})
    of_others = {name: values[seed] for name, values in others.items()}
    names.update({name.replace("@", "_"): value for name, value in of_others.items()})
    names[BEST] = _best(of_others, check.better)

    def bound(text: str | float | None) -> float | None:
        if text is None or not expressions.named(text) <= names.keys():
            return None
        number = expressions.value(text, names)
        return number if math.isfinite(number) else None

    return bound(check.low), bound(check.high)


def _best(values: Mapping[str, float], better: str) -> float:
    """The best of the baselines' values; NaN without one."""
    known = [value for value in values.values() if not math.isnan(value)]
    return (min if better == "smaller" else max)(known, default=math.nan)


def _is_within(value: float, low: float | None, high: float | None) -> bool:
    return not math.isnan(value) and (low is None or value >= low) and (high is None or value <= high)


def _grade(value: float, low: float | None, high: float | None) -> float:
    """1 within the bounds; value / low below them, and high / value above."""
    if _is_within(value, low, high):
        return 1.0
    if math.isnan(value):
        return 0.0
    if high is not None and value > high:
        return max(high, 0.0) / value
    return max(value / low, 0.0) if low else 0.0


def _mean(values: Sequence[float]) -> Interval:
    if all(map(math.isfinite, values)):
        return statistics.mean(values)
    return Interval(values[0] if len(values) == 1 else math.nan, math.nan, math.nan, len(values), "")
