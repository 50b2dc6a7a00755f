"""Builders of scenario tables in Python, and their conversion to the tables of a scenario file.

`Builder` is the base class of `shallows.scenario.builders`. The aliases are the types that their keys accept.
"""

from collections.abc import Mapping, Sequence
from inspect import Parameter
from keyword import iskeyword
from os import PathLike, fspath
from typing import Any, ClassVar, Protocol, cast

import numpy as np

from shallows.algorithms import user_algorithms
from shallows.errors import ScenarioError
from shallows.units import RateQuantity, SizeQuantity, TimeQuantity, did_you_mean

TableLike = Mapping[str, object]
"""A table as in a scenario file."""


class Frame(Protocol):
    """A DataFrame, of pandas or polars."""

    @property
    def columns(self) -> object:
        """The names of its columns."""

    def __getitem__(self, key: object, /) -> object: ...


class Graph(Protocol):
    """A networkx graph: `rate` and `delay` on its edges, `kind` = "host" on its hosts."""

    @property
    def edges(self) -> object:
        """Pairs of nodes."""

    @property
    def nodes(self) -> object:
        """The nodes."""


Array = np.ndarray[Any, Any]
Time = str | TimeQuantity
Size = str | SizeQuantity
Rate = str | RateQuantity
Share = float | str
Host = int | str
Ends = Host | Sequence[Host] | Array
"""A host by number or name, several hosts, or "topology", the topology's own pairs."""
File = str | PathLike[str]
Points = Sequence[Sequence[float]] | Array | TableLike | Frame
"""(bytes, share) pairs of a distribution, or columns size_bytes and cum_prob, such as a DataFrame's."""
Sizes = File | SizeQuantity | Points
Columns = TableLike | Array | Frame
"""Columns start_s, src, dst, bytes: a dict, a DataFrame, or an array with a row a flow."""
Ports = str | Sequence[str]
FlowCount = int | str | Sequence[int]
Value = str | float | bool | TimeQuantity | SizeQuantity | RateQuantity


class Builder:
    """A table of a scenario in Python: the given keys. `Scenario` checks their values."""

    kind: ClassVar[str | None] = None

    known: ClassVar[Mapping[str, object]] = {}
    """Its keys as Python writes them, with their defaults; `Parameter.empty` for a required one."""

    def __init__(self, **given: object) -> None:
        name, known = type(self).__name__, self.known
        for key, value in given.items():
            if key not in known:
                expected = f"a known key ({', '.join(known)}){did_you_mean(key, known)}"
                raise ScenarioError(f"{name}.{key}", value, expected)
        for key, default in known.items():
            if default is Parameter.empty and key not in given:
                raise ScenarioError(f"{name}.{key}", None, "a value: this key has no default")
        self.keys: dict[str, object] = {
            key.rstrip("_"): literal(given[key])
            for key, default in known.items()
            if key in given and given[key] is not default
        }

    @property
    def table(self) -> dict[str, Any]:
        """The table as in a scenario file."""
        return {"kind": self.kind, **self.keys} if self.kind else dict(self.keys)

    def __repr__(self) -> str:
        keys = ((f"{key}_" if iskeyword(key) else key, value) for key, value in self.keys.items())
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in keys)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Builder) and type(other) is type(self) and other.keys == self.keys

    def __hash__(self) -> int:
        return hash(repr(self))


class CC(Builder):
    """An algorithm, or preset, with parameters: `CC("dctcp", g=0.05)`; `shallows cc NAME` lists them."""

    def __init__(
        self, name: str | type, *, receiver: "str | TableLike | None" = None, **parameters: Value
    ) -> None:
        named: dict[str, object] = {} if receiver is None else {"receiver": literal(receiver)}
        self.keys = {
            "name": literal(name),
            **named,
            **{key: literal(value) for key, value in parameters.items()},
        }


class Marking(Builder):
    """How switch ports mark: `Marking("step", threshold="35pkt")`; `shallows cc NAME` lists the keys."""

    def __init__(self, kind: str, *, at: str | None = None, **parameters: Value) -> None:
        place: dict[str, object] = {} if at is None else {"at": at}
        self.keys = {"kind": kind, **place, **{key: literal(value) for key, value in parameters.items()}}


Algorithm = str | CC | TableLike | type
AnyMarking = str | Marking | TableLike


def literal(value: object) -> Any:
    """`value` with every builder, quantity, path and array written as in a scenario file."""
    if isinstance(value, Builder):
        return value.table
    if isinstance(value, TimeQuantity | SizeQuantity | RateQuantity):
        return str(value)
    if isinstance(value, type):
        return user_algorithms.location_or_name(value)
    if isinstance(value, dict):
        return {key: literal(item) for key, item in cast(dict[str, object], value).items()}
    if isinstance(value, list | tuple):
        return [literal(item) for item in cast(Sequence[object], value)]
    return _foreign(value)


def _foreign(value: Any) -> object:
    """Values that no scenario file has: paths, arrays and numbers of numpy, DataFrames."""
    if hasattr(value, "__fspath__"):
        return f"{fspath(value)}"
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return _listed(np.asarray(value))
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        return {str(name): np.asarray(value[name]).tolist() for name in value.columns}
    return value


def _listed(array: Array) -> object:
    """A list of numbers, or of rows; columns by name where the array has names."""
    if array.dtype.names:
        return {name: array[name].tolist() for name in array.dtype.names}
    return array.tolist()
