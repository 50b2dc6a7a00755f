"""What a program may set in an open network: keys, links, and the tables of its messages."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from shallows.base.toml import is_table
from shallows.errors import ScenarioError
from shallows.scenario import faults, port_request
from shallows.scenario.literal import literal
from shallows.traffic import Driven
from shallows.units import did_you_mean

if TYPE_CHECKING:
    from shallows.algorithms.algorithm import Algorithm
    from shallows.core.contract import Request
    from shallows.scenario import Scenario
    from shallows.scenario.literal import Algorithm as AlgorithmLike

ALL_PORTS = "*->*"
"""The links of a fault that sets all ports."""
_MAY_DIFFER = ("flows", "ccs", "markings", "faults", "max_packets")
"""Keys of a request that may differ when a program sets something."""


@dataclass(frozen=True)
class Tables:
    """The driven tables of a network by name, each with the table whose parameters its messages now have."""

    present: dict[str, int]
    classes: list[int]
    controls: list[int]

    @classmethod
    def of(cls, scenario: "Scenario") -> Self:
        """Those of a scenario in which nothing has been set."""
        names = zip(scenario.traffic, scenario.flows.names, strict=True)
        present = {name: at for at, (table, name) in enumerate(names) if isinstance(table, Driven)}
        return cls(present, *_in_core(scenario))

    def replaced(self, scenario: "Scenario", by: Mapping[str, int]) -> Self:
        """These, of which some have another table from now on."""
        classes, controls = _in_core(scenario)
        return replace(self, present={**self.present, **by}, classes=classes, controls=controls)

    def in_core(self, table: int) -> tuple[int, int]:
        """The numbers of class and algorithm of a table in a request."""
        return self.classes[table], self.controls[table]

    def algorithm(self, scenario: "Scenario", table: int) -> "Algorithm":
        """The algorithm of the messages of a table."""
        return _used(scenario, table)

    def find(self, scenario: "Scenario", traffic: str | None, cc: "AlgorithmLike | None") -> int:
        """The table with this name, or this algorithm; the first by default. Raises `ScenarioError`."""
        used = {name: _used(scenario, at) for name, at in self.present.items()}
        for name, at in self.present.items():
            one = used[name]
            named = cc is None or literal(cc) in (one.label, one.name) or cc is one.user_class
            if traffic in (None, name) and named:
                return at
        known = ", ".join(f'"{name}" with {one.label}' for name, one in used.items())
        expected = f'a table of traffic with kind = "driven": {known}'
        key, value = ("traffic", traffic) if traffic is not None else ("cc", literal(cc))
        raise ScenarioError(key, value, expected + did_you_mean(value, self.present))


def _in_core(scenario: "Scenario") -> tuple[list[int], list[int]]:
    """By traffic table, the numbers of class and algorithm in a request."""
    ccs = scenario.flows.ccs
    numbers = [ccs.index(_used(scenario, at)) for at in range(len(scenario.traffic))]
    return port_request.class_of_tables(scenario).tolist(), numbers


def _used(scenario: "Scenario", table: int) -> "Algorithm":
    """The algorithm of a traffic table."""
    used = scenario.traffic[table].cc or scenario.cc
    assert used is not None, "a scenario has one for every table"
    return used


def links(scenario: "Scenario") -> list[int]:
    """The links that faults may change: those that were named, and those of faults of the scenario."""
    of_faults = (
        links
        for fault, links in zip(scenario.faults, faults.of_links(scenario), strict=True)
        if fault.is_of_links
    )
    return [
        *faults.changing_links(scenario, scenario.graph),
        *(link for links in of_faults for link in links),
    ]


def of_marking(scenario: "Scenario") -> list[str]:
    """The keys of the marking of ports that may change."""
    before = scenario.marking
    return (
        [f"network.marking.{name}" for name in before.adjustable] if before and not scenario.classes else []
    )


def of_ports(scenario: "Scenario") -> dict[str, tuple[str, str]]:
    """By the key of a setting of all ports, the kind of fault that changes it, and its name there."""
    found = {key: ("marking", key.rpartition(".")[2]) for key in of_marking(scenario)}
    weighted = (one.name for one in scenario.classes if one.weight is not None)
    return found | {f"classes.{name}.weight": ("weights", name) for name in weighted}


def set_before(scenario: "Scenario", kind: str, clock_ps: int) -> dict[str, object]:
    """What faults of a kind have set at all ports up to the clock."""
    all_ports = (one for one in scenario.faults if (one.kind, one.link) == (kind, ALL_PORTS))
    due = sorted((one for one in all_ports if one.at <= clock_ps), key=lambda one: one.at)
    return {name: value for one in due for name, value in one.value.items()}


def algorithms(scenario: "Scenario") -> "list[Algorithm]":
    """The algorithm of each traffic table."""
    return [_used(scenario, at) for at in range(len(scenario.traffic))]


def keys(scenario: "Scenario") -> list[str]:
    """The keys that `OpenNetwork.set` knows."""
    found = [*of_ports(scenario)]
    if scenario.cc and not scenario.cc.user_class:
        found += [f"cc.{name}" for name in scenario.cc.parameters]
    for table, name in zip(scenario.traffic, scenario.flows.names, strict=True):
        if isinstance(table, Driven) and table.cc and not table.cc.user_class:
            found += [f"traffic.{name}.cc.{parameter}" for parameter in table.cc.parameters]
    return found


def with_parameter(
    scenario: "Scenario", tables: Tables, key: str, value: object
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The traffic with tables for messages that have this parameter, and the number of each by name."""
    given = scenario.tables
    traffic: list[dict[str, Any]] = given["traffic"]
    parameter, own = key.rpartition(".")[2], None
    if key.startswith("traffic."):
        own = key.removeprefix("traffic.").removesuffix(f".cc.{parameter}")
    found: dict[str, int] = {}
    for name, at in tables.present.items():
        first = scenario.flows.names.index(name)
        if name == own or (own is None and scenario.traffic[first].cc is None):
            before = traffic[at].get("cc", given.get("cc"))
            cc = before if is_table(before) else {"name": before}
            further = {word: one for word, one in traffic[at].items() if word != "name"}
            found[name] = len(traffic)
            traffic.append({**further, "cc": {**cc, parameter: value}})
    return traffic, found


def check_same(before: "Request", after: "Request", key: str, value: object) -> None:
    """Raise `ScenarioError` if anything but flows, algorithms and faults differs between two requests."""
    old, new = cast("dict[str, object]", before), cast("dict[str, object]", after)
    other = [name for name in old if name not in _MAY_DIFFER and not _same(old[name], new[name])]
    if other or after["markings"][: len(before["markings"])] != before["markings"]:
        what = ", ".join(other) or "markings"
        expected = (
            f"a value that changes nothing else: it would change {what} of the whole run. Set them before"
        )
        raise ScenarioError(key, str(value), expected)


def _same(one: object, other: object) -> bool:
    if is_table(one) and is_table(other):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(np.asarray(one), np.asarray(other))
    return one == other
