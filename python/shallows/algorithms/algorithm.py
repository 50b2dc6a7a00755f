"""Algorithms of a scenario: a row of the catalog, with a value for every parameter."""

from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from shallows.algorithms import nic, traits, user_algorithms
from shallows.algorithms.parameters import read, text, within
from shallows.algorithms.traits import NATIVE
from shallows.base.toml import is_table
from shallows.core.rows import AlgorithmRow, Row, Traits
from shallows.errors import ScenarioError, collect
from shallows.units import Frame, did_you_mean

if TYPE_CHECKING:
    from shallows.core.contract import Control
    from shallows.core.contract import Receiver as ReceiverToCore

R = TypeVar("R", bound=Row)

LINUX = "linux"
"""The name of presets with the values of Linux, whose receivers acknowledge every second packet. Not
modelled: that Linux acknowledges each of the first packets of a connection, and after a pause (quick
acknowledgements).
"""


@cache
def catalog() -> list[AlgorithmRow]:
    """The catalog of algorithms (docs/crossing.md)."""
    from shallows import _core

    return _core.catalog()


@cache
def receivers() -> list[Row]:
    """The catalog of receivers that can replace an algorithm's own."""
    from shallows import _core

    return _core.receivers()


@dataclass(frozen=True)
class Receiver:
    """A receiver of the catalog, with a value for every parameter in SI base units."""

    kind: str
    parameters: dict[str, float]

    def table(self, mtu: int | None) -> dict[str, object]:
        """The `receiver` table of a scenario that describes this receiver, with every parameter."""
        return {"kind": self.kind, **_texts(_named(self.kind, receivers()), self.parameters, mtu)}


class PublishedStep(NamedTuple):
    """The parameter that sets how fast a flow takes free bandwidth, and its bit/s for a rate in the paper."""

    key: str
    step: float
    rate: float
    source: str


@dataclass(frozen=True)
class Algorithm:
    """An algorithm with a value for every parameter, in SI base units.

    `user_class` is the class of an algorithm in Python. Its `name` is its location, and results use `called`.
    `chosen` are the parameters that its table sets; the others may follow the rate (`defaults`).
    """

    name: str
    preset: str | None
    parameters: dict[str, Any]
    receiver: Receiver | None = None
    user_class: type[object] | None = None
    called: str | None = None
    chosen: frozenset[str] = field(default=frozenset(), compare=False)

    def __repr__(self) -> str:
        """The Python expression for this algorithm, with every parameter and its unit."""
        name, *keys = self.table(None).items()
        return f"CC({name[1]!r}{''.join(f', {key}={value!r}' for key, value in keys)})"

    @property
    def native(self) -> bool:
        """True if only the kernel world has this algorithm."""
        return self.name in NATIVE

    @property
    def label(self) -> str:
        """The name in results: "dctcp", "vegas@ns-2", or the name of a class."""
        if self.called:
            return self.called
        return f"{self.name}@{self.preset}" if self.preset else self.name

    @property
    def acks_every(self) -> int:
        """Data packets that an acknowledgement of its receivers covers, unless `hosts.acks_every` is set."""
        return 2 if self.preset == LINUX else 1

    @property
    def transport(self) -> str:
        """The transport of its flows: "tcp", "rated", "roce", "credit", "pulled" or "unordered"."""
        if self.user_class:
            return user_algorithms.transport(self.user_class)
        return "tcp" if self.native else row_of(self.name)["transport"]

    @property
    def carrier(self) -> str:
        """The row of the catalog whose packets and acknowledgements its flows have."""
        if not self.user_class:
            return traits.LOSSES if self.native else self.name
        marked, unmarked = traits.CARRIERS[self.transport]
        return marked if self.needs_marking or unmarked is None else unmarked

    @property
    def supported_keys(self) -> frozenset[str]:
        """The keys of a scenario that act on its flows, apart from keys that act on every flow."""
        if self.user_class or self.native:
            rows = (row for row in catalog() if row["transport"] == self.transport)
            keys = {"hosts.initial_window"}.union(*(row["honours"] for row in rows))
            gapless = self.needs_marking and self.transport == "tcp"
            return frozenset(keys - {"hosts.gap"} if gapless else keys)
        return frozenset(row_of(self.name)["honours"])

    def with_defaults(self, frame: Frame) -> "Algorithm":
        """The same algorithm with every parameter at its default."""
        return choose(self.name, frame)

    @property
    def needs_marking(self) -> bool:
        """True if the algorithm has no feedback from ports that do not mark."""
        if self.user_class:
            return bool(getattr(self.user_class, "ecn", False))
        if self.native:
            return False
        marking = row_of(self.name)["marking"]
        return marking == "required" or bool(self.parameters.get(marking))

    @property
    def lives_by_marks(self) -> bool:
        """True if the algorithm is nothing without marks; Reno with ECN has losses too."""
        if self.user_class or self.native:
            return self.needs_marking
        return row_of(self.name)["marking"] == "required"

    @property
    def congestion_point(self) -> str | None:
        """The kind of marking that it needs at ports; None if it needs none."""
        if not self.needs_marking:
            return None
        return "step" if self.user_class else row_of(self.name)["port"]

    @property
    def least_threshold(self) -> tuple[int, str] | None:
        """(n, source): a step threshold below 1/n of the bandwidth-delay product leaves the link idle."""
        return self.traits["least_threshold"]

    @property
    def traits(self) -> Traits:
        """What the algorithm is to those who run and explain it."""
        if self.user_class:
            return traits.of_class(self.user_class)
        return NATIVE[self.name] if self.native else row_of(self.name)["traits"]

    @property
    def published_step(self) -> "PublishedStep | None":
        """How fast its flows take free bandwidth in its paper; None where its catalog row does not say."""
        if not (self.traits["step"] and self.traits["reference_bps"]):
            return None
        key, source = self.traits["step"]
        step = next(one["default"] for one in row_of(self.name)["parameters"] if one["name"] == key)
        return PublishedStep(key, step, self.traits["reference_bps"], source)

    @property
    def takes_least_rtt(self) -> bool:
        """True if its base round trip is the smallest that a flow measured, which a queue may be part of."""
        usual, flag = self.traits["least_rtt"]
        return usual != bool(flag and self.parameters.get(flag))

    @property
    def credits(self) -> tuple[int, int, int, int] | None:
        """Bytes of a credit, bytes of a burst, queued credits and the jitter of switches in picoseconds, for
        ports with a class of credits; else None.
        """
        if self.user_class or self.native or row_of(self.name)["port"] != "credit":
            return None
        size, burst, queue = (int(self.parameters[key]) for key in ("credit", "credit_burst", "credit_queue"))
        return size, burst * size, queue, round(self.parameters["switch_jitter"] * 1e12)

    @property
    def trims(self) -> bool:
        """True if switch ports shall trim its packets instead of dropping them."""
        return row_of(self.carrier)["trims"]

    @property
    def draws(self) -> bool:
        """True if its flows draw random numbers from the seed. What a class draws itself is not known."""
        return not (self.user_class or self.native) and row_of(self.name)["draws"]

    @property
    def probes(self) -> bool:
        """True if its flows probe their paths with control packets, which go before data at every port."""
        return bool(self.traits["probes"]) and all(self.parameters.get(key) for key in self.traits["probes"])

    @property
    def pacer(self) -> dict[str, float] | None:
        """Parameters, in SI base units, of the pacer that its flows share on a host; None without a pacer."""
        if not (self.parameters.get("per_server") and self.parameters.get("pacer")):
            return None
        return {key: self.parameters[key] for key in ("eta", "beta", "period", "least_rate", "bucket")}

    def table(self, mtu: int | None) -> dict[str, object]:
        """The `[cc]` table of a scenario that describes this algorithm, with every parameter."""
        receiver = {"receiver": self.receiver.table(mtu)} if self.receiver else {}
        if self.user_class:
            return {"name": self.name, **self.parameters, **receiver}
        texts = {} if self.native else _texts(row_of(self.name), self.parameters, mtu)
        return {"name": self.label, **texts, **receiver}

    def to_core(self) -> "Control":
        """This algorithm in a request to the core."""
        used = self.receiver
        receiver: ReceiverToCore | None = {"kind": used.kind, "parameters": used.parameters} if used else None
        if self.user_class:
            made = partial(self.user_class, **self.parameters)
            return {"name": self.carrier, "parameters": {}, "user_algorithm": made, "receiver": receiver}
        return {"name": self.name, "parameters": self.parameters, "receiver": receiver}


def choose(table: object, frame: Frame, folder: Path = Path()) -> Algorithm:
    """The `Algorithm` of a `[cc]` table, or of a name. Raises `ScenarioError` with keys relative to the
    table.

    A file is searched in `folder` first.
    """
    if isinstance(table, str | type):
        table = {"name": table}
    if not isinstance(table, dict):
        raise ValueError('the name of an algorithm, such as "dctcp", or a table with it')
    table = cast(dict[str, Any], table)
    if not isinstance(table.get("name"), str | type):
        missing = "" if "name" in table else "; it is missing"
        raise ScenarioError("name", table.get("name"), f'the name of an algorithm, such as "dctcp"{missing}')
    found = user_algorithms.find(table["name"], folder)
    if found:
        return _of_class(table, frame, *found)
    if table["name"] in NATIVE:
        return _of_the_kernel(table, frame)
    name, _, preset = table["name"].partition("@")
    row = row_of(name)
    values = {p["name"]: float(p["default"]) for p in row["parameters"]}
    values |= _preset(row, preset, table["name"])
    given = _parameters(row, table, frame)
    values |= given
    values |= _of_no_effect(row, values, given, frame)
    receiver = _receiver(table.get("receiver"), frame)
    return Algorithm(name, preset or None, values, receiver, chosen=frozenset(given))


def _of_no_effect(
    row: AlgorithmRow, values: dict[str, float], given: dict[str, float], frame: Frame
) -> dict[str, float]:
    """The parameters whose flag is off, at their defaults. Raises `ScenarioError` if a table sets another."""
    found: dict[str, float] = {}
    for one in row["parameters"]:
        key, flag, default = one["name"], one.get("needs"), float(one["default"])
        if flag is None or values[flag]:
            continue
        found[key] = default
        if given.get(key, default) != default:
            expected = f"{flag} = true beside it: without it {key} acts on nothing"
            raise ScenarioError(key, text(given[key], one["unit"], frame.wire), expected)
    return found


def _parameters(row: AlgorithmRow, table: dict[str, object], frame: Frame) -> dict[str, float]:
    """The parameters that a table sets, in SI base units; that of NICs also takes their names for them."""
    known = {p["name"]: p for p in row["parameters"]}
    values: dict[str, float] = {}

    def take(key: str, value: object) -> None:
        translated = nic.parameter(key, value) if row["name"] == nic.ALGORITHM and key not in known else None
        name, number = translated or (key, read(row, key, value, frame))
        within(known[name], number, key, value, frame)
        if name in values:
            raise ScenarioError(key, value, f"{name} once: another key of the table sets it too")
        values[name] = number

    set_ = {key: value for key, value in table.items() if key not in ("name", "receiver")}
    collect(partial(take, key, value) for key, value in set_.items())
    return values


def _of_class(
    table: dict[str, object], frame: Frame, name: str, called: str, algorithm: type[object]
) -> Algorithm:
    parameters = {key: value for key, value in table.items() if key not in ("name", "receiver")}
    values = user_algorithms.read(algorithm, parameters)
    return Algorithm(name, None, values, _receiver(table.get("receiver"), frame), algorithm, called)


def _of_the_kernel(table: dict[str, Any], frame: Frame) -> Algorithm:
    unknown = [key for key in table if key not in ("name", "receiver")]
    if unknown:
        expected = "no parameters: this algorithm is the kernel's own"
        raise ScenarioError(unknown[0], table[unknown[0]], expected)
    return Algorithm(table["name"], None, {}, _receiver(table.get("receiver"), frame))


def _receiver(table: object, frame: Frame) -> Receiver | None:
    """The `Receiver` of a `receiver` table, or of a name; None if there is none."""
    if table is None:
        return None
    table = {"kind": table} if isinstance(table, str) else table
    if not is_table(table):
        raise ScenarioError("receiver", table, 'the name of a receiver, such as "inigo", or a table with it')
    if not isinstance(table.get("kind"), str):
        missing = "" if "kind" in table else "; it is missing"
        expected = f'the name of a receiver, such as "inigo"{missing}'
        raise ScenarioError("receiver.kind", table.get("kind"), expected)
    try:
        kind, _, preset = table["kind"].partition("@")
        row = _named(kind, receivers())
        values = {p["name"]: float(p["default"]) for p in row["parameters"]}
        values |= _preset(row, preset, table["kind"])
        values |= {key: read(row, key, value, frame) for key, value in table.items() if key != "kind"}
    except ScenarioError as error:
        key = "kind" if error.key == "name" else error.key
        raise ScenarioError(f"receiver.{key}", error.value, error.expected) from None
    return Receiver(kind, values)


def _texts(row: Row, parameters: dict[str, float], mtu: int | None) -> dict[str, str | float]:
    units = {p["name"]: p["unit"] for p in row["parameters"]}
    return {key: text(value, units[key], mtu) for key, value in parameters.items()}


def traits_of(name: str) -> Traits:
    """The traits of an algorithm by its name; those of a class are not known by its name."""
    rows = {row["name"]: row["traits"] for row in catalog()}
    return rows.get(name) or NATIVE.get(name) or traits.UNKNOWN


def in_catalog(name: object) -> str:
    """`name`, if the catalog has it; raises `ScenarioError` for anything else, such as a class in a file."""
    return row_of(str(name))["name"]


def row_of(name: str) -> AlgorithmRow:
    """The row of the catalog with this name. Raises `ScenarioError` for an unknown one."""
    return _named(name, catalog())


def _named(name: str, table: list[R]) -> R:
    rows = {row["name"]: row for row in table}
    if name not in rows:
        raise ScenarioError("name", name, f"one of {', '.join(rows)}{did_you_mean(name, rows)}")
    return rows[name]


def _preset(row: Row, preset: str, name: str) -> dict[str, float]:
    presets = {p["name"]: p["values"] for p in row.get("presets", ())}
    if preset and preset not in presets:
        known = ", ".join(f"{row['name']}@{p}" for p in presets) or f"{row['name']} alone: it has no presets"
        raise ScenarioError("name", name, f"{known}{did_you_mean(preset, presets)}")
    return presets.get(preset, {})
