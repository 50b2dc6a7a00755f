"""Parameters of the compiled-in tables (algorithms, markings): texts with units and SI base units."""

from decimal import Decimal

from shallows.core.rows import Parameter, Row
from shallows.errors import ScenarioError, UnknownKeyError
from shallows.units import RATE, SIZE, TIME, Frame, did_you_mean


def read(row: Row, key: str, value: object, frame: Frame) -> float:
    """The value of parameter `key` of a catalog row in SI base units. Raises `ScenarioError` with `key`."""
    known = {p["name"]: p for p in row["parameters"]}
    if key not in known:
        has = ", ".join(known) or "no parameters"
        meant = did_you_mean(key, known)
        raise UnknownKeyError(key, value, f"a parameter of {row['name']} ({has}){meant}")
    try:
        number = _in_unit(value, known[key]["unit"], frame)
    except ValueError as error:
        raise ScenarioError(key, value, str(error)) from None
    within(known[key], number, key, value, frame)
    return number


def within(parameter: Parameter, number: float, key: str, value: object, frame: Frame) -> None:
    """Raises `ScenarioError` with `key` and `value` where `number`, in SI units, is out of range."""
    low, high = parameter["min"], parameter["max"]
    if not low <= number <= high:
        low, high = (text(bound, parameter["unit"], frame.wire) for bound in (low, high))
        raise ScenarioError(key, value, f"{low} to {high}")


def _in_unit(value: object, unit: str, frame: Frame) -> float:
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


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def text(value: float, unit: str, mtu: int | None) -> str | float | bool:
    """A value in SI base units as a scenario writes it: a text with its unit, a number, a flag."""
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
