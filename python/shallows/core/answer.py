"""Answers of the core: empty tables, and an answer from JSON."""

from collections.abc import Mapping
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

from shallows.core.contract import Answer

Table = TypeVar("Table")


def zeros(table: type[Table], rows: int) -> Table:
    """A table of columns of `rows` zeros."""
    return cast(Table, {key: np.zeros(rows, _element(kind)) for key, kind in get_type_hints(table).items()})


def from_json(answer: Mapping[str, object]) -> Answer:
    """The answer of `shallows-live`, its lists as numpy arrays."""
    return _typed(answer, Answer)


def _typed(value: Any, kind: Any) -> Any:
    if is_typeddict(kind):
        return {key: _typed(value[key], inner) for key, inner in get_type_hints(kind).items()}
    if get_origin(kind) is np.ndarray:
        return np.array(value, _element(kind))
    if get_origin(kind) is list:
        (inner,) = get_args(kind)
        return [_typed(item, inner) for item in value]
    return value


def _element(kind: object) -> Any:
    """The type of the entries of a column."""
    (element,) = get_args(get_args(kind)[1])
    return element
