"""The comparison of an estimate with the memory that is free."""

from shallows.errors import ScenarioError
from shallows.memory import bounds
from shallows.memory.bounds import text

UNCHECKED = 32_000_000
"""Bytes for which the limits are not read."""


class TooLargeError(ScenarioError):
    """An estimate that exceeds the memory that is free."""


def check(what: str, need: float, instead: str, key: str | None = None) -> None:
    """Raise `TooLargeError` unless `need` more bytes are free for `what`; `instead` says what to change.

    `key` is the key of the scenario that asks for it.
    """
    if need > UNCHECKED and (left := bounds.free()) is not None and need > left.amount:
        demand = f"about {text(need)} of memory for {what}"
        expected = f"at most {text(left.amount)}, what is free of {left.limit}: {instead}"
        raise TooLargeError(key, demand, expected) if key else TooLargeError(demand, None, expected)
