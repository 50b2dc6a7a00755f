"""The keys of a scenario that a world and a transport support, and refusal of all other keys that are set.

A world declares its keys as a `World`, beside its `run`; those of a transport are in the core's catalog, a
list for each algorithm. A key that is set and that nobody declares is refused, so a new key is never ignored
silently. `world_table` and `transport_table` are the tables of docs/scenario-worlds.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from shallows.errors import ScenarioError
from shallows.scenario.tables import HostTable, NetworkTable
from shallows.topology import KINDS as TOPOLOGIES
from shallows.traffic import KINDS as TRAFFICS

if TYPE_CHECKING:
    from shallows.algorithms.algorithm import Algorithm
    from shallows.base.table import Table
    from shallows.scenario import Scenario
    from shallows.scenario.resolved import Draft


KINDS = {"topology": TOPOLOGIES, "traffic": TRAFFICS}
WorldName = Literal["packet", "fluid", "kernel", "wire"]
REAL_TIME: tuple[WorldName, ...] = ("kernel", "wire")
"""Worlds whose runs take as long as they say, and differ from one to the next."""
ALWAYS = frozenset(
    ["name", "seed", "duration", "warmup", "cooldown", "cc", "traffic.cc", "traffic.name"]
    + [f"record.{key}" for key in ("queues", "probes", "ports", "flows")]
)
"""Keys that every world supports."""
UNUSED = {
    "hosts.initial_window": "sets its own initial window",
    "hosts.gap": "does not fill queues",
    "hosts.piggyback": "brings records or counts back",
    "hosts.timestamps": "uses no delay",
}
"""Why an algorithm does not use a key that its transport supports."""


@dataclass(frozen=True)
class World:
    """The keys that a world supports.

    supported_keys: the keys; a kind of topology or traffic counts as one, "topology.star", with its own keys.
    why: the reason for each unsupported key or table. parameters: the supported parameters of each algorithm
    by name; None supports all. limits: notes of the documentation for keys with partial support. partial: for
    keys that the world accepts without doing all that they say, a sentence on what it does instead.
    """

    name: str
    supported_keys: frozenset[str]
    why: Mapping[str, str] = field(default_factory=dict[str, str])
    parameters: Mapping[str, tuple[str, ...]] | None = None
    limits: Mapping[str, str] = field(default_factory=dict[str, str])
    partial: Mapping[str, str] = field(default_factory=dict[str, str])

    def notes(self, scenario: "Scenario") -> list[str]:
        """Warnings about the keys of `scenario` that this world supports in part."""
        return [
            f"{one.where}: {self.partial[one.key]}" for one in set_keys(scenario) if one.key in self.partial
        ]

    def kinds(self, table: str) -> list[str]:
        """The supported kinds of topology or traffic."""
        return [kind for kind in KINDS[table] if f"{table}.{kind}" in self.supported_keys]

    def refuse(self, scenario: "Scenario") -> None:
        """Raise `ScenarioError` for the keys of `scenario` that are set and not supported."""
        # An algorithm may bring keys with it that the scenario does not write, such as ports that trim.
        self._refuse_algorithms(scenario)
        errors = [
            ScenarioError(one.where, one.value, f"{self._instead(one)}: {self._reason(one.key)}")
            for one in set_keys(scenario)
            if one.key not in self.supported_keys
        ]
        if errors:
            raise ScenarioError.together(errors)
        self._refuse_parameters(scenario)

    def _instead(self, one: "SetKey") -> str:
        if one.key in ("faults", "classes", "pools", "ports"):
            return f"no {one.key}"
        if one.where.endswith(".kind"):
            return " or ".join(self.kinds(one.key.partition(".")[0]))
        return one.instead

    def _reason(self, key: str) -> str:
        return self.why.get(key) or self.why[key.partition(".")[0]]

    def _refuse_algorithms(self, scenario: "Scenario") -> None:
        for where, used in algorithms(scenario.settled):
            if self.parameters is not None and used.name not in self.parameters:
                expected = f"an algorithm of the {self.name} world: {', '.join(self.parameters)}"
                raise ScenarioError(f"{where}.name", used.label, expected)

    def _refuse_parameters(self, scenario: "Scenario") -> None:
        honoured = self.parameters or {}
        for where, used in algorithms(scenario.settled) if honoured else ():
            given, default = used.table(scenario.mtu), used.with_defaults(scenario.frame).table(scenario.mtu)
            for name in used.parameters:
                if name not in honoured[used.name] and given[name] != default[name]:
                    has = ", ".join(honoured[used.name]) or "no parameter"
                    why = f"of {used.name} the {self.name} world supports {has}"
                    usual, own = (_text(values[name]) for values in (default, given))
                    if name in used.chosen or not used.preset:
                        raise ScenarioError(f"{where}.{name}", given[name], f"{usual}, the default: {why}")
                    expected = f'"{used.name}", with {name} = {usual}: this preset has {own}, and {why}'
                    raise ScenarioError(f"{where}.name", used.label, expected)


@dataclass(frozen=True)
class SetKey:
    """A key that is not at its default: its declared name, and its place and value in the scenario.

    of: the algorithm that it belongs to, if any.
    """

    key: str
    where: str
    value: object
    default: object
    of: "Algorithm | None" = None

    @property
    def instead(self) -> str:
        """The value to write in its place."""
        return "none" if self.default is None else f"{_text(self.default)}, the default"


def set_keys(scenario: "Scenario") -> Iterator[SetKey]:
    """Every `SetKey` of `scenario`. A kind of topology or traffic is one key, without the kind's own keys."""
    yield SetKey(f"topology.{scenario.topology.kind}", "topology.kind", scenario.topology.kind, None)
    yield from _set_in(scenario, "network", NetworkTable, scenario.network)
    yield from _set_in(scenario, "hosts", HostTable, scenario.hosts)
    for key in ("classes", "pools"):
        if getattr(scenario, key):
            yield SetKey(key, f"{key}[0].name", getattr(scenario, key)[0].name, None)
    if scenario.ports:
        yield SetKey("ports", "ports[0].names", ", ".join(scenario.ports[0].patterns), None)
    if scenario.faults:
        yield SetKey("faults", "faults[0].kind", scenario.faults[0].kind, None)
    for i, table in enumerate(scenario.traffic):
        yield SetKey(f"traffic.{table.kind}", f"traffic[{i}].kind", table.kind, None)
        if table.priority:
            yield SetKey("traffic.priority", f"traffic[{i}].priority", table.priority, 0)
        if table.traffic_class:
            yield SetKey("traffic.class", f"traffic[{i}].class", table.traffic_class, None)
        for key in ("route", "queue_pairs"):
            if value := getattr(table, key, None):
                yield SetKey(f"traffic.{key}", f"traffic[{i}].{key}", value, None)
        for key in ("exchange", "off", "rate"):
            if getattr(table, key, None):
                used, shown = table.cc or scenario.cc, _dumped(table, {"frame": scenario.frame})[key]
                yield SetKey(f"traffic.{key}", f"traffic[{i}].{key}", shown, None, used)
    for where, used in algorithms(scenario.settled):
        if used.receiver:
            yield SetKey("cc.receiver", f"{where}.receiver", used.receiver.kind, None, used)


def algorithms(scenario: "Draft") -> "Iterator[tuple[str, Algorithm]]":
    """(key, algorithm) of each traffic table."""
    for i, table in enumerate(scenario.traffic):
        used = table.cc or scenario.cc
        assert used is not None, "a scenario without an algorithm is refused"
        yield f"traffic[{i}].cc" if table.cc else "cc", used


def _set_in(scenario: "Scenario", name: str, model: "type[Table]", table: "Table") -> Iterator[SetKey]:
    """The keys of `network` or `hosts` that the file has and that differ from their defaults."""
    given: dict[str, object] = scenario.tables.get(name) or {}
    values = _dumped(table, {"frame": scenario.frame})
    also = {"shared"} if given.get("buffer") == "shared" else set[str]()
    values = {key: value for key, value in values.items() if key in given or key in also}
    for key in values:
        default = _default(scenario, model, values, key)
        if values[key] != default:
            shown = None if isinstance(values[key], dict) else values[key]
            yield SetKey(f"{name}.{key}", f"{name}.{key}", shown, default)


def _dumped(table: "Table", context: object) -> dict[str, object]:
    return table.model_dump(by_alias=True, exclude_none=True, context=context)


def _default(scenario: "Scenario", model: "type[Table]", values: dict[str, object], key: str) -> object:
    """The value of `key` if it were absent: it may depend on the network and the file's other `values`."""
    context = {"frame": scenario.frame}
    for rest in ({other: value for other, value in values.items() if other != key}, {}):
        try:
            table = model.model_validate(rest, context=context).filled_in(scenario.settled.derived)
            return _dumped(table, context).get(key)
        except (ScenarioError, ValidationError):
            continue  # the rest alone is not valid, such as dependent times without one of them
    return None


def refuse_unused_keys(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for the keys that act only over transports that no flow uses."""
    every = [used for _, used in algorithms(scenario.settled)]
    by_transport = transports()
    errors: list[ScenarioError] = []
    for one in set_keys(scenario):
        heard = [one.of] if one.of else every
        acting = [name for name, keys in by_transport.items() if one.key in keys]
        if not acting or any(one.key in used.supported_keys for used in heard):
            continue
        label, transport = heard[0].label, heard[0].transport
        why = f"it acts over {' or '.join(acting)}, and {label} runs over {transport}"
        if transport in acting:
            why = f"{label} {UNUSED[one.key]}"
        errors.append(ScenarioError(one.where, one.value, f"{one.instead}: {why}"))
    if errors:
        raise ScenarioError.together(errors)


def transports() -> dict[str, frozenset[str]]:
    """{transport: supported keys}, as the core declares them."""
    from shallows.algorithms.algorithm import catalog

    found: dict[str, set[str]] = {}
    for row in catalog():
        found.setdefault(row["transport"], set()).update(row["honours"])
    return {name: frozenset(keys) for name, keys in found.items()}


def world_table(worlds: Sequence[World], models: "Mapping[str, type[Table]]") -> list[str]:
    """The table key by world of the documentation, as lines; `models` are the tables by name."""
    keys = [
        "duration",
        *KINDS,
        *(f"{name}.{key}" for name, model in models.items() for key in model.key_names()),
    ]
    keys += [
        "classes",
        "pools",
        "ports",
        "faults",
        "traffic.priority",
        "traffic.class",
        "traffic.route",
        "traffic.queue_pairs",
        "traffic.exchange",
        "traffic.off",
        "traffic.rate",
        "cc",
        "cc.receiver",
    ]
    lines = [_row("key", *(world.name for world in worlds)), _row(*["---"] * (1 + len(worlds)))]
    return lines + [_row(f"`{key}`", *(_cell(world, key) for world in worlds)) for key in keys]


def _cell(world: World, key: str) -> str:
    if key in KINDS:
        kinds = world.kinds(key)
        named = "all kinds" if len(kinds) == len(KINDS[key]) else ", ".join(f"`{kind}`" for kind in kinds)
        return "; ".join(filter(None, [named, world.limits.get(key)]))
    return world.limits.get(key, "yes") if key in world.supported_keys else ""


def transport_table() -> list[str]:
    """The table key by transport of the documentation, as lines, without names of algorithms."""
    from shallows.algorithms.algorithm import catalog

    every: dict[str, list[set[str]]] = {}
    for row in catalog():
        every.setdefault(row["transport"], []).append(set(row["honours"]))
    keys = sorted(set[str]().union(*(set[str]().union(*rows) for rows in every.values())))
    lines = [_row("key", *(f"`{name}`" for name in every)), _row(*["---"] * (1 + len(every)))]
    for key in keys:
        acting = [[key in keys for keys in rows] for rows in every.values()]
        cells = ["" if not any(row) else "yes" if all(row) else f"unless it {UNUSED[key]}" for row in acting]
        lines.append(_row(f"`{key}`", *cells))
    return lines


def _row(*cells: str) -> str:
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells).replace(" --- ", "---") + "|"


def _text(value: object) -> str:
    """A value as TOML has it."""
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).lower() if isinstance(value, bool) else str(value)
