"""Flows in the columns of a CSV or Parquet file, in any order and under their common names."""

import csv
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from shallows.base import extras, limits, texts
from shallows.errors import ScenarioError
from shallows.importers.content import UNITS, Parts, Task, Work
from shallows.importers.source import Source, Word

NAMES = {
    "src": ("src", "source", "from", "sender", "src_host"),
    "dst": ("dst", "destination", "to", "receiver", "dst_host", "target"),
    "bytes": ("bytes", "size", "size_bytes", "flow_size", "length"),
    "id": ("id", "flow_id", "flow"),
    "after": ("after", "depends_on"),
    "behind": ("behind",),
    "needs": ("needs",),
}
"""The names of columns that mean the same, in lower case."""
TIMES = ("start", "start_time", "arrival", "time")
"""Names of the column of start times, alone or with a unit such as `_us`."""


def read(path: Path, time_unit: str | None) -> Parts:
    """The flows of a .csv or .parquet file. Raises `ScenarioError` with the line, or row, and the column."""
    header, rows = _parquet(path) if path.suffix.lower() == ".parquet" else _csv(path)
    return _Reader(
        Source(path) if path.suffix.lower() != ".parquet" else _Rows(path), header, time_unit
    ).read(rows)


class _Rows(Source):
    """A file without text, whose words have rows for lines."""

    def __init__(self, path: Path) -> None:
        self.path, self.lines = path, []

    def refuse(self, word: Word | None, key: str | None, expected: str) -> NoReturn:
        """Raise `ScenarioError` for a value of a row."""
        row = f"row {word.line}" if word else "the columns"
        raise ScenarioError(key, word.text if word else None, expected, file=f"{self.path}, {row}")


def _csv(path: Path) -> tuple[list[Word], list[list[Word]]]:
    source = Source(path)
    kept = [
        (at, line) for at, line in enumerate(source.lines, 1) if line.strip() and not line.startswith("#")
    ]
    rows: list[list[Word]] = []
    for at, line in kept:
        try:
            cells = next(csv.reader([line]))
        except csv.Error as error:
            source.refuse(Word("", at, 1), None, f"a line of CSV ({error})")
        words, column = list[Word](), 0
        for cell in cells:
            column = max(line.find(cell, column), column)
            words.append(Word(cell.strip(), at, column + 1))
            column += len(cell)
        rows.append(words)
    if not rows:
        source.refuse(None, None, "a first line with the names of columns")
    for row in rows[1:]:
        if len(row) != len(rows[0]):
            source.refuse(row[0], "line", f"{len(rows[0])} columns, as in the first line, not {len(row)}")
    return rows[0], rows[1:]


def _parquet(path: Path) -> tuple[list[Word], list[list[Word]]]:
    extras.need("arrow", str(path))
    parquet: object = import_module("pyarrow.parquet")  # it has no type stubs
    try:
        rows = parquet.read_metadata(path).num_rows
        if rows > limits.FLOWS.most:
            raise ScenarioError(f"{rows} rows", None, f"at most {limits.FLOWS.most}", file=path)
        table = parquet.read_table(path)
        header = [Word(name, 0, at) for at, name in enumerate(table.column_names, 1)]
        columns = [column.to_pylist() for column in table.columns]
    except ScenarioError:
        raise
    except Exception as error:  # every kind of broken file has its own exception
        raise ScenarioError(None, None, f"a Parquet file ({texts.why(error)})", file=path) from None
    cells = [
        [Word("" if cell is None else str(cell), at, place) for place, cell in enumerate(row, 1)]
        for at, row in enumerate(zip(*columns, strict=True), 1)
    ]
    return header, cells


class _Reader:
    def __init__(self, source: Source, header: list[Word], time_unit: str | None) -> None:
        self.source, self.header = source, header
        self.places: dict[str, int] = {}
        self.unit = time_unit
        self.ignored: list[str] = []
        for place, word in enumerate(header):
            self._place(place, word, time_unit)
        missing = [
            f"{key} ({', '.join(NAMES[key])})" for key in ("src", "dst", "bytes") if key not in self.places
        ]
        if missing:
            source.refuse(header[0] if header and header[0].line else None, "columns", " and ".join(missing))
        if "start" in self.places and self.unit is None:
            word = header[self.places["start"]]
            source.refuse(word, "column", f"a unit in its name, such as {word.text}_us, or --time-unit")

    def _place(self, place: int, word: Word, time_unit: str | None) -> None:
        name = word.text.lower()
        key = next((key for key, names in NAMES.items() if name in names), None)
        for time in TIMES:
            unit = name.removeprefix(f"{time}_")
            if name == time or (unit != name and unit in UNITS):
                key, self.unit = "start", time_unit if name == time else unit
        if key is None:
            self.ignored.append(word.text)
        elif key in self.places:
            self.source.refuse(
                word, "column", f"one column of {key}: {self.header[self.places[key]].text} is there"
            )
        else:
            self.places[key] = place

    def read(self, rows: list[list[Word]]) -> Parts:
        if not rows:
            self.source.refuse(None, None, "one flow or more")
        tasks = [self._task(row, at) for at, row in enumerate(rows)]
        parts = Parts(Work(self.source.path.stem, self.source, tasks))
        if "start" not in self.places:
            parts.assumed.append("flows without a column of start times start at 0")
        if self.ignored:
            parts.left_out.append(f"columns {', '.join(self.ignored)}")
        return parts

    def _task(self, row: list[Word], at: int) -> Task:
        def of(key: str) -> Word | None:
            return row[self.places[key]] if key in self.places else None

        ends = [self._host(row[self.places[key]]) for key in ("src", "dst")]
        if ends[0] == ends[1]:
            self.source.refuse(row[self.places["dst"]], "dst", "two different hosts")
        start, name, after, behind = (of(key) for key in ("start", "id", "after", "behind"))
        needs = of("needs")
        unit = self.unit or "s"
        return Task(
            name.text if name else str(at),
            *ends,
            bytes=self.source.whole(row[self.places["bytes"]], "bytes", 1),
            delay_ps=self.source.time(start, "start", UNITS[unit], unit) if start else 0,
            after=after.text.split() if after else [],
            behind=behind.text.split() if behind else [],
            needs=self.source.whole(needs, "needs", 0, 2**32 - 1) if needs and needs.text else 0,
            word=row[0],
        )

    def _host(self, word: Word) -> int:
        """A host by number, or by a name such as h12, which means its number."""
        number = Word(word.text.removeprefix("h"), word.line, word.column)
        return self.source.whole(number, "host", 0, 2**31 - 1)
