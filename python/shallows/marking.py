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
    from shallows.contract import Marking as MarkingToCore
    from shallows.units import Frame


@cache
def markings() -> list[dict[str, Any]]:
    """The table of markings, as docs/crossing.md describes it."""
    from shallows import _core

    return _core.markings()


@dataclass(frozen=True)
class Marking:
    """How switch ports mark: `kind`, the queue that they observe (`at`), and `parameters` in SI base units.

    recommended: True if the step threshold of each port follows from its rate.
    """

    kind: str
    at: str
    parameters: dict[str, float]
    recommended: bool = False

    def table(self, mtu: int | None) -> dict[str, Any]:
        """The `marking` table of a scenario that describes this marking, with every parameter."""
        units = {p["name"]: p["unit"] for p in _row(self.kind)["parameters"]}
        texts = {key: text(value, units[key], mtu) for key, value in self.parameters.items()}
        recommended = {"threshold": "recommended"} if self.recommended else {}
        return {"kind": self.kind, "at": self.at, **recommended, **texts}

    @property
    def tells(self) -> str:
        """The feedback to senders: "marks", "rates" or "records"."""
        return tells(self.kind)

    def largest_threshold(self, rate_bps: "U64", mtu: int) -> int:
        """Bytes of queue at which the last of these ports begins to mark; 0 if no queue decides."""
        begins = {"step": "threshold", "red": "kmin"}.get(self.kind)
        points, _ = self.at_rates(rate_bps, mtu)
        return max(int(point["parameters"][begins]) for point in points) if begins else 0

    def at_rates(self, rate_bps: "U64", mtu: int) -> "tuple[list[MarkingToCore], U32]":
        """The markings of the core's request for ports of these rates, and the index of each port's."""
        if not self.recommended:
            return [self._to_core(self.parameters)], np.zeros(len(rate_bps), np.uint32)
        thresholds, index = np.unique(recommended(rate_bps, mtu), return_inverse=True)
        markings = [self._to_core({**self.parameters, "threshold": float(t)}) for t in thresholds]
        return markings, index.astype(np.uint32)

    def _to_core(self, parameters: dict[str, float]) -> "MarkingToCore":
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
    by_rate = row["name"] == "step" and table.get("threshold", "recommended") == "recommended"
    values: dict[str, float] = {p["name"]: float(p["default"]) for p in row["parameters"]}
    if by_rate:
        del values["threshold"]
    for key, value in table.items():
        if key not in ("kind", "at") and not (by_rate and key == "threshold"):
            values[key] = read(row, key, value, frame)
    at = table.get("at", row["at"])
    if at not in ("enqueue", "dequeue"):
        raise ScenarioError("at", at, '"enqueue" or "dequeue"')
    return Marking(row["name"], at, values, by_rate)


def _row(kind: object) -> dict[str, Any]:
    rows = {row["name"]: row for row in markings()}
    if str(kind) not in rows:
        raise ScenarioError("kind", kind, f"one of {', '.join(rows)}{did_you_mean(kind, rows)}")
    return rows[kind]
