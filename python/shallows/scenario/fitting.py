"""The network that an algorithm needs, for comparisons of algorithms that need different ones."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from shallows.algorithms.algorithm import catalog
from shallows.errors import ScenarioError
from shallows.scenario.tables import HostTable

if TYPE_CHECKING:
    from shallows.scenario.model import Scenario

KEYS = ("shared", "pfc", "trimming", "balancing")
"""The keys of `[network]` that may differ between the runs of a comparison."""


@cache
def host_keys() -> tuple[str, ...]:
    """The keys of `[hosts]` that act on some algorithms only and may be set in a comparison with others.

    Timeouts are none of them: their defaults depend on the algorithm's network.
    """
    honours = [row["honours"] for row in catalog()]
    some = dict.fromkeys(key for keys in honours for key in keys if not all(key in of for of in honours))
    keys = (key.removeprefix("hosts.") for key in some if key.startswith("hosts."))
    return tuple(key for key in keys if not key.startswith("rto_"))


def changes(scenario: "Scenario", *, pauses: bool) -> dict[str, object]:
    """Overrides that give `scenario` the network that all of its flows need.

    Algorithms that trim get ports that trim packets, and sprayed packets; algorithms over RoCE get links that
    lose nothing if `pauses`. `trimming`, `pfc`, `buffer` and `balancing` that are set stay.
    """
    if all(used.trims for used in scenario.algorithms):
        return _trimming(scenario)
    if pauses and all(used.transport == "roce" for used in scenario.algorithms):
        return _lossless(scenario)
    return {}


def _lossless(scenario: "Scenario") -> dict[str, object]:
    given: dict[str, object] = scenario.tables.get("network") or {}
    limited = given.get("buffer", "shared") != "shared"
    priorities = len({table.priority for table in scenario.traffic}) > 1
    if limited or priorities or "pfc" in given or given.get("trimming") or scenario.classes:
        return {}
    return {"network.pfc": True}


def _trimming(scenario: "Scenario") -> dict[str, object]:
    options = scenario.network
    given: dict[str, object] = scenario.tables.get("network") or {}
    if options.trimming is False or any(one.trimming is False for one in scenario.classes):
        return {}
    changed: dict[str, object] = {}
    if not scenario.trims:
        changed = {f"network.{key}": False for key in ("shared", "pfc") if getattr(options, key)}
        changed["network.trimming"] = True
        if given.get("buffer") == "shared":
            changed["network.buffer"] = "unlimited"
    network = scenario.graph
    chosen = "balancing" in given or options.balancing != "flow"
    if not chosen and len(network.link_from) // 2 >= network.nodes:  # there is a cycle
        changed["network.balancing"] = "packet"
    return changed


def defaults(error: ScenarioError) -> dict[str, object]:
    """Overrides that set the `host_keys` of an error to their defaults; empty if it has other keys."""
    keys = [(one.key or "").removeprefix("hosts.") for one in error.every]
    if not set(keys) <= set(host_keys()):
        return {}
    return {f"hosts.{key}": HostTable.model_fields[key].default for key in keys}


def differences(tables: Mapping[str, Mapping[str, object]]) -> list[str]:
    """Sentences on the keys of `[network]` that differ; `tables` are those of saved scenarios by label."""
    lines: list[str] = []
    for label, table in tables.items():
        differing = [
            key for key in KEYS if any(table.get(key) != other.get(key) for other in tables.values())
        ]
        said = [f"{key} {_shown(table.get(key))}" for key in differing]
        if said:
            lines.append(f"network     {label}: {', '.join(said)}")
    return lines


def treatments(tables: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Sentences on data that ports drop or trim where they mark that of others; `tables` as in `unused`."""
    marked = {label: _is_ecn_capable(table["cc"]) for label, table in tables.items()}
    if len(set(marked.values())) < 2:
        return []
    return [
        f"network     {label}: its data is not ECN-capable, and is {_fate(table)} where other data is marked"
        for label, table in tables.items()
        if not marked[label] and _drops(table["network"])
    ]


def _is_ecn_capable(cc: Mapping[str, Any]) -> bool:
    row = next((row for row in catalog() if row["name"] == cc["name"].partition("@")[0]), None)
    return row is None or row["marking"] == "required" or bool(cc.get(row["marking"]))


def _drops(network: Mapping[str, Any]) -> bool:
    """Whether ports drop data that is not ECN-capable where they would mark other data (RFC 3168)."""
    marking = network.get("marking", "none")
    return marking != "none" and marking.get("nodrop") is False and not network.get("pfc")


def _fate(table: Mapping[str, Any]) -> str:
    row = next(row for row in catalog() if row["name"] == table["cc"]["name"].partition("@")[0])
    return "trimmed" if row["trims"] and table["network"].get("trimming") else "dropped"


def unused(tables: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Sentences on the keys of `[hosts]` that act on some algorithms only; `tables` are saved scenarios."""
    lines: list[str] = []
    for label, table in tables.items():
        keys = [
            key
            for key in host_keys()
            if any(table["hosts"].get(key) != other["hosts"].get(key) for other in tables.values())
            and f"hosts.{key}" not in _honours(table)
        ]
        if keys:
            lines.append(f"hosts       {label}: {', '.join(keys)} not used")
    return lines


def _honours(table: Mapping[str, Any]) -> set[str]:
    """The keys that act on a flow of a saved scenario."""
    rows = {row["name"]: row["honours"] for row in catalog()}
    every = {key for keys in rows.values() for key in keys}  # a user's algorithm refuses no key
    used = [table["cc"], *(traffic["cc"] for traffic in table["traffic"] if "cc" in traffic)]
    return set[str]().union(*(rows.get(one["name"].partition("@")[0], every) for one in used))


def _shown(value: object) -> str:
    return "off" if value in (None, False) else str(value) if isinstance(value, str) else "on"
