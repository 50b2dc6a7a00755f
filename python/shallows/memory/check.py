"""The comparison of an estimate with the memory that is free."""

from shallows.errors import ScenarioError
from shallows.memory import bounds
from shallows.memory.bounds import text

UNCHECKED = 32_000_000
"""Bytes for which the limits are not read."""


def check(what: str, need: float, instead: str, key: str | None = None) -> None:
    """Raise `ScenarioError` unless `need` more bytes are free for `what`; `instead` says what to change.

    `key` is the key of the scenario that asks for it.
    """
    if need > UNCHECKED and (left := bounds.free()) is not None and need > left.amount:
        demand = f"about {text(need)} of memory for {what}"
        expected = f"at most {text(left.amount)}, what is free of {left.limit}: {instead}"
        raise ScenarioError(key, demand, expected) if key else ScenarioError(demand, None, expected)
