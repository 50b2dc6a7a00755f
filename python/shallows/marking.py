"""Markings of a scenario: a row of the core's catalog, with a value for every parameter."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.errors import ScenarioError
from shallows.parameters import read, text
from shallows.settings import switch
from shallows.units import did_you_mean

if TYPE_CHECKING:
    from shallows.contract import U32, U64
    from shallows.units import Frame


RECOMMENDED = None
"""The step threshold that depends on the rate of each port."""


@cache
def markings() -> list[dict[str, Any]]:
    """The table of markings, as docs/crossing.md describes it."""
    from shallows import _core

    return _core.markings()


@dataclass(frozen=True)
class Marking:
    """How switch ports mark: `kind`, `at` (enqueue or dequeue), and `parameters` in SI base units."""

    kind: str
    at: str
    parameters: dict[str, Any]

    def table(self, mtu: int | None) -> dict[str, Any]:
        """The `marking` table of a scenario that describes this marking, with every parameter."""
        units = {p["name"]: p["unit"] for p in _row(self.kind)["parameters"]}
        texts = {
            key: "recommended" if value is RECOMMENDED else text(value, units[key], mtu)
            for key, value in self.parameters.items()
        }
        return {"kind": self.kind, "at": self.at, **texts}

    @property
    def tells(self) -> str:
        """The feedback to senders: "marks", "rates" or "records"."""
        return tells(self.kind)

    def largest_threshold(self, rate_bps: "U64", mtu: int) -> int:
        """Bytes of queue at which the last of these ports begins to mark; 0 if no queue decides."""
        begins = {"step": "threshold", "red": "kmin"}.get(self.kind)
        points, _ = self.at_rates(rate_bps, mtu)
        return max(int(point["parameters"][begins]) for point in points) if begins else 0

    def at_rates(self, rate_bps: "U64", mtu: int) -> "tuple[list[dict[str, Any]], U32]":
        """The markings for ports with these rates, and the index of each port's marking."""
        if RECOMMENDED not in self.parameters.values():
            return [self._crossing(self.parameters)], np.zeros(len(rate_bps), np.uint32)
        thresholds, place = np.unique(recommended(rate_bps, mtu), return_inverse=True)
        return [self._crossing({**self.parameters, "threshold": float(t)}) for t in thresholds], place.astype(
            np.uint32
        )

    def _crossing(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return {"kind": self.kind, "at": self.at, "parameters": parameters}


def tells(kind: object) -> str:
    """The feedback of a port of this kind: "marks", "rates" or "records"."""
    return _row(kind)["tells"]


def recommended(rate_bps: "U64", mtu: int) -> "U64":
    """Step thresholds in bytes for ports of these rates: 20 packets at 1 Gbps, 65 at 10 Gbps."""
    packets = np.maximum(20, np.ceil(np.asarray(rate_bps, np.float64) * 6.5e-9))
    return packets.astype(np.uint64) * np.uint64(mtu)


def choose(table: dict[str, Any], frame: "Frame") -> Marking:
    """The `Marking` of a `marking` table. Raises `ScenarioError` relative to the table."""
    table = switch.translated("marking", table)
    row = _row(table.get("kind", "red" if "kmin" in table else "step"))
    values: dict[str, Any] = {p["name"]: float(p["default"]) for p in row["parameters"]}
    if row["name"] == "step":
        values["threshold"] = RECOMMENDED
    for key, value in table.items():
        if key in ("kind", "at"):
            continue
        if not (row["name"] == "step" and key == "threshold" and value == "recommended"):
            values[key] = read(row, key, value, frame)
    at = table.get("at", row["at"])
    if at not in ("enqueue", "dequeue"):
        raise ScenarioError("at", at, '"enqueue" or "dequeue"')
    return Marking(row["name"], at, values)


def _row(kind: object) -> dict[str, Any]:
    rows = {row["name"]: row for row in markings()}
    if str(kind) not in rows:
        raise ScenarioError("kind", kind, f"one of {', '.join(rows)}{did_you_mean(kind, rows)}")
    return rows[kind]
