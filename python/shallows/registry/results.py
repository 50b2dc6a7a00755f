"""Columns of the tables of a result, and numbers of its summary, each with unit and meaning.

`results/tables.py` has the columns with their types and units, `results/metrics.py` the numbers that describe
what was simulated; `data/results.toml` has what docs/results.md says of each. That page has marks,
`<!-- columns of flows -->` and `<!-- numbers of summary -->`, in the place of its tables.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from shallows.base import markdown
from shallows.results.metrics import METRICS
from shallows.results.tables import ALL_TABLES

FILE = Path(__file__).parents[1] / "data" / "results.toml"
SUMMARY = "summary"


@dataclass(frozen=True)
class Row:
    """Columns, or keys of the summary, that are explained together; unit is None for the summary."""

    table: str
    names: tuple[str, ...]
    unit: str | None
    meaning: str


@dataclass(frozen=True)
class RowTable:
    """A table of the page: the words of its head, and its rows."""

    head: tuple[str, ...]
    rows: tuple[Row, ...]

    def markdown(self) -> Iterable[str]:
        """The lines of the table."""
        names = (", ".join(f"`{name}`" for name in row.names) for row in self.rows)
        units = ([] if row.unit is None else [row.unit] for row in self.rows)
        cells = ([name, *unit, row.meaning] for name, unit, row in zip(names, units, self.rows, strict=True))
        return markdown.table(self.head, cells)


@cache
def tables() -> dict[str, RowTable]:
    """Every table of the page, by the name of the file of a result."""
    read = cast(dict[str, dict[str, Any]], tomllib.loads(FILE.read_text("utf-8")))
    return {name: _table(name, table) for name, table in read.items()}


def _table(name: str, table: dict[str, Any]) -> RowTable:
    """The rows of the file, and one of each column that has none there, behind the column before it."""
    usual = ["key", "meaning"] if name == SUMMARY else ["column", "unit", "definition"]
    rows = [_row(name, row) for row in table["rows"]]
    before: str | None = None
    for column in ALL_TABLES.get(name, ()):
        if not any(column in row.names for row in rows):
            place = next((at for at, row in enumerate(rows, 1) if before in row.names), 0)
            rows.insert(place, _row(name, {"keys": [column]}))
        before = column
    return RowTable(tuple(table.get("head", usual)), tuple(rows))


def _row(table: str, row: dict[str, Any]) -> Row:
    names: tuple[str, ...] = tuple(row["keys"])
    if table == SUMMARY:
        return Row(table, names, None, row["text"])
    column = ALL_TABLES[table][names[0]]
    text = row.get("text", column.definition + row.get("more", ""))
    return Row(table, names, row.get("unit", column.unit), text)


def find(name: str) -> list[tuple[str, Row]]:
    """(full name, row) of a column, a key of the summary or a number: `fct_us`, `flows.fct_us`.

    A number comes with the rows of the summary that speak of it. The name of a table has all its columns.
    """
    rows = [row for table in tables().values() for row in table.rows]
    found = [(f"{row.table}.{one}", row) for row in rows for one in row.names]
    numbers = [
        (f"{SUMMARY}.{one.key}", Row(SUMMARY, (one.key,), None, f"{one.title}: {_where(one.parts)}"))
        for one in METRICS
    ]
    named = ((full, row) for full, row in (*found, *numbers) if name in (full, full.partition(".")[2]))
    columns = ((full, row) for full, row in found if row.table == name)
    known = [*named, *columns]
    shown = {row.meaning for _, row in known}
    speak = [row for row in tables()[SUMMARY].rows if f"`{name}`" in row.meaning and row.meaning not in shown]
    return known + [(f"{SUMMARY}.{row.names[0]}", row) for row in speak if known]


PARTS = {
    "": "the summary itself",
    "bottleneck": "`bottleneck`",
    "network": "`network`",
    "flows": "`flows`",
    "traffic": "`traffic.N`",
    "size": "`size.CLASS`",
    "job": "`traffic.N` of a collective or tasks",
    "faults": "`faults.N`",
}
"""Parts of a summary that have a number, in words."""


def _where(parts: Iterable[str]) -> str:
    return "a number of " + ", ".join(PARTS[part] for part in parts)


MARK = re.compile(r"(?m)^<!-- (?:columns|numbers) of (\w+) -->$")


def expanded(page: str) -> str:
    """A page of the documentation with the tables of results in place of their marks."""
    return MARK.sub(lambda found: "\n".join(tables()[found[1]].markdown()), page)
