"""Keys of a scenario, each with its type, default, meaning and worlds.

The models of the tables have names, types, units and default values; `data/keys.toml` has what a page says of
each key. The pages of the documentation have a mark, `<!-- keys of network -->`, in the place of each table.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin

from shallows.base import markdown
from shallows.base.table import Table
from shallows.core import contract
from shallows.scenario.builders import PARTS
from shallows.scenario.given import Given
from shallows.topology import KINDS as TOPOLOGIES
from shallows.traffic import KINDS as TRAFFICS
from shallows.units import TypeName
from shallows.worlds import fluid, kernel, packet, wire

FILE = Path(__file__).parents[1] / "data" / "keys.toml"
WORLDS = [world.WORLD for world in (packet, fluid, kernel, wire)]
QUANTITIES = "scenario.md#quantities"
UNITS = {
    "Time": f"[time]({QUANTITIES}), `ps` to `s`",
    "Size": f"[size]({QUANTITIES}), `B` to `GiB` or `pkt`",
    "Rate": f"[rate]({QUANTITIES}), `bps` to `Tbps`",
    "Share": f'[share]({QUANTITIES}), `0.4` or `"40%"`',
    "Ends": "hosts",
    "Ports": "names or patterns of ports",
    "FlowCount": "number of flows, or their numbers",
    "AnyMarking": "table or name",
    "Algorithm": "table or name",
    "Sizes": "distribution, file or size",
    "File": "file",
    "Columns": "columns of a table",
    "Sequence[str]": "list of names of switches",
}
"""The unit, or the form, of a key whose type has this name."""
OF_NO_MODEL = {
    "network.marking.cell": "size",
    "network.marking.kind": "text",
    "network.marking.at": "text: " + " or ".join(f'`"{value}"`' for value in get_args(contract.At)),
    "topology.graph.file": "file",
    "topology.graph.edges": "list of node, node, rate and delay",
    "faults.value": "rate, share or probability, as the kind needs",
}
"""The unit of a key whose type does not show it."""
PLAIN: dict[object, str] = {
    int: "whole number",
    float: "number",
    bool: "`true` or `false`",
    str: "text",
    list: "list",
}
MODELS: dict[str, type[Table] | None] = {
    "": Given,
    "network": PARTS["Network"],
    "network.shared": PARTS["Shared"],
    "network.pfc": PARTS["Pauses"],
    "network.trimming": PARTS["Trimming"],
    "network.policer": PARTS["Policer"],
    "network.marking": None,
    "hosts": PARTS["Hosts"],
    "hosts.costs": PARTS["Costs"],
    "hosts.timestamps": PARTS["Timestamps"],
    **{f"topology.{kind}": model for kind, model in TOPOLOGIES.items()},
    "traffic": TRAFFICS["tasks"],
    "traffic.collective": TRAFFICS["all-reduce"],
    **{f"traffic.{kind}": model for kind, model in TRAFFICS.items()},
    "traffic.tasks.tasks": PARTS["Task"],
    "classes": PARTS["TrafficClass"],
    "pools": PARTS["Pool"],
    "ports": PARTS["PortSettings"],
    "faults": PARTS["Fault"],
    "record": PARTS["Record"],
}
"""The model of the keys with each prefix; marking has rows of the catalog in its place."""
TOP = "scenario"
"""The table of the keys without a prefix."""
OF_ONE_MODEL = ("network", "hosts", "classes", "pools", "ports", "faults", "record")
"""Tables with all keys of a model; those of topologies and traffic share keys."""


@dataclass(frozen=True)
class Key:
    """One key, or several of one row: the paths, and in Markdown the default, the meaning and the unit.

    source: where the default comes from, if a paper, a standard or a product says it.
    """

    paths: tuple[str, ...]
    default: str
    meaning: str
    unit: str
    worlds: str
    source: str


@dataclass(frozen=True)
class KeyTable:
    """A table of the documentation: the words of its head, and its rows; one without keys has no paths."""

    head: tuple[str, str, str]
    rows: tuple[Key, ...]

    def markdown(self) -> Iterable[str]:
        """The lines of the table."""
        names = (", ".join(f"`{path.rpartition('.')[2]}`" for path in row.paths) for row in self.rows)
        cells = ((name, row.default, row.meaning) for name, row in zip(names, self.rows, strict=True))
        return markdown.table(self.head, cells)


@cache
def tables() -> dict[str, KeyTable]:
    """Every table, by the name that a page has in its mark."""
    read = cast(dict[str, dict[str, Any]], tomllib.loads(FILE.read_text("utf-8")))
    return {name: _table(name, table) for name, table in read.items()}


def _table(name: str, table: dict[str, Any]) -> KeyTable:
    """The rows of the file, and one of each key of a model that has none, behind the key before it."""
    prefix = "" if name == TOP else name.partition(" ")[0]
    rows = [_row(prefix, row) for row in table["rows"]]
    model = MODELS[prefix] if prefix.partition(".")[0] in OF_ONE_MODEL else None
    before = ""
    for key in model.key_names() if model else ():
        path = f"{prefix}.{key}"
        if model and not any(path in row.paths for row in rows):
            place = next((at for at, row in enumerate(rows, 1) if before in row.paths), 0)
            rows.insert(place, _row(prefix, {"keys": [key], "default": _default(model, key)}))
        before = path
    head: list[str] = table.get("head", ["key", "default", "meaning"])
    return KeyTable((head[0], head[1], head[2]), tuple(rows))


def _default(model: type[Table], key: str) -> str:
    """The default of a model as TOML has it."""
    field = model.key_field(key)
    value = field.default if field else None
    if value is None:
        return "none"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`".lower()


def _row(prefix: str, row: dict[str, Any]) -> Key:
    names: list[str] = row["keys"]
    model = MODELS[prefix]
    paths = tuple(f"{prefix}.{name}".lstrip(".") for name in names)
    if not paths:
        return Key(paths, row.get("default", ""), row["text"], "", "", "")
    unit = OF_NO_MODEL.get(paths[0]) or " and ".join(dict.fromkeys(unit_of(model, name) for name in names))
    text = row.get("text") or short_text(model, names[0]) + row.get("more", "")
    return Key(paths, row.get("default", ""), text, unit, worlds(paths[0]), row.get("source", ""))


def description(model: type[Table] | None, key: str) -> str:
    """The short text of a key of a model."""
    field = model.key_field(key) if model else None
    return (field.description if field else None) or ""


def short_text(model: type[Table] | None, key: str) -> str:
    """The same without the default, which has a column of its own."""
    return description(model, key).partition("; by default ")[0]


def rows() -> Iterable[Key]:
    """Every row that has keys."""
    return (row for table in tables().values() for row in table.rows if row.paths)


def find(name: str) -> list[Key]:
    """The rows of a key, by its path or the end of it (`pfc.watchdog`), or of a table (`network`)."""
    ends = f".{name}"
    whole = [row for row in rows() if name in row.paths or name in map(as_written, row.paths)]
    whole += [row for row in rows() if (row.paths[0].rpartition(".")[0] or TOP) == name]
    return whole or [row for row in rows() if any(path.endswith(ends) for path in row.paths)]


def as_written(path: str) -> str:
    """The key in a scenario: a kind is no part of it."""
    table, _, rest = path.partition(".")
    if table in ("topology", "traffic") and "." in rest:
        return f"{table}.{rest.partition('.')[2]}"
    return path


def unit_of(model: type[Table] | None, key: str) -> str:
    """The unit, or the form, of the values of a key."""
    field = model.key_field(key) if model else None
    if field is None:
        return ""
    named = next((mark.type for mark in field.metadata if isinstance(mark, TypeName)), None)
    return UNITS[named] if named else _of_type(field.annotation)


def _of_type(annotation: Any) -> str:
    origin, inner = get_origin(annotation), get_args(annotation)
    if hasattr(annotation, "__metadata__"):
        named = next((mark.type for mark in annotation.__metadata__ if isinstance(mark, TypeName)), None)
        return UNITS[named] if named else _of_type(inner[0])
    if origin is Literal:
        if all(isinstance(value, str) for value in inner):
            return "text: " + ", ".join(f'`"{value}"`' for value in inner)
        return " or ".join(f"`{str(value).lower()}`" for value in inner)
    if origin in (Union, UnionType):
        parts = [_of_type(one) for one in inner if one is not type(None)]
        return " or ".join(dict.fromkeys(parts)).replace("table or `false`", "table, `true` or `false`")
    if origin in (list, tuple):
        return f"list of {_of_type(inner[0])}s"
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return "table"
    return PLAIN.get(cast(object, annotation), "any value")


def worlds(path: str) -> str:
    """The worlds that support a key, with what they limit; limits of a whole topology are on another page."""
    parts = path.split(".")
    own = {"on": "off"}.get(parts[-1], parts[-1])
    if (
        parts[0] == "traffic"
        and own in ("class", "priority", "exchange", "off", "rate", "cc", "name")
        and len(parts) < 4
    ):
        key = f"traffic.{own}"
    elif path.startswith("traffic.collective"):
        key = "traffic.all-reduce"
    elif parts[0] in ("classes", "pools", "ports", "faults"):
        key = parts[0]
    else:
        key = ".".join(parts[:2])
    found: list[str] = []
    for world in WORLDS:
        if key in world.supported_keys:
            limit = world.limits.get(key) or (parts[0] == "record" and world.limits.get(parts[0])) or ""
            found.append(f"{world.name} ({limit})" if limit else world.name)
    return ", ".join(found)


MARK = re.compile(r"(?m)^<!-- keys of (.+) -->$")


def expanded(page: str) -> str:
    """A page of the documentation with its tables of keys in place of their marks."""
    return MARK.sub(lambda found: "\n".join(tables()[found[1]].markdown()), page)
