"""Conversion of tables to Arrow, with the extra `arrow`."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.base import extras
from shallows.results.tables import ALL_TABLES, Block, Column, Names

if TYPE_CHECKING:
    import pyarrow
    from pyarrow.dataset import Dataset


def schema(columns: Mapping[str, Column], metadata: Mapping[str, str] | None = None) -> "pyarrow.Schema":
    """The Arrow schema of a table, with `unit` and `definition` in the metadata of every column."""
    import pyarrow

    def field(column: str, column_type: Column) -> Any:
        kind = (
            pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
            if column_type.type == "name"
            else column_type.type
        )
        return pyarrow.field(
            column, kind, metadata={"unit": column_type.unit, "definition": column_type.definition}
        )

    return pyarrow.schema([field(column, column_type) for column, column_type in columns.items()], metadata)


def table(
    columns: Mapping[str, Column], values: Block, metadata: Mapping[str, str] | None = None
) -> "pyarrow.Table":
    """A table in Arrow. Raises `ScenarioError` without pyarrow."""
    extras.need("arrow", "an Arrow table")
    import pyarrow

    fields = schema(columns, metadata)
    return pyarrow.Table.from_arrays(
        [_array(values[field.name], field.type) for field in fields], schema=fields
    )


def read(path: Path, what: str) -> Block:
    """The columns of a Parquet file in any compression.

    Raises `ScenarioError`, which names the file as `what`, without pyarrow.
    """
    extras.need("arrow", what)
    parquet: Any = import_module("pyarrow.parquet")  # it has no type stubs
    found = parquet.read_table(path)
    return {name: _values(found.column(name)) for name in found.column_names}


def data_set(paths: list[str], name: str) -> "Dataset":
    """Files of a table of runs, each in a folder `run=…`, as a pyarrow data set; see `table`."""
    extras.need("arrow", "a data set")
    import pyarrow
    from pyarrow import dataset

    names = [column for column, column_type in ALL_TABLES[name].items() if column_type.type == "name"]
    return dataset.dataset(
        paths,
        schema=schema(ALL_TABLES[name]).append(pyarrow.field("run", pyarrow.string())),
        format=dataset.ParquetFileFormat(dictionary_columns=names),
        partitioning=dataset.partitioning(pyarrow.schema([("run", pyarrow.string())]), flavor="hive"),
    )


def _values(column: Any) -> Any:
    """A column of Arrow as the core reads it: NaN for a missing number, -1 for a missing name."""
    import pyarrow

    if not pyarrow.types.is_string(column.type):
        return column.to_numpy()
    coded = column.combine_chunks().dictionary_encode()
    return Names(coded.indices.fill_null(-1).to_numpy(), coded.dictionary.to_pylist())


def _array(values: Any, kind: Any) -> object:
    """A column in Arrow, from buffers: pyarrow.array would import pandas, which takes 60 MB."""
    import pyarrow

    if isinstance(values, Names):
        text = "".join(values.names).encode()
        ends = np.cumsum([0, *(len(name.encode()) for name in values.names)], dtype=np.int32)
        buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(text)]
        names = pyarrow.Array.from_buffers(pyarrow.string(), len(values.names), buffers)
        return pyarrow.DictionaryArray.from_arrays(_array(values.codes, pyarrow.int32()), names)
    known = None
    if values.dtype.kind == "f" and np.isnan(values).any():
        known = pyarrow.py_buffer(np.packbits(~np.isnan(values), bitorder="little"))
        values = np.nan_to_num(values)
    values = np.ascontiguousarray(values, kind.to_pandas_dtype())
    return pyarrow.Array.from_buffers(kind, len(values), [known, pyarrow.py_buffer(values)])
