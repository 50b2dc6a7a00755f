"""Tables on disk as Parquet files, without a library for it.

The metadata of a file hold what Parquet cannot express: `columns`, JSON with unit and definition of each, and
`digest`, which reveals a changed file.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shallows.errors import ScenarioError
from shallows.results import arrow
from shallows.results.tables import Block, Column, Names


def write(
    path: Path, columns: Mapping[str, Column], metadata: Mapping[str, str], blocks: Iterable[Block]
) -> None:
    """Write a table to `path`, a row group per block. Raises `OSError` if it fails."""
    from shallows import _core

    about = {name: {"unit": column.unit, "definition": column.definition} for name, column in columns.items()}
    _core.write_table(
        path,
        [(name, column.type) for name, column in columns.items()],
        [*metadata.items(), ("columns", json.dumps(about))],
        ([_plain(block[name], column.type) for name, column in columns.items()] for block in blocks),
    )


def header(path: Path, expected: str) -> tuple[dict[str, str], list[str]]:
    """The metadata of a file and the names of its columns.

    Raises `ScenarioError` with `expected` if it cannot be read, or if a byte of it has changed.
    """
    from shallows import _core

    try:
        return _core.read_header(path)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error, expected) from None


def read(path: Path, expected: str) -> Block:
    """The columns of a file, whose digest is checked. Raises `ScenarioError` like `header`."""
    from shallows import _core

    try:
        columns = _core.read_table(path)
    except NotImplementedError as error:
        return arrow.read(path, str(error))
    except (OSError, ValueError, MemoryError) as error:
        raise _unreadable(path, error, expected) from None
    return {name: Names(*values) if isinstance(values, tuple) else values for name, values in columns.items()}


def _plain(
    values: "NDArray[np.generic] | Names", kind: str
) -> NDArray[np.generic] | tuple[NDArray[np.int32], list[str]]:
    """A column in the core's format."""
    if isinstance(values, Names):
        return np.ascontiguousarray(values.codes, np.int32), values.names
    return np.ascontiguousarray(values, np.float64 if values.dtype.kind == "f" else kind)


def _unreadable(path: Path, error: Exception, expected: str) -> ScenarioError:
    reason = error.strerror if isinstance(error, OSError) else str(error).splitlines()[0]
    return ScenarioError(reason or "unreadable", file=path, expected=expected)
