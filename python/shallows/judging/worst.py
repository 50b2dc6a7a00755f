"""The search for the worst row: drawn parameters, then steps around the worst, then the smallest scenario.

The distance of a row is that of its worst rule: the logarithm of how far the number is outside of a bound,
below 0 within. Draws come from a seed, and rows are judged in groups of a fixed size, so that the outcome
does not depend on how many run at a time.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shallows.judging import draws
from shallows.judging.family import Family, Row
from shallows.judging.plan import Plan
from shallows.judging.processes import Outcome
from shallows.judging.verdict import FAIL, Judged
from shallows.judging.worker import Order

GROUP = 4
"""Rows that are judged together, before the search looks at them."""
DRAWN = 0.5
"""The share of the budget for draws; the rest is for steps around the worst row."""
STEP = 0.25
"""The largest step of a parameter, as a share of its range in logarithms."""

FARTHEST = 10.0
"""The largest distance, e^10 times outside, and that of an algorithm that was stopped."""

Perform = Callable[[Sequence[Order]], dict[str, Outcome]]


@dataclass(frozen=True)
class Worst:
    """The worst row that a search found: as it was found, and as small as it still fails.

    rows: how many were judged. packet_hops: what all of them cost, baselines too.
    """

    found: Judged
    smallest: Judged
    distance: float
    rows: int
    packet_hops: int

    @property
    def fails(self) -> bool:
        """Whether the row breaks a rule; else it is the one that comes nearest to that."""
        return self.distance > 0


def distance(one: Judged) -> float:
    """How far the worst rule of a row is outside of its bounds; minus infinity for a row without numbers."""
    if one.verdict == FAIL and not one.checks:
        return FARTHEST
    rules = [check for check in one.checks if check.check.is_rule]
    return max((_outside(check.values[0], check.low, check.high) for check in rules), default=-math.inf)


def search(asked: Plan, seed: int, budget: int, perform: Perform) -> Worst | None:
    """The worst row of the families of a plan within `budget` packet-hops; None if no family has ranges.

    `seed` is that of the draws. The group that exceeds the budget is the last. Shrinking comes on top, some
    ten rows.
    """
    return _Search(asked, seed, perform).worst(budget)


class _Search:
    def __init__(self, asked: Plan, seed: int, perform: Perform) -> None:
        self._asked = replace(asked, seeds=asked.seeds[:1])
        self._random = np.random.default_rng([seed, 1])
        self._perform = perform
        self._counted: set[str] = set()
        self._rows, self._hops = 0, 0
        self._bases = [(family, row) for family, row in asked.rows if family.ranges and row in family.rows]
        self._base_of: dict[tuple[str, str], Row] = {}

    def worst(self, budget: int) -> Worst | None:
        if not self._bases:
            return None
        worst: Judged | None = None
        while worst is None or self._hops < DRAWN * budget:
            worst = self._worst_of(worst, [self._drawn() for _ in range(GROUP)])
        while self._hops < budget:
            worst = self._worst_of(worst, [self._near(worst) for _ in range(GROUP)])
        far = distance(worst)
        return Worst(worst, self._shrunk(worst) if far > 0 else worst, far, self._rows, self._hops)

    def _worst_of(self, worst: Judged | None, rows: list[tuple[Family, Row]]) -> Judged:
        judged = [*self._judged(rows), *([worst] if worst else [])]
        return max(judged, key=distance)

    def _judged(self, rows: Sequence[tuple[Family, Row]]) -> list[Judged]:
        asked = replace(self._asked, rows=tuple(rows))
        outcomes = self._perform(asked.orders)
        for address, outcome in outcomes.items():
            if address not in self._counted:
                self._counted.add(address)
                self._hops += outcome.get("packet_hops", 0)
        self._rows += len(rows)
        return asked.judged(outcomes)

    def _drawn(self) -> tuple[Family, Row]:
        family, base = self._bases[self._random.integers(len(self._bases))]
        values = {key: draws.uniform(self._random, pair) for key, pair in family.ranges.items()}
        return self._row(family, base, values)

    def _near(self, worst: Judged) -> tuple[Family, Row]:
        """A row near the worst one: every parameter moves by a random step within its range."""
        family, base = worst.family, self._base(worst)
        values: dict[str, float] = {}
        for key, (low, high) in family.ranges.items():
            step = STEP * math.log(high / low) * self._random.uniform(-1, 1)
            values[key] = min(max(worst.row.parameters[key] * math.exp(step), low), high)
        return self._row(family, base, values)

    def _row(self, family: Family, base: Row, values: Mapping[str, float]) -> tuple[Family, Row]:
        """A row with other values of the parameters with ranges, whose base is remembered."""
        row = draws.row_of(family, base, values)
        self._base_of[family.name, row.name] = base
        return family, row

    def _base(self, one: Judged) -> Row:
        return self._base_of[one.family.name, one.row.name]

    def _shrunk(self, worst: Judged) -> Judged:
        """The same failure with fewer parameters that differ from the family's, then with smaller counts."""
        family, base = worst.family, self._base(worst)
        for key in family.ranges:
            worst = self._if_it_fails(worst, {key: base.parameters[key]})
        for key in sorted(family.whole):
            smaller = True
            while smaller and worst.row.parameters[key] >= 2:
                tried = self._if_it_fails(worst, {key: worst.row.parameters[key] // 2})
                smaller, worst = tried is not worst, tried
        return worst

    def _if_it_fails(self, worst: Judged, values: Mapping[str, float]) -> Judged:
        """The row with other values, if it still breaks the same rule, else the row as it is."""
        if all(worst.row.parameters[key] == value for key, value in values.items()):
            return worst
        known = {key: worst.row.parameters[key] for key in worst.family.ranges}
        (tried,) = self._judged([self._row(worst.family, self._base(worst), {**known, **values})])
        return tried if distance(tried) > 0 and _broken(tried) & _broken(worst) else worst


def _broken(one: Judged) -> set[str]:
    """The names of the rules that a row breaks; that of none for an algorithm that was stopped."""
    if not one.checks:
        return {""}
    rules = [check for check in one.checks if check.check.is_rule]
    return {check.check.name for check in rules if _outside(check.values[0], check.low, check.high) > 0}


def _outside(value: float, low: float | None, high: float | None) -> float:
    """The logarithm of value / high or of low / value, whichever is larger; NaN counts as within."""
    if math.isnan(value):
        return -math.inf
    tiny = 1e-9
    above = math.log(max(value, tiny) / max(high, tiny)) if high is not None else -math.inf
    below = math.log(max(low, tiny) / max(value, tiny)) if low is not None and low > 0 else -math.inf
    return min(max(above, below), FARTHEST)
