"""Scenarios of a family with an algorithm in them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shallows.base.toml import is_list, is_table
from shallows.errors import NamedOverrides
from shallows.runner import prepare
from shallows.scenario import fitting

if TYPE_CHECKING:
    from shallows.scenario import Scenario


def prepared(given: Mapping[str, Any], seed: int) -> "Scenario":
    """The `Scenario` of "tables" with the overrides "set", on the network that its algorithm needs.

    Raises `ScenarioError` if the algorithm does not fit the scenario.
    """
    made = prepare(given["tables"], seed=seed, overrides=NamedOverrides(given["set"]))
    needed = fitting.changes(made, pauses=True)
    return prepare(made, overrides=needed) if needed else made


def has(tables: Any, cc: str) -> bool:
    """Whether `cc` occurs in plain tables."""
    if is_table(tables):
        return any(has(item, cc) for item in tables.values())
    return any(has(item, cc) for item in tables) if is_list(tables) else tables == cc
