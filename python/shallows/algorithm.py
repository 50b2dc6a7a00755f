"""Algorithms as a scenario names them: a row of the catalog with a value for every parameter."""

from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

from shallows import user_algorithms
from shallows.errors import ScenarioError
from shallows.parameters import read, text, within
from shallows.settings import nic
from shallows.units import Frame, did_you_mean

LEAST_THRESHOLD = {"dctcp": (7, "DCTCP, SIGCOMM 2010 eq. 13")}
"""Least thresholds of the algorithms whose paper gives one."""


@cache
def catalog() -> list[dict[str, Any]]:
    """The table of algorithms, as docs/crossing.md describes it."""
    from shallows import _core

    return _core.catalog()


@cache
def receivers() -> list[dict[str, Any]]:
    """The table of receivers that can stand in for an algorithm's own."""
    from shallows import _core

    return _core.receivers()


@dataclass(frozen=True)
class Receiver:
    """A receiver of that table with a value for each of its parameters, in SI base units."""

    kind: str
    parameters: dict[str, float]

    def table(self, mtu: int | None) -> dict[str, Any]:
        """The `receiver` table that gives this, every parameter written out."""
        return {"kind": self.kind, **_texts(_row(self.kind, receivers()), self.parameters, mtu)}


@dataclass(frozen=True)
class Algorithm:
    """An algorithm with a value for each of its parameters, in SI base units.

    `user_class` is the class of an algorithm in Python. Its `name` is its location, and results use `called`.
    """

    name: str
    preset: str | None
    parameters: dict[str, Any]
    receiver: Receiver | None = None
    user_class: type[Any] | None = None
    called: str | None = None

    def __repr__(self) -> str:
        """As a scenario in Python names it, with every parameter and its unit."""
        name, *keys = self.table(None).items()
        return f"CC({name[1]!r}{''.join(f', {key}={value!r}' for key, value in keys)})"

    @property
    def native(self) -> bool:
        """Whether only a kernel has it."""
        return self.name in NATIVE

    @property
    def label(self) -> str:
        """The name as results have it: "dctcp" or "vegas@ns-2"; of a class its own."""
        if self.called:
            return self.called
        return f"{self.name}@{self.preset}" if self.preset else self.name

    @property
    def transport(self) -> str:
        """What carries its packets: "tcp", "rated", "roce", "credit" or "pulled"."""
        return "tcp" if self.user_class or self.native else _row(self.name)["transport"]

    @property
    def supported_keys(self) -> frozenset[str]:
        """The keys of a scenario that act on its flows, of those that do not act on every flow."""
        if self.user_class or self.native:
            return frozenset(key for row in catalog() if row["transport"] == "tcp" for key in row["honours"])
        return frozenset(_row(self.name)["honours"])

    def with_defaults(self, frame: Frame) -> "Algorithm":
        """The same algorithm, every parameter at its default."""
        return choose(self.name, frame)

    @property
    def needs_marking(self) -> bool:
        """Whether it is lost at ports that do not mark."""
        if self.user_class:
            return bool(getattr(self.user_class, "ecn", False))
        if self.native:
            return False
        marking = _row(self.name)["marking"]
        return marking == "required" or bool(self.parameters.get(marking))

    @property
    def congestion_point(self) -> str | None:
        """The kind of marking it needs at the ports; None if it does without."""
        if not self.needs_marking:
            return None
        return "step" if self.user_class else _row(self.name)["port"]

    @property
    def least_threshold(self) -> tuple[int, str] | None:
        """(n, source): a lower step threshold than 1/n of the bandwidth-delay product leaves a link idle."""
        return LEAST_THRESHOLD.get(self.name)

    @property
    def credits(self) -> tuple[int, int, int] | None:
        """Bytes of a credit and of a burst, and how many wait, where ports need a class for them, or None."""
        if self.user_class or self.native or _row(self.name)["port"] != "credit":
            return None
        size, burst, queue = (int(self.parameters[key]) for key in ("credit", "credit_burst", "credit_queue"))
        return size, burst * size, queue

    @property
    def trims(self) -> bool:
        """Whether switch ports are to cut its packets to their headers instead of dropping them."""
        return not (self.user_class or self.native) and _row(self.name)["port"] == "trim"

    @property
    def pacer(self) -> dict[str, float] | None:
        """Parameters of the pacer that its flows share in a host, in SI base units, or None without one."""
        if not (self.parameters.get("per_server") and self.parameters.get("pacer")):
            return None
        return {key: self.parameters[key] for key in ("eta", "beta", "period", "least_rate", "bucket")}

    def table(self, mtu: int | None) -> dict[str, Any]:
        """The `[cc]` table that gives this algorithm, every parameter written out."""
        receiver = {"receiver": self.receiver.table(mtu)} if self.receiver else {}
        if self.user_class:
            return {"name": self.name, **self.parameters, **receiver}
        texts = {} if self.native else _texts(_row(self.name), self.parameters, mtu)
        return {"name": self.label, **texts, **receiver}

    @property
    def crossing(self) -> dict[str, Any]:
        """What the core is given, as docs/crossing.md describes it."""
        receiver = self.receiver
        table = {"receiver": {"kind": receiver.kind, "parameters": receiver.parameters}} if receiver else {}
        if self.user_class:
            # Its packets and acks are those of the row that it stands in for.
            row = "dctcp" if self.needs_marking else "fixed"
            made = partial(self.user_class, **self.parameters)
            return {"name": row, "parameters": {}, "written": made, **table}
        return {"name": self.name, "parameters": self.parameters, **table}


def choose(table: object, frame: Frame, folder: Path = Path()) -> Algorithm:
    """The `Algorithm` of a `[cc]` table, or of a name alone. Raises `ScenarioError` relative to the table.

    A file that it names is looked for in `folder` first.
    """
    if isinstance(table, str | type):
        table = {"name": table}
    if not isinstance(table, dict):
        raise ValueError('the name of an algorithm, such as "dctcp", or a table with it')
    table = cast(dict[str, Any], table)
    if not isinstance(table.get("name"), str | type):
        raise ScenarioError("name", None, 'the name of an algorithm, such as "dctcp"; it is missing')
    found = user_algorithms.find(table["name"], folder)
    if found:
        return _of_class(table, frame, *found)
    if table["name"] in NATIVE:
        return _of_the_kernel(table, frame)
    name, _, preset = table["name"].partition("@")
    row = _row(name)
    values = {p["name"]: float(p["default"]) for p in row["parameters"]}
    values |= _preset(row, preset, table["name"])
    values |= _parameters(row, table, frame)
    return Algorithm(name, preset or None, values, _receiver(table.get("receiver"), frame))


def _parameters(row: dict[str, Any], table: dict[str, Any], frame: Frame) -> dict[str, float]:
    """The parameters that a table sets, in SI base units; `dcqcn` also takes a NIC's names for them."""
    known = {p["name"]: p for p in row["parameters"]}
    values: dict[str, float] = {}
    for key, value in table.items():
        if key in ("name", "receiver"):
            continue
        translated = nic.parameter(key, value) if row["name"] == "dcqcn" and key not in known else None
        name, number = translated or (key, read(row, key, value, frame))
        within(known[name], number, key, value, frame)
        if name in values:
            raise ScenarioError(key, value, f"{name} once: another key of the table sets it too")
        values[name] = number
    return values


NATIVE = ("bbr",)


def _of_class(table: dict[str, Any], frame: Frame, name: str, called: str, algorithm: type[Any]) -> Algorithm:
    parameters = {key: value for key, value in table.items() if key not in ("name", "receiver")}
    values = user_algorithms.read(algorithm, parameters)
    return Algorithm(name, None, values, _receiver(table.get("receiver"), frame), algorithm, called)


def _of_the_kernel(table: dict[str, Any], frame: Frame) -> Algorithm:
    unknown = [key for key in table if key not in ("name", "receiver")]
    if unknown:
        expected = "no parameters: this algorithm is the kernel's own"
        raise ScenarioError(unknown[0], table[unknown[0]], expected)
    return Algorithm(table["name"], None, {}, _receiver(table.get("receiver"), frame))


def _receiver(table: Any, frame: Frame) -> Receiver | None:
    """The `Receiver` of a `receiver` table, or of a name alone; None of none."""
    if table is None:
        return None
    table = {"kind": table} if isinstance(table, str) else table
    if not (isinstance(table, dict) and isinstance(cast(dict[str, Any], table).get("kind"), str)):
        raise ScenarioError("receiver.kind", None, 'the name of a receiver, such as "inigo"; it is missing')
    table = cast(dict[str, Any], table)
    try:
        kind, _, preset = table["kind"].partition("@")
        row = _row(kind, receivers())
        values = {p["name"]: float(p["default"]) for p in row["parameters"]}
        values |= _preset(row, preset, table["kind"])
        values |= {key: read(row, key, value, frame) for key, value in table.items() if key != "kind"}
    except ScenarioError as error:
        key = "kind" if error.key == "name" else error.key
        raise ScenarioError(f"receiver.{key}", error.value, error.expected) from None
    return Receiver(kind, values)


def _texts(row: dict[str, Any], parameters: dict[str, Any], mtu: int | None) -> dict[str, Any]:
    units = {p["name"]: p["unit"] for p in row["parameters"]}
    return {key: text(value, units[key], mtu) for key, value in parameters.items()}


def _row(name: str, table: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    rows = {row["name"]: row for row in (catalog() if table is None else table)}
    if name not in rows:
        raise ScenarioError("name", name, f"one of {', '.join(rows)}{did_you_mean(name, rows)}")
    return rows[name]


def _preset(row: dict[str, Any], preset: str, name: str) -> dict[str, Any]:
    presets = {p["name"]: dict(p["values"]) for p in row["presets"]}
    if preset and preset not in presets:
        known = ", ".join(f"{row['name']}@{p}" for p in presets) or f"{row['name']} alone: it has no presets"
        raise ScenarioError("name", name, f"{known}{did_you_mean(preset, presets)}")
    return presets.get(preset, {})
