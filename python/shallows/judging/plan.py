"""The runs of a judge: of each row, with the judged algorithm and each baseline, with each seed."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shallows.base.version import version
from shallows.judging import draws, family, scenarios, verdict
from shallows.judging.family import Family, Row
from shallows.judging.processes import Outcome
from shallows.judging.subject import Subject
from shallows.judging.verdict import Judged, Numbers
from shallows.judging.worker import LIMITS, Limits, Order
from shallows.results.address import LENGTH

SEEDS = (1, 2, 3)
QUICK_SEEDS = (1,)


@dataclass(frozen=True)
class Plan:
    """What is judged: an algorithm, rows of families, and seeds."""

    subject: Subject
    rows: tuple[tuple[Family, Row], ...]
    seeds: tuple[int, ...]
    limits: Limits = LIMITS

    @cached_property
    def orders(self) -> list[Order]:
        """Every run once, those of the judged algorithm first."""
        found: dict[str, Order] = {}
        for is_baseline in (False, True):
            for its_family, row in self.rows:
                for name in its_family.baselines if is_baseline else [self.subject.name]:
                    for seed in self.seeds:
                        found |= {one.run: one for one in self.runs(its_family, row, name, seed).values()}
        return list(found.values())

    def runs(self, its_family: Family, row: Row, cc: str, seed: int) -> dict[str, Order]:
        """The order of each run of a row that its numbers are read from."""
        used = dict.fromkeys(number.run for number in its_family.numbers.values())
        return {run: self._order(its_family, row, cc, seed, run) for run in used}

    def _order(self, its_family: Family, row: Row, cc: str, seed: int, run: str) -> Order:
        tables = family.replaced(its_family.tables(row, run), family.JUDGED, cc)
        tables["tables"].setdefault("name", slug(f"{its_family.name}-{row.name}"))
        numbers = {
            name: (number.measure, dict(number.arguments))
            for name, number in its_family.numbers.items()
            if number.run == run
        }
        is_class = self.subject.is_class and self.subject.name == cc and scenarios.has(tables, cc)
        digest = self.subject.digest if is_class else None
        return Order(address(tables, seed, numbers, digest), tables, seed, numbers, is_class, self.limits)

    def judged(self, outcomes: Mapping[str, Outcome]) -> list[Judged]:
        """The verdict of every row, given the outcomes of all orders."""
        return [self._judged(its_family, row, outcomes) for its_family, row in self.rows]

    def _judged(self, its_family: Family, row: Row, outcomes: Mapping[str, Outcome]) -> Judged:
        own = [self._outcomes(its_family, row, self.subject.name, seed, outcomes) for seed in self.seeds]
        for key, word in (("refused", verdict.NOT_APPLICABLE), ("failure", verdict.FAIL)):
            if notes := [one[key] for of_seed in own for one in of_seed.values() if key in one]:
                return verdict.without_numbers(its_family, row, self.seeds, word, notes[0])
        baselines: dict[str, list[Numbers]] = {}
        for name in its_family.baselines:
            found = [self._outcomes(its_family, row, name, seed, outcomes) for seed in self.seeds]
            if all("numbers" in one for of_seed in found for one in of_seed.values()):
                baselines[name] = [_numbers(of_seed.values()) for of_seed in found]
        hops = sum(one["packet_hops"] for of_seed in own for one in of_seed.values())
        numbers = [_numbers(of_seed.values()) for of_seed in own]
        return verdict.of_row(its_family, row, self.seeds, numbers, baselines, hops)

    def _outcomes(
        self, its_family: Family, row: Row, cc: str, seed: int, outcomes: Mapping[str, Outcome]
    ) -> dict[str, Outcome]:
        return {run: outcomes[one.run] for run, one in self.runs(its_family, row, cc, seed).items()}


def of(
    subject: Subject,
    families: Sequence[Family],
    *,
    quick: bool = False,
    held_out: int | None = None,
    seeds: Sequence[int] | None = None,
) -> Plan:
    """The plan of a judge: the rows of `families`, of which `quick` takes some and one seed.

    held_out: the seed of further rows with drawn parameters.
    """
    rows: list[tuple[Family, Row]] = []
    for one in families:
        rows += [(one, row) for row in one.rows if row.quick or not quick]
        if held_out is not None:
            rows += [(one, row) for row in draws.held_out(one, held_out, quick)]
    return Plan(subject, tuple(rows), tuple(seeds or (QUICK_SEEDS if quick else SEEDS)))


def address(tables: Any, seed: int, numbers: Any, digest: str | None) -> str:
    """A digest of all that decides an outcome: scenario, seed, numbers, code of a class, version."""
    text = json.dumps([version(), tables, seed, numbers, digest], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def slug(text: str) -> str:
    """A text as the name of a scenario and of a file."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-")[:80]


def _numbers(outcomes: Iterable[Outcome]) -> Numbers:
    """The numbers of all runs of a row."""
    return {name: number for one in outcomes for name, number in one["numbers"].items()}
