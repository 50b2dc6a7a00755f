"""Traffic classes: `[[classes]]` and `[[pools]]` of a scenario.

Every port of hosts and switches has a queue for each class, and one for control packets that goes first.
Classes stand in order of priority: a class without a weight waits for those before it, and neighbours with
weights share what they leave (deficit weighted round robin).
"""

from dataclasses import dataclass
from functools import partial
from math import gcd
from typing import TYPE_CHECKING, Annotated, Any, cast

import numpy as np
from pydantic import BeforeValidator, PlainSerializer, model_validator

from shallows import contract, defaults, marking
from shallows.errors import ScenarioError, collect
from shallows.literal import is_table
from shallows.scenario.tables import OrFalse, marking_of, marking_text
from shallows.switch import Pauses, Schedule, Shared, class_of, class_of_flows, marking_ports
from shallows.table import Key, Table
from shallows.units import (
    NEVER,
    SIZE,
    DefaultBuffer,
    Name,
    OptionalCount,
    OptionalName,
    TypeName,
    did_you_mean,
)

if TYPE_CHECKING:
    from shallows.algorithm import Algorithm
    from shallows.contract import U32, Class, Discipline
    from shallows.defaults import Scale
    from shallows.scenario import Scenario
    from shallows.topology import Network

MOST = 8
"""The most traffic classes: a frame has three bits of priority (IEEE 802.1Q)."""
PAUSE, CONTROL = "pause", "control"
"""The names of the queues of pause frames and of control packets, which no class has."""


class TrafficClass(Table):
    """A table of `[[classes]]`: a traffic class, with a queue of its own at every port."""

    name: Name = Key(description="the name that traffic refers to")
    weight: OptionalCount = Key(
        None, description="share of what the classes before it leave (DWRR); by default strict priority"
    )
    marking: Annotated[
        Any, TypeName("AnyMarking"), BeforeValidator(marking_of), PlainSerializer(marking_text)
    ] = Key(None, description="how its queue marks; by default as network.marking, or as its algorithms need")
    pfc: OrFalse[Pauses] = Key(None, description="whether switches pause this class")
    buffer: DefaultBuffer = Key(
        None, description="of its queue at a switch port; by default network.buffer, with a pool unlimited"
    )
    pool: OptionalName = Key(None, description="the pool that holds its packets; by default it shares none")

    @model_validator(mode="before")
    @classmethod
    def _pauses(cls, table: Any) -> Any:
        """Replace true for `pfc` by a table of defaults."""
        return {**table, "pfc": {}} if is_table(table) and table.get("pfc") is True else table

    @model_validator(mode="after")
    def _lossless(self) -> "TrafficClass":
        """With a pool or pauses the queue has no limit of its own."""
        other = "pool" if self.pool else "pfc" if self.pfc else None
        if other and self.buffer not in (None, NEVER):
            why = f"its {other} is set, so that its queue has no limit of its own"
            raise ScenarioError("buffer", SIZE.text(self.buffer), f"no such key: {why}")
        if self.pool and self.pfc and self.pfc.threshold:
            expected = "no such key: with a pool the threshold follows from its alpha and the free memory"
            raise ScenarioError("pfc.threshold", SIZE.text(self.pfc.threshold), expected)
        if other:
            vars(self)["buffer"] = NEVER
        return self


class Pool(Shared):
    """A table of `[[pools]]`: memory of each switch that the ports share for some classes."""

    name: Name = Key(description="the name that classes refer to")


def class_numbers(scenario: "Scenario") -> list[int]:
    """The number of the class of each traffic table; by default the last class, of lowest priority."""
    known = [one.name for one in scenario.classes]
    return [
        known.index(table.traffic_class) if table.traffic_class else len(known) - 1
        for table in scenario.traffic
    ]


def algorithms_of(scenario: "Scenario", number: int) -> "list[Algorithm]":
    """The algorithms of the traffic in a class."""
    used = zip(class_numbers(scenario), scenario.algorithms, strict=True)
    return [of for place, of in used if place == number]


def algorithms_by_marking(scenario: "Scenario") -> "dict[str, tuple[Any, list[Algorithm]]]":
    """By its key the marking of the network or of each class, and the algorithms whose data it marks."""
    if not scenario.classes:
        return {"network.marking": (scenario.network_options.marking, scenario.algorithms)}
    return {
        f"classes[{number}].marking": (one.marking, algorithms_of(scenario, number))
        for number, one in enumerate(scenario.classes)
    }


def check_names(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for names that are used twice or that no table has."""
    for key, tables in (("classes", scenario.classes), ("pools", scenario.pools)):
        found = [one.name for one in tables]
        for at, name in enumerate(found):
            if name in (PAUSE, CONTROL):
                raise ScenarioError(f"{key}[{at}].name", name, "another name: every port has such a queue")
            if name in found[:at]:
                raise ScenarioError(
                    f"{key}[{at}].name", name, f"a name of its own: {key}[{found.index(name)}] has it"
                )
    if len(scenario.classes) > MOST:
        raise ScenarioError("classes", len(scenario.classes), f"at most {MOST} tables")
    _check_known(scenario)


def _check_known(scenario: "Scenario") -> None:
    known, pools = [one.name for one in scenario.classes], [one.name for one in scenario.pools]
    for i, table in enumerate(scenario.traffic):
        name = table.traffic_class
        if name and name not in known:
            has = (
                f"one of {', '.join(known)}{did_you_mean(name, known)}"
                if known
                else "no such key: there is no table [[classes]] of this name"
            )
            raise ScenarioError(f"traffic[{i}].class", name, has)
    for i, one in enumerate(scenario.classes):
        if one.pool and one.pool not in pools:
            has = (
                f"one of {', '.join(pools)}{did_you_mean(one.pool, pools)}"
                if pools
                else "no such key: there is no table [[pools]] of this name"
            )
            raise ScenarioError(f"classes[{i}].pool", one.pool, has)
    used = {one.pool for one in scenario.classes}
    for i, name in enumerate(pools):
        if name not in used:
            raise ScenarioError(f"pools[{i}].name", name, "no such table: no class has this pool")


def settle(scenario: "Scenario", scale: "Scale") -> None:
    """Fill in the defaults of classes and pools that depend on the network."""
    for pool in scenario.pools:
        if not pool.size:
            vars(pool)["size"] = defaults.memory(scale) // len(scenario.pools)
    for number, one in enumerate(scenario.classes):
        chosen = one.marking if one.marking is not None else scenario.network_options.marking
        if chosen is None:
            chosen = _needed(scenario, number)
        if chosen != "none":
            chosen = chosen.settled(scale, scenario.network.rate_bps)
        vars(one)["marking"] = chosen
        if one.pfc and not one.pool and not one.pfc.threshold:
            vars(one.pfc)["threshold"] = defaults.pause_threshold(scale)


def _needed(scenario: "Scenario", number: int) -> Any:
    """The marking that the algorithms of a class need."""
    kinds = {used.congestion_point: used for used in algorithms_of(scenario, number) if used.needs_marking}
    if len(kinds) > 1:
        wanted = ", ".join(f"{used.label} {kind}" for kind, used in kinds.items())
        raise ScenarioError(
            f"classes[{number}].marking", None, f"one kind of marking for the class: {wanted}"
        )
    return marking.choose({"kind": next(iter(kinds))}, scenario.frame) if kinds else "none"


def marking_begins(scenario: "Scenario", one: TrafficClass) -> int:
    """Bytes of queue at which the last switch port begins to mark a class."""
    if one.marking == "none":
        return 0
    return one.marking.largest_threshold(scenario.network.rate_bps[~scenario.network.is_nic])


@dataclass(frozen=True)
class Lossless:
    """A class that switches pause, or all data of a network without classes.

    pauses: its table, at `key`. memory: the memory that it shares, at `memory_key`; None without.
    marking_begins: bytes of queue at which the last switch port begins to mark it; None without marks.
    """

    key: str
    pauses: Pauses
    memory: Shared | None
    memory_key: str
    marking_begins: int | None


def lossless(scenario: "Scenario") -> list[Lossless]:
    """What switches pause, in the order of the classes."""
    options, pools = scenario.network_options, [pool.name for pool in scenario.pools]
    if options.pfc:
        begins = None if options.marking == "none" else scenario.marking_begins
        return [Lossless("network.pfc", options.pfc, options.shared or None, "network.shared", begins)]
    found: list[Lossless] = []
    for number, one in enumerate(scenario.classes):
        if one.pfc:
            at = pools.index(one.pool) if one.pool else None
            memory, key = (None, "") if at is None else (scenario.pools[at], f"pools[{at}]")
            begins = None if one.marking == "none" else marking_begins(scenario, one)
            found.append(Lossless(f"classes[{number}].pfc", one.pfc, memory, key, begins))
    return found


def fullest(scenario: "Scenario", incoming: int) -> int:
    """Bytes that a port can hold of all classes, where `incoming` links bring data before a pause."""
    pools = {pool.name: pool for pool in scenario.pools}
    total = 0
    for one in scenario.classes:
        if one.pool:
            pool = pools[one.pool]
            total += int(pool.size * pool.alpha / (1 + pool.alpha))
        else:
            total += one.pfc.threshold * incoming if one.pfc else one.buffer
    return min(total, NEVER)


def check(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for classes that do not fit to the rest of a scenario, with all mistakes."""
    if not scenario.classes:
        return
    checks = [partial(_check_class, scenario, number) for number in range(len(scenario.classes))]
    collect([partial(_check_clashes, scenario), *checks])


def _check_clashes(scenario: "Scenario") -> None:
    options = scenario.network_options
    instead = {
        "shared": (options.shared, "no such table with classes: describe memory as [[pools]]"),
        "pfc": (options.pfc, "no such table with classes: set pfc of a class"),
        "trimming": (
            options.trimming and not any(used.trims for used in scenario.algorithms),
            "no trimming with classes",
        ),
    }
    for key, (clash, expected) in instead.items():
        if clash:
            raise ScenarioError(f"network.{key}", None, expected)
    for i, table in enumerate(scenario.traffic):
        if table.priority:
            raise ScenarioError(
                f"traffic[{i}].priority", 1, "0: the order of the classes is that of priority"
            )
    for used in scenario.algorithms:
        why = (
            "credits"
            if used.credits
            else "a pacer in the NIC"
            if used.pacer
            else "trimming"
            if used.trims
            else None
        )
        if why:
            raise ScenarioError(
                "cc", used.label, f"an algorithm without {why}, whose queues classes do not have"
            )


def _check_class(scenario: "Scenario", number: int) -> None:
    one, key = scenario.classes[number], f"classes[{number}]"
    if one.buffer < scenario.mtu:
        expected = f"at least one full frame, {SIZE.text(scenario.mtu)}: a smaller queue passes nothing"
        raise ScenarioError(f"{key}.buffer", SIZE.text(one.buffer), expected)
    for used in algorithms_of(scenario, number):
        marking.check_feedback(used, one.marking, f"{key}.marking")
    if one.marking == "none":
        return
    if one.marking.tells != "marks":
        expected = f"a kind that marks: the {one.marking.tells} of a port describe its only queue"
        raise ScenarioError(f"{key}.marking.kind", one.marking.kind, expected)
    begins = marking_begins(scenario, one)
    if begins >= one.buffer:
        largest = SIZE.text(begins, scenario.mtu)
        expected = f"more than the largest marking threshold, {largest}, or packets are dropped unmarked"
        raise ScenarioError(f"{key}.buffer", SIZE.text(one.buffer, scenario.mtu), expected)


def quanta(scenario: "Scenario") -> list[int | None]:
    """Bytes of a turn of each class, None without one: its weight in lowest terms times a full frame."""
    turns: list[int | None] = []
    for place, one in enumerate(scenario.classes):
        if one.weight is None:
            turns.append(None)
            continue
        group = [one.weight]
        for beside in (scenario.classes[place + 1 :], scenario.classes[:place][::-1]):
            for other in beside:
                if other.weight is None:
                    break
                group.append(other.weight)
        turns.append(one.weight // gcd(*group) * scenario.mtu)
    return turns


def to_core(scenario: "Scenario") -> "tuple[list[contract.TrafficClass], list[contract.Shared]]":
    """The traffic classes and the pools of a request."""
    places = {pool.name: at for at, pool in enumerate(scenario.pools)}
    made: list[contract.TrafficClass] = [
        {
            "quantum_bytes": turn,
            "pool": places[one.pool] if one.pool else None,
            "pause": one.pfc.in_core() if one.pfc else None,
        }
        for one, turn in zip(scenario.classes, quanta(scenario), strict=True)
    ]
    pools = [pool.to_core(contract.Shared) for pool in scenario.pools]
    return made, cast("list[contract.Shared]", pools)


def of_flows(scenario: "Scenario") -> "U32":
    """The traffic class of each flow."""
    if not scenario.classes:
        return class_of_flows(scenario)
    return np.array(class_numbers(scenario), np.uint32)[scenario.flows.group]


def schedule(scenario: "Scenario", network: "Network") -> tuple[Schedule, "list[contract.Marking]"]:
    """How the ports schedule, and the markings to which their classes refer."""
    kinds = np.stack([network.rate_bps, network.is_nic, marking_ports(scenario, network)])
    kinds, place = np.unique(kinds.T, axis=0, return_inverse=True)
    markings: list[contract.Marking] = []
    disciplines = [
        _discipline(scenario, int(rate), markings if marks else None, is_nic=bool(is_nic))
        for rate, is_nic, marks in kinds.tolist()
    ]
    return Schedule((1 + place.ravel()).astype(np.uint32), disciplines), markings


def _discipline(
    scenario: "Scenario", rate_bps: int, markings: "list[contract.Marking] | None", *, is_nic: bool
) -> "Discipline":
    """The classes of a port: pauses if there are any, control packets, then the data of each class."""
    first: list[Class] = [class_of()] * (1 + any(one.pfc for one in scenario.classes))
    made = [
        _class(one, turn, rate_bps, markings, is_nic=is_nic)
        for one, turn in zip(scenario.classes, quanta(scenario), strict=True)
    ]
    control, data = len(first) - 1, range(len(first), len(first) + len(made))
    of_kinds = [{"pause": 0, "resume": 0, "other": control, "data": number} for number in data]
    return {"classes": [*first, *made], "class_of": of_kinds, "paced": None}


def _class(
    one: TrafficClass,
    turn: int | None,
    rate_bps: int,
    markings: "list[contract.Marking] | None",
    *,
    is_nic: bool,
) -> "Class":
    made: Class = {**class_of(NEVER if is_nic else one.buffer), "quantum_bytes": turn}
    if one.marking != "none" and markings is not None:
        (point,), _ = one.marking.at_rates(np.array([rate_bps], np.uint64))
        if point not in markings:
            markings.append(point)
        made["marking"] = markings.index(point)
    return made
