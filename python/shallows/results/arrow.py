"""How the tables of a result become Arrow."""

from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.results.tables import TABLES, Names

if TYPE_CHECKING:
    from shallows.results.tables import Block, Column


def schema(name: str) -> Any:
    """The Arrow schema of a table, with `unit` and `definition` in the metadata of every column."""
    import pyarrow

    def field(column: str, of: "Column") -> Any:
        kind = pyarrow.dictionary(pyarrow.int32(), pyarrow.string()) if of.type == "name" else of.type
        return pyarrow.field(column, kind, metadata={"unit": of.unit, "definition": of.definition})

    return pyarrow.schema([field(column, of) for column, of in TABLES[name].items()])


def record_batch(name: str, block: "Block") -> Any:
    """Those rows of a table, in Arrow."""
    import pyarrow

    fields = schema(name)
    return pyarrow.record_batch([_array(block[field.name], field.type) for field in fields], schema=fields)


def _array(values: Any, kind: Any) -> Any:
    """A column in Arrow, from buffers: pyarrow.array would import pandas, which costs 60 MB."""
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
