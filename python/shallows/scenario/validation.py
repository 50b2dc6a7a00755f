"""Errors of pydantic in a scenario, as `ScenarioError`s."""

from collections.abc import Iterator, Mapping
from typing import Any, cast, get_args

from pydantic import ValidationError

from shallows.base.table import Table
from shallows.base.toml import is_list, is_table
from shallows.errors import ScenarioError, UnknownKeyError
from shallows.topology import KINDS as TOPOLOGIES
from shallows.traffic import KINDS as TRAFFICS
from shallows.units import did_you_mean

_PLAIN = {"bool_type": "true or false", "float_type": "a number"}
"""By the type of an error of pydantic: the value that a strict key expects."""


def all_errors(error: ValidationError, tables: dict[str, object], model: type[Table]) -> ScenarioError:
    """The errors of pydantic about `tables`, validated by `model`, as one `ScenarioError` with others."""
    # A default that depends on a wrong key is no mistake of its own.
    errors = [one for one in error.errors() if one["type"] != "default_factory_not_called"]
    unknown = [one["loc"] for one in errors if one["type"] == "extra_forbidden"]
    # A missing key may be present under another name, which is reported instead.
    errors = [one for one in errors if not (one["type"] == "missing" and _misspelt(one["loc"], unknown))]
    errors.sort(key=lambda one: one["type"] != "extra_forbidden")
    return ScenarioError.together([_one(wrong, tables, model) for wrong in errors])


def _misspelt(missing: tuple[int | str, ...], unknown: list[tuple[int | str, ...]]) -> bool:
    """True if an unknown key of the same table resembles a missing one."""
    beside = [loc[-1] for loc in unknown if loc[:-1] == missing[:-1]]
    return bool(beside and did_you_mean(missing[-1], beside))


def _one(wrong: Any, tables: dict[str, Any], model: type[Table]) -> ScenarioError:
    key = _dotted(wrong["loc"], tables)
    value = wrong["input"]
    inner = wrong.get("ctx", {}).get("error")
    if isinstance(inner, ScenarioError):
        return inner.under(key) if key else inner
    if inner is not None:
        return ScenarioError(key, value, str(inner))
    if wrong["type"] == "extra_forbidden":
        return UnknownKeyError(key, value, _unknown(key, _holding(model, key, tables), model))
    return ScenarioError(*_complaint(wrong, key, value, _holding(model, key, tables)))


def _unknown(key: str, holding: type[Table], model: type[Table]) -> str:
    """What a table expects in place of an unknown key; the place of the key if another table has it."""
    last, known = key.rpartition(".")[2], holding.key_names()
    expected = f"a known key ({', '.join(known)}){did_you_mean(last, known)}"
    if holding is not model and last in model.key_names():
        return f"{expected}. `{last}` is a key of the file: write it above the first [table]"
    tables = {name: _inside(model, name) for name in ("network", "hosts", "record")}
    homes = [name for name, table in tables.items() if table and last in table.key_names()]
    if homes and homes[0] != key.rpartition(".")[0] and not did_you_mean(last, known):
        return f"{expected}. `{last}` is a key of [{homes[0]}]"
    return expected


def _complaint(wrong: Any, key: str, value: Any, model: type[Table]) -> tuple[str, object, str]:
    """(key, value, expected) of an error of pydantic itself; `model` should have `key`."""
    last = key.rpartition(".")[2]
    if wrong["type"] == "missing":
        said = {field.alias or name: field.description for name, field in model.model_fields.items()}
        return key, None, f"a value{f' ({said[last]})' if last in said else ''}; it is missing"
    if wrong["type"] == "union_tag_not_found":
        return f"{key}.kind", None, f"one of {', '.join(_kinds(key))}; it is missing"
    if wrong["type"] == "union_tag_invalid":
        kinds = _kinds(key)
        return f"{key}.kind", value["kind"], f"one of {', '.join(kinds)}{did_you_mean(value['kind'], kinds)}"
    if wrong["type"] in ("model_attributes_type", "model_type"):
        inner = _inside(model, last)
        return key, value, f"a table of {', '.join(inner.key_names())}" if inner else "a table"
    if wrong["type"] in ("list_type", "tuple_type"):
        return key, value, _list(model, key.rpartition(".")[2].partition("[")[0])
    if wrong["type"] == "too_short":
        return key, value, "one table or more"
    if wrong["type"] in _PLAIN:
        return key, value, _PLAIN[wrong["type"]]
    message = wrong["msg"].removeprefix("Input should be ")
    return key, value, message[:1].lower() + message[1:]


def _list(model: type[Table], name: str) -> str:
    """The expectation for a list called `name`; lists of tables have their own syntax in a file."""
    if name in ("traffic", "faults", "classes", "pools", "ports"):
        return f"a list of tables; in a file each follows a line [[{name}]]"
    field = model.key_field(name)
    return f"a list ({field.description})" if field and field.description else "a list"


def _dotted(loc: tuple[int | str, ...], tables: dict[str, object]) -> str:
    """A pydantic location as a scenario writes it."""
    key, at, table, tagged = "", cast(Any, tables), cast(Any, tables), None
    for step in loc:
        if isinstance(step, int):
            key, at = f"{key}[{step}]", at[step] if is_list(at) and step < len(at) else None
        elif is_table(at) and step == at.get("kind") and at is not tagged:
            tagged = at  # pydantic names the member of a union, which is not a key of the file
        elif step in OR_FALSE and table is not at and not (is_table(at) and step in at):
            continue
        else:
            key, table = f"{key}.{step}" if key else step, at
            at = at.get(step) if is_table(at) else None
    return key


def _holding(model: type[Table], key: str, tables: dict[str, Any]) -> type[Table]:
    """The model below `model` that should have `key` of `tables`."""
    for at, step in enumerate(key.split(".")[:-1]):
        step, _, number = step.partition("[")
        kinds = _KINDS.get(step) if at == 0 else None
        table = tables[step][int(number[:-1])] if kinds and number else tables.get(step)
        model = kinds[table["kind"]] if kinds and table else _inside(model, step) or model
    return model


def _inside(model: type[Table], key: str) -> type[Table] | None:
    """The model of the table that a key of `model` has, if it has one."""
    field = model.key_field(key)
    kinds = _members(field.annotation) if field else ()
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Table)), None)


def _members(annotation: object) -> Iterator[Any]:
    """A type, and the types that a union or `Annotated` of it has."""
    yield annotation
    for inner in get_args(annotation):
        yield from _members(inner)


OR_FALSE = ("table", "off")
"""Tags of the members of a union of a table with false."""
_KINDS: dict[str, Mapping[str, type[Table]]] = {"topology": TOPOLOGIES, "traffic": TRAFFICS}


def _kinds(key: str) -> list[str]:
    """The names of the kinds of the table `key`, such as traffic[0]."""
    return list(_KINDS[key.partition("[")[0]])
