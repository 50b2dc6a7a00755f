"""Algorithms as a scenario names them: a row of the catalog with a value for every parameter."""

from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from shallows.errors import ScenarioError
from shallows.units import RATE, SIZE, TIME, did_you_mean


@cache
def catalog():
    """The table of algorithms, as docs/crossing.md describes it."""
    from shallows import _core

    return _core.catalog()


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of the catalog with a value for each of its parameters, in SI base units."""

    name: str
    preset: str | None
    parameters: dict

    @property
    def label(self):
        """The name as a scenario writes it: "dctcp" or "vegas@ns-2"."""
        return f"{self.name}@{self.preset}" if self.preset else self.name

    @property
    def needs_marking(self):
        """Whether it is lost at ports that do not mark."""
        marking = _row(self.name)["marking"]
        return marking == "required" or bool(self.parameters.get(marking))

    def table(self, mtu):
        """The `[cc]` table that gives this algorithm, every parameter written out."""
        units = {p["name"]: p["unit"] for p in _row(self.name)["parameters"]}
        texts = {key: _parameter_text(value, units[key], mtu) for key, value in self.parameters.items()}
        return {"name": self.label, **texts}


def choose(table, frame):
    """The `Algorithm` of a `[cc]` table, or of a name alone. Raises `ScenarioError` relative to the table."""
    table = {"name": table} if isinstance(table, str) else table
    if not isinstance(table, dict):
        raise ValueError('the name of an algorithm, such as "dctcp", or a table with it')
    if not isinstance(table.get("name"), str):
        raise ScenarioError("name", None, 'the name of an algorithm, such as "dctcp"; it is missing')
    name, _, preset = table["name"].partition("@")
    row = _row(name)
    values = {p["name"]: float(p["default"]) for p in row["parameters"]}
    values |= _preset(row, preset, table["name"])
    for key, value in table.items():
        if key != "name":
            values[key] = _parameter(row, key, value, frame)
    return Algorithm(name, preset or None, values)


def _row(name):
    rows = {row["name"]: row for row in catalog()}
    if name not in rows:
        raise ScenarioError("name", name, f"one of {', '.join(rows)}{did_you_mean(name, rows)}")
    return rows[name]


def _preset(row, preset, told):
    presets = {p["name"]: dict(p["values"]) for p in row["presets"]}
    if preset and preset not in presets:
        known = ", ".join(f"{row['name']}@{p}" for p in presets) or f"{row['name']} alone: it has no presets"
        raise ScenarioError("name", told, f"{known}{did_you_mean(preset, presets)}")
    return presets.get(preset, {})


def _parameter(row, key, value, frame):
    """The value of one parameter in SI base units."""
    known = {p["name"]: p for p in row["parameters"]}
    if key not in known:
        has = ", ".join(known) or "no parameters"
        raise ScenarioError(key, value, f"a parameter of {row['name']} ({has}){did_you_mean(key, known)}")
    row = known[key]
    low, high = row["min"], row["max"]
    try:
        number = _in_unit(value, row["unit"], frame)
    except ValueError as error:
        raise ScenarioError(key, value, str(error)) from None
    if not low <= number <= high:
        low, high = (_parameter_text(bound, row["unit"], frame.wire) for bound in (low, high))
        raise ScenarioError(key, value, f"{low} to {high}")
    return number


def _in_unit(value, unit, frame):
    if unit == "s":
        return float(TIME.amount(value).scaleb(-12))
    if unit == "B":
        return float(SIZE.amount(value, frame.wire))
    if unit == "bit/s":
        return float(RATE.amount(value))
    if unit == "flag":
        if not isinstance(value, bool):
            raise ValueError("true or false")
        return float(value)
    if unit == "pkt" and isinstance(value, str) and value.endswith("pkt"):
        value = _number(value[:-3])
    if isinstance(value, bool) or not isinstance(value, int | float):
        packets = 'a number of packets, such as 2 or "2pkt"'
        raise ValueError(packets if unit == "pkt" else "a number without a unit")
    return float(value)


def _number(text):
    try:
        return float(text)
    except ValueError:
        return None


def _parameter_text(value, unit, mtu):
    """What a scenario writes for a value in SI base units: a text with its unit, a number, a flag."""
    if unit == "flag":
        return bool(value)
    dimension, scale = {"s": (TIME, 12), "B": (SIZE, 0), "bit/s": (RATE, 0)}.get(unit, (None, 0))
    amount = Decimal(repr(float(value)))
    if dimension and amount.is_finite():
        amount = amount.scaleb(scale)
        if amount == int(amount):
            return dimension.text(int(amount), mtu if dimension is SIZE else None)
    if dimension:
        return f"{value!r}{dimension.zero}"
    return int(value) if unit == "pkt" and float(value).is_integer() else float(value)
