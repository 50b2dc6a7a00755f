"""The result of reading settings: part of a scenario, and what the reader has to know about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tomli_w

from shallows.base.toml import is_list, is_table
from shallows.scenario.queues import MEMORY

if TYPE_CHECKING:
    from shallows.scenario import Scenario


@dataclass(frozen=True)
class Fragment:
    """Part of a scenario.

    tables: as a scenario file has them, such as `{"network": {"pfc": {"headroom": "300KB"}}}`.
    assumed: sentences about what the settings leave open, and what was taken instead.
    not_expressed: sentences about settings that no key of a scenario expresses.
    """

    tables: Mapping[str, Any]
    assumed: tuple[str, ...] = ()
    not_expressed: tuple[str, ...] = ()

    def to_toml(self) -> str:
        """TOML text that can be pasted into a scenario file, with the sentences as comments."""
        notes = [f"# Assumed: {text}\n" for text in self.assumed]
        notes += [f"# Not expressed: {text}\n" for text in self.not_expressed]
        plain = {key: table for key, table in self.tables.items() if not is_list(table)}
        # tomli_w writes short tables of a list inline, which can only stand above all tables of a file
        entries = [
            tomli_w.dumps({key: one}).replace(f"[{key}]", f"[[{key}]]", 1)
            for key, tables in self.tables.items()
            if is_list(tables)
            for one in tables
        ]
        return "".join(notes) + "\n".join([*entries, *([tomli_w.dumps(plain)] if plain else [])])

    def joined(self, other: "Fragment") -> "Fragment":
        """Both fragments as one. Their tables have no key in common: one is of switches, one of NICs."""
        return Fragment(
            {**self.tables, **other.tables},
            self.assumed + other.assumed,
            self.not_expressed + other.not_expressed,
        )


def on(scenario: "Scenario", fragment: Fragment) -> "Scenario":
    """`scenario` with the settings of `fragment` in place of its own. Raises `ScenarioError`."""
    tables, settings = scenario.tables, fragment.tables
    own = dict(tables.get("network", {}))
    changed: dict[str, Any] = {}
    if "network" in settings:
        if settings["network"].keys() & MEMORY:  # one kind of memory takes the place of another
            own = {key: value for key, value in own.items() if key not in MEMORY}
        changed |= _in_classes(tables, []) | {"network": {**own, **settings["network"]}}
    if "classes" in settings:
        changed |= _in_classes(tables, settings["classes"])
        changed |= {"classes": settings["classes"], "pools": settings.get("pools", [])}
        changed["network"] = {key: value for key, value in own.items() if key not in MEMORY - {"buffer"}}
    tables = {**tables, **changed}
    if "cc" in settings:
        changed |= _with_algorithm(tables, settings["cc"])
    return type(scenario)(file=scenario.file, **{**tables, **changed})


def _in_classes(tables: dict[str, Any], classes: list[dict[str, object]]) -> dict[str, object]:
    """The tables without their own classes, and their traffic in others.

    Traffic whose class is none of them is in the first class that is lossless and marks, else in the first.
    """
    names = [one["name"] for one in classes]
    marked = [one["name"] for one in classes if one.get("pfc") and one.get("marking") != "none"]
    first = next(iter([*marked, *names]), None)
    traffic: list[dict[str, object]] = []
    for table in tables["traffic"]:
        kept = {key: value for key, value in table.items() if key != "class"}
        name = table.get("class")
        traffic.append(kept if first is None else {**kept, "class": name if name in names else first})
    return {"traffic": traffic, "classes": [], "pools": []}


def _with_algorithm(tables: dict[str, Any], cc: dict[str, object]) -> dict[str, object]:
    """The tables in which an algorithm replaces all others of its name, or the one of all traffic."""

    def same(table: Mapping[str, object]) -> bool:
        used = table.get("cc")
        name = used.get("name") if is_table(used) else used
        return isinstance(name, str) and name.partition("@")[0] == cc["name"]

    traffic = [{**table, "cc": cc} if same(table) else table for table in tables["traffic"]]
    if traffic != tables["traffic"] and not same(tables):
        return {"traffic": traffic}
    return {"traffic": traffic, "cc": cc}
