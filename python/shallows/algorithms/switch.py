"""Names of SONiC that scenarios accept for their own keys, and the texts that these keys take."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from shallows.base import limits, markdown
from shallows.errors import ScenarioError
from shallows.units import SIZE

MOST = limits.SIZE.most
"""The most bytes that a scenario can state."""


@dataclass(frozen=True)
class Number:
    """A whole number that a field takes, as a text or a number: its range, and what it counts."""

    least: int
    most: int
    what: str
    example: int

    @property
    def expected(self) -> str:
        """What an error says of its values."""
        return f'{self.what}, a whole number from {self.least} to {self.most}, such as "{self.example}"'

    def __call__(self, value: object) -> int:
        """The number. Raises `ValueError`."""
        if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,20}", value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not self.least <= value <= self.most:
            raise ValueError(self.expected)
        return value


BYTES = Number(0, MOST, "bytes", 1_048_576)
PER_CENT = Number(0, 100, "per cent", 5)
POWER = Number(-8, 8, "a power of two as its exponent", -1)
Rule = tuple[str, Callable[[object], int], Callable[[int], object]]
"""The key here, how a value there is read, and the value here."""

NAMES: dict[str, dict[str, Rule]] = {
    "marking": {
        "green_min_threshold": ("kmin", BYTES, SIZE.text),
        "green_max_threshold": ("kmax", BYTES, SIZE.text),
        "green_drop_probability": ("pmax", PER_CENT, lambda percent: percent / 100),
    },
    "pfc": {
        "xoff": ("headroom", BYTES, SIZE.text),
        "xon_offset": ("hysteresis", BYTES, SIZE.text),
        "static_th": ("threshold", BYTES, SIZE.text),
    },
    "shared": {"dynamic_th": ("alpha", POWER, lambda power: 2.0**power)},
}
"""Table of `[network]` -> name on a switch -> rule."""


def translated(name: str, table: dict[str, object]) -> dict[str, object]:
    """The table `name` of `[network]` with a switch's names replaced. Raises `ScenarioError` with the key."""
    found: dict[str, object] = {}
    for key, value in table.items():
        rule = NAMES[name].get(key)
        here, text = (rule[0], _value(key, value, rule)) if rule else (key, value)
        if here in found:
            raise ScenarioError(key, value, f"{here} once: another key of the table sets it too")
        found[here] = text
    return found


def _value(key: str, value: object, rule: Rule) -> object:
    try:
        return rule[2](rule[1](value))
    except ValueError as error:
        raise ScenarioError(key, value, str(error)) from None


def table() -> list[str]:
    """The table of docs/settings.md, as lines."""
    rows = (
        (f"`{key}`", f"`network.{name}.{rule[0]}`")
        for name, rules in NAMES.items()
        for key, rule in rules.items()
    )
    return [*markdown.table(("on the switch", "here"), rows)]
