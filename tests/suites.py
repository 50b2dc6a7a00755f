"""Suites: which target runs a test, by its mark or by the processor time that it takes.

A test with a mark of `MARKED` runs where the mark says. Of the others, the cheapest that take `FAST_S` in
all are the suite of `make test`, the next `THOROUGH_S` that of `make thorough`, and the dearest are nightly.
processor_times.txt has the time and the suite of each test that is not fast, and a sum for the fast ones of
each file, so that a suite has the same tests on every machine. `make suites` measures all and divides them
anew; with names of files it measures those and leaves the suites of other tests.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

TIMES = Path(__file__).with_name("processor_times.txt")
HEAD = "# Seconds of processor time, suite and test, written by `make suites`. No edits by hand.\n"
FAST_S, THOROUGH_S = 180.0, 200.0
"""Seconds of processor time of the tests of a suite, without a mark: oracles and cases take 80 more."""
DEAR_S = 0.35
"""A test that takes more is thorough, until all tests are measured."""
MOST_WITHOUT_ROW_S = 10.0
"""A test without a row fails a session if it takes more: 30 times `DEAR_S`, since machines differ."""
STEADY = 1.5
"""A row stays while a new measurement is within this factor of it."""
FAST = "fast"
MARKED = ("fast", "kernel", "nightly", "paper", "repository", "thorough", "types")
"""Marks that name the suite of a test, whatever it takes."""
BY_FILE = ("kernel", "paper", "repository", "types")
"""Marks that stand in the file of their tests, so that a target for them imports no other files."""


class Row(NamedTuple):
    """The seconds of a test, or of the fast tests of a file, and its suite."""

    seconds: float
    suite: str = FAST


def on_file() -> dict[str, Row]:
    """The rows by test or file."""
    rows = (line.split(" ", 2) for line in TIMES.read_text().splitlines() if not line.startswith("#"))
    return {name: Row(float(seconds), suite) for seconds, suite, name in rows}


def write(rows: dict[str, Row]) -> None:
    """Write the rows, in the order of the tests."""
    lines = (f"{row.seconds:.2f} {row.suite} {name}\n" for name, row in sorted(rows.items()))
    TIMES.write_text(HEAD + "".join(lines))


def file_of(name: str) -> str:
    """The file of a test."""
    return name.partition("::")[0]


def without_test(rows: Collection[str], collected: Collection[str]) -> list[str]:
    """The rows whose file does not exist, or was collected without their test.

    A file that is not collected, as one that a missing library skips, says nothing.
    """
    files = set(map(file_of, collected))
    return [
        name
        for name in sorted(set(rows) - set(collected))
        if ("::" in name and file_of(name) in files) or not (TIMES.parents[1] / file_of(name)).exists()
    ]


def remedy(test: str) -> str:
    """What to do about a test that has no row, or a row that has no test."""
    return f"`make suites SUITES={file_of(test)}` measures the tests of the file"


def divided(measured: dict[str, float], kept: dict[str, Row]) -> dict[str, Row]:
    """The rows after a measurement of all tests of all files."""
    sum_s, suites = 0.0, dict[str, Row]()
    steady = {test: _steady(seconds, kept.get(test)) for test, seconds in measured.items()}
    for test, seconds in sorted(steady.items(), key=lambda one: (one[1], one[0])):
        sum_s += seconds
        suite = FAST if sum_s <= FAST_S else "thorough" if sum_s <= FAST_S + THOROUGH_S else "nightly"
        suites[test] = Row(seconds, suite)
    return _rows(suites)


def renewed(measured: dict[str, float], kept: dict[str, Row]) -> dict[str, Row]:
    """The rows after a measurement of all tests of some files; a test stays in its suite while it is dear."""
    tests = dict[str, Row]()
    for test, seconds in measured.items():
        steady = _steady(seconds, kept.get(test))
        suite = kept[test].suite if test in kept else "thorough"
        tests[test] = Row(steady, suite if steady >= DEAR_S / (STEADY if test in kept else 1) else FAST)
    files = set(map(file_of, measured))
    left = kept.keys() - set(without_test(kept, measured))
    return {name: kept[name] for name in left if file_of(name) not in files} | _rows(tests)


def _steady(seconds: float, before: Row | None) -> float:
    if before and before.seconds / STEADY <= seconds <= before.seconds * STEADY:
        return before.seconds
    return seconds


def _rows(tests: dict[str, Row]) -> dict[str, Row]:
    """The rows of tests, with those that are fast as the sum of their file."""
    rows = dict[str, Row]()
    for test, row in tests.items():
        if row.suite == FAST:
            before = rows.get(file_of(test), Row(0.0))
            rows[file_of(test)] = Row(before.seconds + row.seconds)
        else:
            rows[test] = row
    return rows


@dataclass
class Measurement:
    """The processor time of the tests of a session, with their shares of the fixtures of modules."""

    own: dict[str, float] = field(default_factory=dict)
    """By test, without the fixtures that several tests have."""
    shared: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """By fixture, as `users` has it: whichever test asked for it first made it."""
    users: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The tests of each fixture."""

    def note(self, test: str, own: float, shared: dict[str, float], uses: list[str]) -> None:
        """Add what a test took, and what the fixtures took that were made for it."""
        self.own[test] = own
        for name, seconds in shared.items():
            self.shared[name] += seconds
        for name in (*uses, *shared):
            self.users[name].add(test)

    def times(self) -> dict[str, float]:
        """The seconds of each test."""
        times = dict(self.own)
        for name, seconds in self.shared.items():
            for test in self.users[name]:
                times[test] += seconds / len(self.users[name])
        return times
