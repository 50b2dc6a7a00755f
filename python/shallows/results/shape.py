"""Checks that data of a file, which anybody may have written, have the types that a `TypedDict` states."""

import math
from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from shallows.base.toml import is_list, is_table
from shallows.base.version import version
from shallows.errors import ScenarioError

MOST = 1e30
"""The largest number of a file: above any count, time or rate, and no conversion of units overflows."""
WORDS = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}


def check(value: object, kind: Any, key: str = "") -> None:
    """Raise `ScenarioError` with `key` unless `value` has the type `kind`.

    `Any` allows everything.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return
    if origin is NotRequired:
        check(value, inner[0], key)
    elif origin in (Union, UnionType):
        if value is not None:
            check(value, next(one for one in inner if one is not NoneType), key)
    elif origin is Literal:
        _need(value in inner, key, value, " or ".join(f'"{one}"' for one in inner))
    elif is_typeddict(kind) or origin is dict:
        _check_table(value, kind, key)
    elif origin is list:
        _need(is_list(value), key, value, "a list")
        for number, item in enumerate(value if is_list(value) else ()):
            check(item, inner[0], f"{key}[{number}]")
    else:
        _need(_is(value, kind), key, value, WORDS[kind])


def of_version(facts: object, error: ScenarioError) -> ScenarioError:
    """The same error, which says so if another version of Shallows saved the result with these `facts`."""
    saved = str(facts.get("version", "")).partition("+")[0] if is_table(facts) else ""
    ours = version().partition("+")[0]
    if not saved or saved == ours:
        return error
    first = error.every[0]
    expected = f"a result of version {ours}: version {saved} saved this one, so run its scenario again"
    return ScenarioError(first.key, first.value, expected, file=first.file)


def _check_table(value: object, kind: Any, key: str) -> None:
    if not is_table(value):
        raise ScenarioError(key or None, value, "a table")
    fields = _fields(kind) if is_typeddict(kind) else dict.fromkeys(value, get_args(kind)[1])
    for name, inner in fields.items():
        below = f"{key}.{name}" if key else name
        if name in value:
            check(value[name], inner, below)
        else:
            _need(get_origin(inner) is NotRequired, below, None, "a value: it is missing")


@cache
def _fields(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _is(value: object, kind: type) -> bool:
    if kind in (int, float):
        is_number = isinstance(value, (int, float) if kind is float else int) and not isinstance(value, bool)
        return is_number and math.isfinite(value) and abs(value) <= MOST  # type: ignore[arg-type]
    return isinstance(value, kind)


def _need(holds: bool, key: str, value: object, expected: str) -> None:
    if not holds:
        raise ScenarioError(key or None, value, expected)
