"""Tables on disk: Parquet files that any reader reads, written and read without one.

What Parquet has no place for is in the metadata of the file: `columns`, JSON with unit and definition of
each, and `digest`, by which a file that has changed is found out.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallows.errors import ScenarioError
from shallows.results.tables import Block, Column, Names


def write(
    path: Path, columns: Mapping[str, Column], metadata: Mapping[str, str], blocks: Iterable[Block]
) -> None:
    """Write a table to `path`, a row group a block. Raises `OSError` where that fails."""
    from shallows import _core

    about = {name: {"unit": of.unit, "definition": of.definition} for name, of in columns.items()}
    _core.write_table(
        path,
        [(name, of.type) for name, of in columns.items()],
        [*metadata.items(), ("columns", json.dumps(about))],
        ([_plain(block[name], of.type) for name, of in columns.items()] for block in blocks),
    )


def header(path: Path, expected: str) -> tuple[dict[str, str], list[str]]:
    """The metadata of a file and the names of its columns.

    Raises `ScenarioError`, with what was `expected`, where there is none that can be read.
    """
    from shallows import _core

    try:
        return _core.read_header(path)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error, expected) from None


def read(path: Path, expected: str) -> Block:
    """The columns of a file, after a look at its digest. Raises `ScenarioError` as `header` does."""
    from shallows import _core

    try:
        columns = _core.read_table(path)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error, expected) from None
    return {name: Names(*values) if isinstance(values, tuple) else values for name, values in columns.items()}


def _plain(values: "NDArray[Any] | Names", kind: str) -> Any:
    """A column as the core takes it."""
    if isinstance(values, Names):
        return np.ascontiguousarray(values.codes, np.int32), values.names
    return np.ascontiguousarray(values, np.float64 if values.dtype.kind == "f" else kind)


def _unreadable(path: Path, error: Exception, expected: str) -> ScenarioError:
    said = error.strerror if isinstance(error, OSError) else str(error).splitlines()[0]
    return ScenarioError(said or "unreadable", file=path, expected=expected)
