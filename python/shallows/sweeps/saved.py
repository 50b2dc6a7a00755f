"""The table of a sweep on disk, a row per run: `table.parquet`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from shallows.errors import ScenarioError
from shallows.results import disk, shape, tables
from shallows.results.address import Address
from shallows.results.metrics import RUN_KEYS, is_metric
from shallows.results.tables import Column, Names

ABOUT = "sweep"
"""The key in the metadata of the file for the rest of the sweep, in JSON."""
SWEPT = "swept"
"""The key for the column of each swept key."""
JSON = "json"
"""The key for the list of columns with values in JSON, because no column type holds them."""


class About(TypedDict):
    """Facts about a sweep: what it ran, and with which version; `told` is its file."""

    name: str
    world: str
    version: str
    seeds: list[int]
    shard: list[int] | None
    interrupted: bool
    told: str
    set_aside: dict[str, str]


class Row(TypedDict):
    """The columns of every sweep in a row; its settings and metrics are further ones."""

    run: str
    cc: str
    seed: int
    failure: str | None
    fingerprint: str | None
    port: str | None
    more_than: dict[str, float]


def save(path: Path, rows: list[dict[str, object]], about: About, swept: Mapping[str, str]) -> None:
    """Write the table and the facts `about` the sweep. Raises `OSError` if it fails."""
    names = list(rows[0]) if rows else []
    values = {name: [row[name] for row in rows] for name in names}
    odd = [name for name in names if _kind(name, values[name]) is None]
    for name in odd:
        values[name] = [json.dumps(value) for value in values[name]]
    kinds = {name: _kind(name, values[name]) or "name" for name in names}
    columns = {name: Column(kind, "", "") for name, kind in kinds.items()}
    block = {name: _column(values[name], kind) for name, kind in kinds.items()}
    disk.write(
        path, columns, {ABOUT: json.dumps({**about, SWEPT: swept, JSON: odd})}, [block] if rows else []
    )


def load(path: Path) -> tuple[list[dict[str, object]], About, dict[str, str]]:
    """(rows, facts about the sweep, column of each swept key).

    Raises `ScenarioError` without a table, or if it is not one that a sweep wrote.
    """
    expected = "the folder of a sweep"
    if not path.is_file():
        raise ScenarioError("no table", file=path, expected=expected)
    metadata, _ = disk.header(path, expected)
    rows = tables.rows(disk.read(path, expected))
    try:
        facts = json.loads(metadata[ABOUT])
        for name in facts.pop(JSON, []):
            for row in rows:
                row[name] = json.loads(str(row[name]))
        swept = facts.pop(SWEPT)
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        raise ScenarioError("no table", file=path, expected=expected) from None
    try:
        _check(rows, facts, swept)
    except ScenarioError as error:
        raise shape.of_version(facts, error.in_file(path)) from None
    return rows, cast(About, facts), swept


def _check(rows: list[dict[str, object]], facts: object, swept: object) -> None:
    """Raise `ScenarioError` unless a sweep could have written this."""
    shape.check(facts, About)
    shape.check(swept, dict[str, str], SWEPT)
    for row in rows:
        shape.check(row, Row)
        for name in RUN_KEYS:
            shape.check(row.get(name), float | None, name)
        try:
            Address(row["run"])
        except ValueError as error:
            raise ScenarioError("run", row["run"], str(error)) from None
        for name in cast(dict[str, str], swept).values():
            if name not in row:
                raise ScenarioError(SWEPT, name, "a column of the table")


def _kind(name: str, values: list[object]) -> str | None:
    """The type of a column; None if no column type holds these values."""
    if is_metric(name):
        return "float64"
    types: set[type] = {type(value) for value in values}
    if types <= {str, type(None)}:
        return "name"
    if types == {bool}:
        return "bool"
    if types == {int} and all(isinstance(one, int) and -(2**63) <= one < 2**63 for one in values):
        return "int64"
    return "float64" if float in types and types <= {int, float} else None


def _column(values: list[object], kind: str) -> NDArray[np.generic] | Names:
    if kind != "name":
        return np.array(values, kind)
    names = list(dict.fromkeys(value for value in values if isinstance(value, str)))
    numbers = {name: number for number, name in enumerate(names)}
    return Names(
        np.array([-1 if value is None else numbers[str(value)] for value in values], np.int32), names
    )
