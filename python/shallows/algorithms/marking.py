"""Markings of a scenario: a row of the core's catalog, with a value for every parameter."""

from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple, cast, get_args

import numpy as np

from shallows.algorithms import defaults, switch
from shallows.algorithms.parameters import read, text
from shallows.base.toml import is_table
from shallows.core import contract
from shallows.errors import ScenarioError, collect
from shallows.units import RATE, SIZE, did_you_mean

if TYPE_CHECKING:
    from shallows.algorithms.algorithm import Algorithm
    from shallows.core.contract import U32, U64
    from shallows.core.contract import Marking as MarkingToCore
    from shallows.core.rows import MarkingRow
    from shallows.units import Frame


@cache
def markings() -> "list[MarkingRow]":
    """The table of markings, as docs/crossing.md describes it."""
    from shallows import _core

    return _core.markings()


RECOMMENDED = "recommended"
"""A parameter that follows the rate of the port, the round trip and the frame (`defaults`)."""
ByRate = dict[int, float]
"""A parameter whose value depends on the rate of the port, in bit/s."""


MOST_CELL = 16384
"""Bytes of the largest cell; those of switches have some hundred."""


class Cells(NamedTuple):
    """The memory of a switch: bytes of a cell, and those of a full frame, which takes whole cells."""

    size: int
    frame: int

    def in_frames(self, threshold: float) -> float:
        """The bytes of the full frames that take as many cells as fit into `threshold`."""
        return threshold // self.size * self.frame / -(-self.frame // self.size)


@dataclass(frozen=True)
class Marking:
    """How switch ports mark: `kind`, the queue that they observe (`at`), and `parameters` in SI base units.

    A parameter has one value, a value for each rate of a port, or none until `settled` ("recommended").
    `cells`: ports compare whole cells with their thresholds; None: bytes.
    """

    kind: str
    at: contract.At
    parameters: dict[str, float | ByRate | None]
    cells: Cells | None = None

    def table(self, mtu: int | None) -> dict[str, object]:
        """The `marking` table of a scenario that describes this marking, with every parameter."""
        units = {p["name"]: p["unit"] for p in _row(self.kind)["parameters"]}

        def in_units(value: float | ByRate | None, unit: str) -> object:
            if isinstance(value, dict):
                return {RATE.text(rate): text(of_rate, unit, mtu) for rate, of_rate in value.items()}
            return RECOMMENDED if value is None else text(value, unit, mtu)

        texts = {key: in_units(value, units[key]) for key, value in self.parameters.items()}
        cell = {"cell": SIZE.text(self.cells.size)} if self.cells else {}
        return {"kind": self.kind, "at": self.at, **texts, **cell}

    @property
    def tells(self) -> str:
        """The feedback to senders: "marks", "rates" or "records"."""
        return tells(self.kind)

    @property
    def marks(self) -> bool:
        """False if ports drop all data that they would mark."""
        return self.parameters.get("ecn") != 0

    @property
    def drops(self) -> bool:
        """True if ports drop data, ECN-capable or not, where they would mark other data."""
        return not self.marks or self.parameters.get("nodrop") == 0

    @property
    def judges_heads(self) -> bool:
        """True if ports decide about packets as they leave, for which they need classes."""
        return _row(self.kind)["judges_heads"]

    @property
    def has_two_queues(self) -> bool:
        """True if ports have a queue for packets of L4S beside that of all others."""
        return _row(self.kind)["has_two_queues"]

    @property
    def draws(self) -> bool:
        """True if chance decides which packets are marked."""
        return _row(self.kind)["draws"]

    @property
    def thresholds(self) -> list[str]:
        """See `thresholds`."""
        return thresholds(self.kind)

    @property
    def adjustable(self) -> list[str]:
        """The parameters that ports may change during a run."""
        return _row(self.kind)["adjustable"]

    def may_become(self, other: "Marking | str") -> bool:
        """Return whether ports may mark like `other` from some time on."""
        if isinstance(other, str) or (self.kind, self.at) != (other.kind, other.at):
            return False
        fixed = self.parameters.keys() - self.adjustable
        return all(self.parameters[key] == other.parameters[key] for key in fixed)

    @property
    def flags(self) -> list[str]:
        """The parameters that are a yes or no."""
        return [one["name"] for one in _row(self.kind)["parameters"] if one["unit"] == "flag"]

    @property
    def recommended(self) -> list[str]:
        """The parameters that have no value yet."""
        return [key for key, value in self.parameters.items() if value is None]

    def settled(self, scale: defaults.Scale, rate_bps: "U64") -> "Marking":
        """The same marking with values for the recommended parameters at ports of these rates."""
        rules, rates = defaults.port_rules(_row(self.kind)), defaults.distinct(rate_bps).tolist()

        def value(key: str) -> float | ByRate:
            values = {rate: float(rules[key].value(rate, scale)) for rate in rates}
            return next(iter(values.values())) if len(set(values.values())) == 1 else values

        return replace(self, parameters=self.parameters | {key: value(key) for key in self.recommended})

    def largest_threshold(self, rate_bps: "U64") -> int:
        """Bytes of queue at which the last of these ports begins to mark; 0 if no queue decides.

        With two queues the bytes that it sends in the target delay.
        """
        target = self.parameters["target"] if self.has_two_queues else None
        if isinstance(target, float):
            return int(target * rate_bps.max(initial=0) / 8)
        if not self.thresholds:
            return 0
        points, _ = self.at_rates(rate_bps)
        return max((int(point["parameters"][self.thresholds[0]]) for point in points), default=0)

    def at_rates(self, rate_bps: "U64") -> "tuple[list[MarkingToCore], U32]":
        """The markings of ports of these rates, and the index of each port's.

        Raises `ScenarioError` for a rate without a value.
        """
        if not any(isinstance(value, dict) for value in self.parameters.values()):
            return [self._to_core(0)], np.zeros(len(rate_bps), np.uint32)
        rates = defaults.distinct(rate_bps)
        of_port = np.searchsorted(rates, rate_bps)
        points = [self._to_core(rate) for rate in rates.tolist()]
        distinct = [point for at, point in enumerate(points) if point not in points[:at]]
        index = np.array([distinct.index(point) for point in points], np.uint32)
        return distinct, index[of_port]

    def in_core(self, rate_bps: "U64") -> "tuple[list[MarkingToCore], U32]":
        """`at_rates` with the queues of full frames that reach the thresholds of ports that count cells."""
        points, place = self.at_rates(rate_bps)
        if self.cells:
            for point in points:
                parameters = point["parameters"]
                for key in self.thresholds:
                    parameters[key] = self.cells.in_frames(parameters[key])
        return points, place

    def _to_core(self, rate: int) -> "MarkingToCore":
        parameters: dict[str, float] = {}
        for key, value in self.parameters.items():
            of_rate = value.get(rate) if isinstance(value, dict) else value
            if of_rate is None:
                listed = ", ".join(map(RATE.text, value)) if isinstance(value, dict) else ""
                expected = f"a value for ports of {RATE.text(rate)} as well: there are {listed or 'none'}"
                raise ScenarioError(f"network.marking.{key}", None, expected)
            parameters[key] = of_rate
        return {"kind": self.kind, "at": self.at, "parameters": parameters}


def tells(kind: object) -> str:
    """The feedback of a port of this kind: "marks", "rates" or "records"."""
    return _row(kind)["tells"]


def thresholds(kind: object) -> list[str]:
    """Parameters that are lengths of the real queue: where marking begins, and where a ramp ends.

    A step has one, a ramp two; a kind that does not mark by the real queue has none.
    """
    return _row(kind)["thresholds"]


def that_change() -> list[str]:
    """The kinds with parameters that ports may change during a run."""
    return [row["name"] for row in markings() if row["adjustable"]]


def with_thresholds() -> list[str]:
    """The kinds that compare the real queue with thresholds."""
    return [row["name"] for row in markings() if row["thresholds"]]


def lacks_marks(used: "Algorithm", chosen: "Marking | str") -> bool:
    """Return whether an algorithm that reacts to marks alone gets none from ports with this marking."""
    wanted = used.congestion_point if used.lives_by_marks else None
    return wanted is not None and tells(wanted) == "marks" and (isinstance(chosen, str) or not chosen.marks)


def check_feedback(used: "Algorithm", chosen: "Marking | str", key: str) -> None:
    """Raise `ScenarioError` if ports with the marking `chosen`, whose key is `key`, do not mark for `used`.

    Over RoCE they need not: switches without ECN are a mistake that people meet, and ask about. Nor need they
    for a class or a sender of L4S, which react to losses too (RFC 9331, section 4.3): RFC 9743 asks for tests
    over ports that drop alone.
    """
    may_drop = used.transport == "roce" or used.user_class or used.traits["ect1"]
    if may_drop and lacks_marks(used, chosen):
        return
    if isinstance(chosen, str):
        if used.needs_marking:
            expected = f'a marking, which {used.label} needs, such as {{ kind = "{used.congestion_point}" }}'
            raise ScenarioError(key, chosen, expected)
    elif used.lives_by_marks and not chosen.marks:
        raise ScenarioError(f"{key}.ecn", False, f"true: {used.label} needs marks")


def choose(table: dict[str, object], frame: "Frame") -> Marking:
    """The `Marking` of a `marking` table. Raises `ScenarioError` relative to the table."""
    table = switch.translated("marking", table)
    row = _row(table["kind"]) if "kind" in table else _kind_of(table)
    values: dict[str, float | ByRate | None] = {p["name"]: float(p["default"]) for p in row["parameters"]}
    follow = defaults.port_rules(row)
    values |= dict.fromkeys(follow)

    def take(key: str, value: object) -> None:
        values[key] = _by_rate(row, key, value, frame) if key in follow else read(row, key, value, frame)

    recommended = [key for key in follow if table.get(key) == RECOMMENDED]
    cells = _cells(row, table["cell"], frame) if "cell" in table else None
    set_ = {key: value for key, value in table.items() if key not in ("kind", "at", "cell", *recommended)}
    collect(partial(take, key, value) for key, value in set_.items())
    at = cast("contract.At", table.get("at", row["at"]))
    if at not in get_args(contract.At):
        raise ScenarioError("at", at, " or ".join(f'"{one}"' for one in get_args(contract.At)))
    chosen = Marking(row["name"], at, values, cells)
    _check_combinations(chosen, row)
    return chosen


def _kind_of(table: dict[str, object]) -> "MarkingRow":
    """The kind of a table that names none: of those with thresholds the first that has most of its keys."""
    rows = [row for row in markings() if row["thresholds"]]
    return max(rows, key=lambda row: sum(one["name"] in table for one in row["parameters"]))


def _cells(row: "MarkingRow", value: object, frame: "Frame") -> Cells:
    """The cells of a switch whose ports mark so."""
    if not row["thresholds"]:
        kinds = " or ".join(with_thresholds())
        raise ScenarioError("cell", value, f"no cell with {row['name']}: ports of {kinds} compare cells")
    try:
        size = SIZE.parse(value, least=1)
    except ValueError as error:
        raise ScenarioError("cell", value, str(error)) from None
    if size > MOST_CELL:
        raise ScenarioError("cell", value, f"at most {SIZE.text(MOST_CELL)}, such as 256B")
    return Cells(size, frame.wire)


def _check_combinations(chosen: Marking, row: "MarkingRow") -> None:
    """Refuse values that others leave without effect."""
    given = chosen.parameters
    if chosen.judges_heads and chosen.at != row["at"]:
        raise ScenarioError("at", chosen.at, f'"{row["at"]}": {chosen.kind} looks at packets that leave')
    if not chosen.marks and given.get("nodrop"):
        raise ScenarioError("nodrop", True, "false: with ecn = false the port drops all data alike")
    if given.get("extended") and given.get("gentle"):
        raise ScenarioError("gentle", True, "false: with extended = true the ramp goes on at its slope")


def _by_rate(row: "MarkingRow", key: str, value: object, frame: "Frame") -> float | ByRate:
    """One value, or a value for each rate: { 10Gbps = "97.5KB", 40Gbps = "390KB" }."""
    if not is_table(value):
        return read(row, key, value, frame)
    if not value:
        raise ScenarioError(key, None, 'a size, or a table of sizes by rate such as { 10Gbps = "65pkt" }')
    sizes: ByRate = {}
    for rate, size in value.items():
        try:
            sizes[RATE.parse(rate, least=1)] = read(row, key, size, frame)
        except ValueError as error:
            if isinstance(error, ScenarioError):
                raise ScenarioError(f"{key}.{rate}", error.value, error.expected) from None
            raise ScenarioError(f"{key}.{rate}", size, f"the rate of a port as a key: {error}") from None
    return sizes


def _row(kind: object) -> "MarkingRow":
    rows = {row["name"]: row for row in markings()}
    if str(kind) not in rows:
        raise ScenarioError("kind", kind, f"one of {', '.join(rows)}{did_you_mean(kind, rows)}")
    return rows[str(kind)]
