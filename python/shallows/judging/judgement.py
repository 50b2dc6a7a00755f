"""What a judge found: rows with verdicts, a score, failures with their scenarios, and the files of these."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from shallows.base.version import version
from shallows.judging import verdict
from shallows.judging.plan import Plan, slug
from shallows.judging.verdict import Judged
from shallows.judging.worst import Worst
from shallows.results import files

KIND = files.Kind("the numbers of a judge", (b'{"kind": "judgement"',), (".json",))


@dataclass(frozen=True)
class Failure:
    """A row that failed: its scenario as TOML, and `why`'s account of the flow that suffers."""

    row: Judged
    scenario: str
    account: str

    @property
    def file(self) -> str:
        """The name of the file of its scenario."""
        return f"{slug(f'{self.row.family.name}-{self.row.row.name}')}.toml"


@dataclass(frozen=True)
class Judgement:
    """The page of an algorithm as data. `folder` has its files."""

    plan: Plan
    rows: tuple[Judged, ...]
    failures: tuple[Failure, ...]
    held_out: int | None
    quick: bool
    folder: Path
    worst: Worst | None = None

    def __repr__(self) -> str:
        counts = ", ".join(f"{number} {word}" for word, number in self.counts.items() if number)
        return f"<Judgement of {self.plan.subject.label}: {counts}; score {self.score:.3f}>"

    @property
    def counts(self) -> dict[str, int]:
        """Rows by verdict."""
        found = [one.verdict for one in self.rows]
        return {word: found.count(word) for word in verdict.VERDICTS}

    @cached_property
    def grades(self) -> dict[str, float]:
        """The grade of each family: the mean over its rows that apply and have a rule."""
        grades: dict[str, list[float]] = {}
        for one in self.rows:
            if one.verdict not in (verdict.NOT_APPLICABLE, verdict.REPORTED):
                grades.setdefault(one.family.name, []).append(one.grade)
        return {name: sum(found) / len(found) for name, found in grades.items()}

    @property
    def score(self) -> float:
        """The mean of the families' grades, from 0 to 1; 0 if no row applies.

        The grade of a row is the least of its rules: 1 within the bounds, value / low below them and high /
        value above, the mean over seeds. Families count alike, however many rows they have.
        """
        return sum(self.grades.values()) / len(self.grades) if self.grades else 0.0

    @property
    def broken_musts(self) -> list[Judged]:
        """The rows of mandatory families that failed."""
        return [one for one in self.rows if one.family.must and one.verdict == verdict.FAIL]

    @property
    def packet_hops(self) -> dict[str, int]:
        """Packet-hops of the judged algorithm by family, all seeds together."""
        found: dict[str, int] = {}
        for one in self.rows:
            found[one.family.name] = found.get(one.family.name, 0) + one.packet_hops
        return found

    def data(self) -> dict[str, Any]:
        """The judgement as plain data for programs; numbers that do not exist are None."""
        return {
            "algorithm": self.plan.subject.label,
            "digest": self.plan.subject.digest,
            "version": version(),
            "seeds": list(self.plan.seeds),
            "held_out": self.held_out,
            "quick": self.quick,
            "score": self.score,
            "grades": self.grades,
            "packet_hops": self.packet_hops,
            "rows": [_row(one) for one in self.rows],
            "worst": _worst(self.worst),
            "failures": [
                {"family": one.row.family.name, "row": one.row.row.name, "file": one.file, "why": one.account}
                for one in self.failures
            ],
        }

    def save(self) -> None:
        """Write the numbers, the scenarios of failures and the page into the folder."""
        from shallows.judging import page

        self.folder.joinpath("failures").mkdir(parents=True, exist_ok=True)
        current = {one.file for one in self.failures}
        for old in self.folder.joinpath("failures").glob("*.toml"):
            if old.name not in current and files.is_ours(old, files.SCENARIO):
                old.unlink()
        for one in self.failures:
            text = f"{files.SAVED_BY_JUDGE}\n{one.scenario}"
            files.write_text(self.folder / "failures" / one.file, text, files.SCENARIO)
        text = json.dumps({"kind": "judgement"} | self.data(), allow_nan=False) + "\n"
        files.write_text(self.folder / "judge.json", text, KIND)
        files.write_text(self.folder / "judge.html", page.of(self))


def _worst(one: Worst | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "fails": one.fails,
        "distance": _finite(one.distance),
        "rows": one.rows,
        "packet_hops": one.packet_hops,
        "found": _row(one.found),
        "smallest": _row(one.smallest),
    }


def _row(one: Judged) -> dict[str, Any]:
    return {
        "family": one.family.name,
        "row": one.row.name,
        "must": one.family.must,
        "criterion": one.family.criterion,
        "verdict": one.verdict,
        "note": one.note,
        "packet_hops": one.packet_hops,
        "checks": [
            {
                "name": check.check.name,
                "unit": check.check.unit,
                "verdict": check.verdict,
                "values": list(map(_finite, check.values)),
                "low": check.low,
                "high": check.high,
                "grade": check.grade,
                "baselines": {name: list(map(_finite, values)) for name, values in check.baselines.items()},
                "differences": {
                    name: {
                        "mean": _finite(found.mean),
                        "low": _finite(found.low),
                        "high": _finite(found.high),
                    }
                    for name, found in check.differences.items()
                },
                "worse": check.is_worse,
            }
            for check in one.checks
        ],
    }


def _finite(number: float) -> float | None:
    return number if number - number == 0 else None
