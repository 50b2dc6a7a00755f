"""The network that an algorithm needs, for comparisons of algorithms that need different ones."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shallows.scenario.model import Scenario

KEYS = ("shared", "pfc", "trimming", "balancing")
"""The keys of `[network]` that may differ between the runs of a comparison."""


def changes(scenario: "Scenario") -> dict[str, Any]:
    """Overrides that give `scenario` ports that trim packets, and sprayed packets, where all flows need them.

    `network.trimming = false` and a set `network.balancing` stay.
    """
    options = scenario.network_options
    given: dict[str, Any] = scenario.tables.get("network") or {}
    if not all(used.trims for used in scenario.algorithms) or options.trimming is False:
        return {}
    changed: dict[str, Any] = {}
    if not scenario.trimming:
        changed = {f"network.{key}": False for key in ("shared", "pfc") if getattr(options, key)}
        changed["network.trimming"] = True
        if given.get("buffer") == "shared":
            changed["network.buffer"] = "unlimited"
    network = scenario.network
    if "balancing" not in given and len(network.link_from) // 2 >= network.nodes:  # there is a cycle
        changed["network.balancing"] = "packet"
    return changed


def differences(tables: Mapping[str, Mapping[str, Any]]) -> list[str]:
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


def _shown(value: Any) -> str:
    return "off" if value in (None, False) else str(value) if isinstance(value, str) else "on"
