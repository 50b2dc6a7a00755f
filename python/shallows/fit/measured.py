"""Reads tables of measured times: logs of nccl-tests, perftest (`ib_write_lat`, `ib_write_bw`) and CSV.

The line before the first row names the columns, behind `#` or not, separated by blanks or commas. One is the
size in bytes (`size`, `#bytes`, `bytes`, `message`), one the time: `time` (us, as nccl-tests has it),
`t_avg[usec]`, `t_typical[usec]`, or `time_us`, `latency_us` and the like with another unit. Of several the
first counts, and the others are named, as are lines after it that are neither rows, comments nor rules. A
table of bandwidths has `BW average[Gb/sec]` or `[MB/sec]` in place of a time.

A further line of names begins a further table. The name of its test is the last one before it, in a command
or a title. Prefixes of lines by mpirun, srun and torchrun are removed; each rank has tables of its own.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from shallows.base import texts
from shallows.core.contract import F64
from shallows.errors import ScenarioError

SIZES = ("size", "bytes", "message", "size_bytes", "message_bytes")
UNITS = {"ns": 1e-3, "us": 1.0, "usec": 1.0, "ms": 1e3, "s": 1e6, "sec": 1e6}
"""Microseconds of each unit."""
RATES = {"Gb": 1e3 / 8, "MB": 2**20 / 1e6, "MiB": 2**20 / 1e6}
"""Bytes in a microsecond of each unit of bandwidth. perftest counts 2^20 B under both MB and MiB."""
TESTS = {
    "all_reduce_perf": "all-reduce",
    "all_gather_perf": "all-gather",
    "reduce_scatter_perf": "reduce-scatter",
    "broadcast_perf": "broadcast",
    "alltoall_perf": "all-to-all",
}
"""Tests of nccl-tests, and the kind of traffic that each measures."""
OTHERS = ("reduce_perf", "gather_perf", "scatter_perf", "hypercube_perf")
"""Tests of collectives that no kind of traffic is."""
_TIME = re.compile(r"(?:t_typical|t_avg|time|latency|t)(?:[_\[(]+(ns|usec|us|ms|sec|s)[\])]?)?")
_BANDWIDTH = re.compile(r"BW_average\[(Gb|MB|MiB)/sec\]")
_ROW = re.compile(r"\s*[0-9]")
_ASIDE = re.compile(r"\s*(#|[-=_*]*\s*$)")
"""A comment, a rule or a blank line."""
_PREFIX = re.compile(r"\s*(?:(\[[^\]\s]*\](?:<std(?:out|err)>)?:|\d+:(?=\s)) ?)")
"""`[1,0]<stdout>:` of mpirun, `[rank0]:` of torchrun, `0: ` of srun."""
_TEST = re.compile(
    r"\b([a-z_]+_perf)(?:_mpi)?\b|\b(ib_[a-z]+_(?:bw|lat))\b|RDMA_\w+ (?:Bidirectional )?(?:BW|Latency) Test"
)
_ENDED = re.compile(r"concluded|finished|completed|done\b", re.IGNORECASE)
"""Words of a line that names the test of the table before it."""
MOST_NAMED = 5


@dataclass
class Measured:
    """A table. `test` names what was measured, None if nothing does; `line` is that of its first row.

    sizes are in bytes, times in us, from the smallest size on. throughput: a time is the size over the
    bandwidth of overlapping messages. left: sentences on what is left out. bus: busbw over algbw.
    """

    test: str | None
    line: int
    throughput: bool = False
    reduces: bool | None = None
    rooted: bool | None = None
    bus: float | None = None
    left: list[str] = field(default_factory=lambda: list[str]())
    rows: list[tuple[float, float]] = field(default_factory=lambda: list[tuple[float, float]]())

    @property
    def sizes(self) -> F64:
        """Bytes."""
        return np.array(sorted(self.rows))[:, 0]

    @property
    def times(self) -> F64:
        """Microseconds."""
        return np.array(sorted(self.rows))[:, 1]

    @property
    def name(self) -> str:
        """As the table is named in messages."""
        return f"{self.test or 'a table without the name of a test'} (line {self.line})"

    def measures(self, kind: str, is_collective: bool) -> bool:
        """Whether this can be a table of traffic of `kind`."""
        if self.test and self.test not in TESTS:  # perftest, or sendrecv_perf
            return not is_collective and self.test not in OTHERS
        if not is_collective:
            return not self.test and not self.reduces and not self.rooted
        if self.throughput:
            return False
        return kind in self.likely

    @property
    def likely(self) -> list[str]:
        """The kinds that `test` or the columns allow. They tell some kinds apart."""
        if self.test:
            return [TESTS[self.test]] if self.test in TESTS else []
        facts = {
            "all-reduce": (True, False, 0.98, 2.0),
            "reduce-scatter": (True, False, 0.0, 1.02),
            "all-gather": (False, False, 0.0, 1.02),
            "all-to-all": (False, False, 0.0, 1.02),
            "broadcast": (False, True, 0.98, 1.02),
        }
        return [
            kind
            for kind, (reduces, rooted, least, most) in facts.items()
            if self.reduces in (None, reduces)
            and self.rooted in (None, rooted)
            and (self.bus is None or least <= self.bus <= most)
        ]


def read(path: Path) -> list[Measured]:
    """The tables of a file. Raises `ScenarioError` with the line."""
    try:
        lines = texts.read(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(None, None, f"a readable table ({texts.why(error)})", file=path) from None
    tables = [
        table for rank in _by_rank(lines).values() for table in _Reader(path, rank).tables if table.rows
    ]
    if not tables:
        expected = "rows of a size and a time, with the names of the columns before them"
        raise ScenarioError(None, None, expected, file=path)
    if len(tables) == 1 and tables[0].test is None and (match := _TEST.search(path.name)):
        tables[0].test = match[0]
    return tables


def _by_rank(lines: list[str]) -> dict[str, list[tuple[int, str]]]:
    """Numbered lines of each rank, without its prefix."""
    found: dict[str, list[tuple[int, str]]] = {}
    for number, line in enumerate(lines, 1):
        prefix = _PREFIX.match(line)
        rest = line[prefix.end() :] if prefix else line
        found.setdefault(prefix[1] if prefix else "", []).append((number, rest))
    named = found.get("", [])
    for rank, mine in found.items():  # the command is printed by no rank
        if rank:
            found[rank] = [line for line in named if line[0] < mine[0][0] and _TEST.search(line[1])] + mine
    return found


class _Reader:
    """Reads the lines of one rank."""

    def __init__(self, path: Path, lines: Iterable[tuple[int, str]]) -> None:
        self.path = path
        self.tables: list[Measured] = []
        self.test: str | None = None
        self.header: list[str] = []
        self.places: tuple[int, int, float] | None = None
        self.others: list[int] = []
        for number, line in lines:
            self._line(number, line)
        self._end()

    def _line(self, number: int, line: str) -> None:
        words = re.sub(r"\bBW (?=peak|average)", "BW_", line.replace("#", " ", 1)).replace(",", " ").split()
        if _ROW.match(line):
            if self.places is None:
                self._begin(number, line)
            self._row(number, words)
        elif any(word.lower() in SIZES for word in words):
            self._end()
            self.header = words
        else:
            if (test := _TEST.search(line)) and not _ENDED.search(line):
                if self.places:
                    self._end()
                self.test = test[1] or test[0]
                if "Bidirectional" in test[0]:
                    expected = "the bandwidth of one direction; this is the sum of both"
                    raise ScenarioError(f"line {number}", line.strip(), expected, file=self.path)
            if self.header and not _ASIDE.match(line):
                self.others.append(number)

    def _begin(self, number: int, line: str) -> None:
        """Find the places of size and time, and the us of its unit."""
        table = Measured(self.test, number)
        lower = [word.lower() for word in self.header]
        sizes = [at for at, word in enumerate(lower) if word in SIZES]
        times = [
            (at, UNITS[found[1] or "us"]) for at, word in enumerate(lower) if (found := _TIME.fullmatch(word))
        ]
        rates = [
            (at, RATES[found[1]])
            for at, word in enumerate(self.header)
            if (found := _BANDWIDTH.fullmatch(word))
        ]
        if not sizes or not (times or rates):
            expected = (
                f"names of columns before it: one of {', '.join(SIZES)}, "
                "and time, t_avg[usec], time_us or BW average[Gb/sec]"
            )
            raise ScenarioError(f"line {number}", None, expected, file=self.path)
        table.throughput = not times
        at, unit = (times or rates)[0]
        self.places = sizes[0], at, unit
        used = {self.header[sizes[0]], self.header[at]}
        others = [word for word in self.header if word not in used]
        if others:
            table.left.append(f"columns {', '.join(dict.fromkeys(others)).replace('BW_', 'BW ')}")
        self.tables.append(table)

    def _row(self, number: int, words: list[str]) -> None:
        size, at, unit = self.places or (0, 0, 1.0)
        table = self.tables[-1]
        try:
            found = float(words[size]), float(words[at])
            found = found[0], found[0] / (found[1] * unit) if table.throughput else found[1] * unit
        except (IndexError, ValueError, ZeroDivisionError):
            found = 0.0, 0.0
        if not (found[0] >= 1 and found[0] == int(found[0]) and 0 < found[1] < float("inf")):
            expected = (
                "a whole number of bytes from 1, and a time above 0, in the columns that the header names"
            )
            raise ScenarioError(f"line {number}", " ".join(words), expected, file=self.path)
        table.rows.append(found)
        by_name = dict(zip(reversed(self.header), reversed(words[: len(self.header)]), strict=False))
        if "redop" in by_name and "root" in by_name:
            table.reduces, table.rooted = by_name["redop"] != "none", by_name["root"] != "-1"
        if table.test is None and _number(by_name.get("algbw")) >= 1:
            table.bus = _number(by_name.get("busbw")) / _number(by_name.get("algbw"))

    def _end(self) -> None:
        if self.others and self.tables and self.places:
            more = f" and {len(self.others) - MOST_NAMED} others" if len(self.others) > MOST_NAMED else ""
            named = ", ".join(map(str, self.others[:MOST_NAMED]))
            self.tables[-1].left.append(
                f"line{'s' * (len(self.others) > 1)} {named}{more}: no row of numbers"
            )
        if self.places:
            self.test = None
        self.places, self.header, self.others = None, [], []


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0
