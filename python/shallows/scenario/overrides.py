"""Overrides of single keys, {dotted key: value}, applied before validation."""

from collections.abc import Mapping
from typing import Any, cast

from shallows.algorithms import trust
from shallows.base import texts
from shallows.base.table import Table
from shallows.base.texts import DEEPEST, SHALLOW
from shallows.base.toml import is_list, is_table
from shallows.errors import NamedOverrides, ScenarioError
from shallows.scenario.literal import literal
from shallows.scenario.raw import check_depth
from shallows.topology import KINDS as TOPOLOGIES
from shallows.traffic import KINDS as TRAFFICS

KINDS: dict[str, Mapping[str, type[Table]]] = {"topology": TOPOLOGIES, "traffic": TRAFFICS}


def overridden(tables: dict[str, Any], overrides: Mapping[str, object]) -> dict[str, Any]:
    """A copy of `tables` with these keys set; texts are read as TOML if possible. Raises `ScenarioError`."""
    check_depth(tables)
    tables = copied(tables)
    for key in sorted(overrides, key=_wholes_first):
        _put(tables, key, _from_text(literal(overrides[key])))
    return tables


def by_user(overrides: Mapping[str, object]) -> NamedOverrides:
    """Overrides of the command line or of the calling program, whose classes are therefore trusted."""
    found = NamedOverrides(overrides)
    for key, value in overrides.items():
        *way, last = _steps(key)
        place = "cc" if way[-1:] == ["cc"] and last == "name" else "traffic" if last.isdigit() else last
        if place in ("cc", "traffic"):
            found[key] = trust.named(_from_text(literal(value)), key=place)
    return found


def _steps(key: str) -> list[str]:
    return key.replace("[", ".").replace("]", "").split(".")


def _wholes_first(key: str) -> tuple[int, bool]:
    """A sort key: whole tables, kinds and names of algorithms are set before the keys inside them."""
    return key.count(".") + key.count("["), not key.endswith(("cc.name", ".kind"))


def copied(tables: object) -> Any:
    """A deep copy of plain tables; other objects (a graph) are shared."""
    if is_table(tables):
        return {key: copied(value) for key, value in tables.items()}
    return [copied(value) for value in tables] if is_list(tables) else tables


def _from_text(value: object) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return texts.toml(f"value = {value}")["value"]
    except ValueError:
        return value


def _put(tables: dict[str, Any], key: str, value: Any) -> None:
    """Set a dotted key, creating missing tables."""
    *way, last = _steps(key)
    if len(way) >= DEEPEST:
        raise ScenarioError(f"{key[:40]}…", None, SHALLOW)
    at = cast(Any, tables)
    for depth, step in enumerate(way):
        if is_list(at):
            at = _holding(at[_place(at, step, key, value)], ".".join(way[: depth + 1]), key)
        elif not (is_table(at.get(step)) or is_list(at.get(step))):
            # A plain name, as in cc = "dctcp", becomes the table that it abbreviates.
            named = at.get(step) if way[depth:] == ["cc"] else None
            at[step] = {"name": named} if named else {}
            at = at[step]
        else:
            at = at[step]
    if is_list(at):
        at[_place(at, last, key, value)] = value
    elif last == "name" and way[-1:] == ["cc"] and str(at.get("name")).split("@")[0] != value:
        at.clear()
        at["name"] = value
    elif last == "kind" and way and at.get("kind") != value:
        _change_kind(at, way, value)
    else:
        at[last] = value


def _change_kind(table: dict[str, Any], way: list[str], kind: Any) -> None:
    """Set the kind of a table, without the keys that only its former kind has."""
    former = KINDS.get(way[0], {}).get(table.get("kind", ""))
    new = KINDS.get(way[0], {}).get(kind) if isinstance(kind, str) else None
    if former and new:
        for key in list(table):
            if _meaning(former, key) and _meaning(former, key) != _meaning(new, key):
                del table[key]
    elif way[-1] == "marking" and "kind" in table:
        for key in [key for key in table if key != "at"]:
            del table[key]
    table["kind"] = kind


def _meaning(model: type[Table], key: str) -> str | None:
    """The type of a key of a kind, for comparison with that of another kind; None if it has no such key."""
    for name, field in model.model_fields.items():
        if (field.alias or name) == key:
            return key if key == "kind" else str(field.annotation)
    return None


def _holding(item: object, name: str, key: str) -> Any:
    """The item of a list that holds `key`."""
    if is_table(item) or is_list(item):
        return item
    raise ScenarioError(name, item, f"a table, to hold {key}")


def _place(at: Any, step: str, key: str, value: Any) -> int:
    if not step.isdigit() or int(step) >= len(at):
        raise ScenarioError(key, value, f"a number from 0 to {len(at) - 1} in place of {step}")
    return int(step)
