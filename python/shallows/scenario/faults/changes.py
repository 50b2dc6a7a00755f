"""The single changes of links that faults consist of, as the core applies them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shallows.algorithms.defaults import Scale
from shallows.algorithms.marking import Marking, choose, that_change
from shallows.core import contract
from shallows.errors import ScenarioError
from shallows.scenario.faults.model import REPAIRS, Fault
from shallows.scenario.ports import turns_of
from shallows.units import NEVER, TIME, count, did_you_mean

if TYPE_CHECKING:
    from shallows.core.contract import U64
    from shallows.core.contract import Fault as FaultToCore
    from shallows.scenario import Scenario
    from shallows.topology import Network

ASPECTS = {
    **dict.fromkeys(("down", "up", "flap"), "state"),
    **dict.fromkeys(("drain", "undrain"), "routes"),
    **dict.fromkeys(("rate", "slow"), "rate"),
    "delay": "delay",
    "hold": "hold",
    "reorder": "order",
    **dict.fromkeys(("loss", "bit-errors", "silent-drop"), "loss"),
    "pause-storm": "pauses",
    "marking": "marking",
    "weights": "weights",
}
"""What each kind changes of a link. Faults that change different things may overlap."""
OF_ARRIVALS = ("delay", "hold", "order")
"""The aspects that change when frames arrive, beside when they leave."""
LinkChange = contract.Change
"""A change of a link, as in a request to the core."""


@dataclass(frozen=True)
class Change:
    """One change of one link.

    at: picoseconds. fault: the number of its table. works: true if the link then is as it was without
    faults, in what the fault changes.
    """

    at: int
    fault: int
    link: int
    change: LinkChange
    works: bool


def reroutes(scenario: "Scenario") -> bool:
    """True if flows may change their path: links are drained, or fail and switches react."""
    aspects = {ASPECTS[fault.kind] for fault in scenario.faults}
    return "routes" in aspects or ("state" in aspects and scenario.network.convergence != NEVER)


def of_links(scenario: "Scenario", network: "Network | None" = None) -> list[list[int]]:
    """The links of each fault."""
    network = network or scenario.graph
    return [fault.links(network) for fault in scenario.faults]


def changes(scenario: "Scenario", network: "Network | None" = None) -> list[Change]:
    """All changes of a run in order of time; simultaneous ones in the order of the tables."""
    network = network or scenario.graph
    every = [
        Change(at, number, link, change, works)
        for number, (fault, links) in enumerate(
            zip(scenario.faults, of_links(scenario, network), strict=True)
        )
        for at, back in times(fault, scenario.duration_ps)
        for link in links
        for change, works in _changes(scenario, (fault, link), network, back)
    ]
    return sorted(every, key=lambda one: one.at)


def times(fault: Fault, end_ps: int | None) -> Iterator[tuple[int, bool]]:
    """(picoseconds, whether the links then work again) of each change of one link of a fault.

    `end_ps` is the end of the run, after which a flap has none.
    """
    if fault.kind != "flap":
        yield fault.at, fault.kind in REPAIRS
        if fault.until is not None:
            yield fault.until, True
        return
    end = flap_end(fault, end_ps)
    for down in range(fault.at, end, fault.period or 1):
        yield down, False
        yield min(down + fault.down_ps, end), True


def flap_end(fault: Fault, end_ps: int | None) -> int:
    """When a flap ends: by itself, or with the run."""
    return min(NEVER if one is None else one for one in (fault.until, end_ps))


def flaps(fault: Fault, end_ps: int | None) -> int:
    """How often the links of a fault change."""
    if fault.kind != "flap":
        return 1 if fault.until is None else 2
    end = flap_end(fault, end_ps)
    return 2 * -(-(end - fault.at) // (fault.period or 1))


def _changes(
    scenario: "Scenario", of: tuple[Fault, int], network: "Network", back: bool
) -> Iterator[tuple[LinkChange, bool]]:
    """The changes of a link by a fault in a request to the core, and whether it then works as before."""
    fault, link = of
    if fault.kind == "weights":
        turns = turns_of(reweighted(scenario, fault), scenario.mtu)
        for number, turn in enumerate(turns):
            if turn is not None:
                yield {"turn": {"class": number, "quantum_bytes": turn}}, True
        return
    if ASPECTS[fault.kind] != "order":
        yield _change(fault, network, link, back)
        return
    share, delay = (0.0, 0) if back else fault.reordering
    yield {"late_by_ps": delay}, back
    yield {"late": share}, back


def _change(fault: Fault, network: "Network", link: int, back: bool) -> tuple[LinkChange, bool]:
    """The change of a link by a fault that changes one thing."""
    aspect = ASPECTS[fault.kind]
    if aspect == "state":
        return ("up" if back else "down"), back
    if aspect == "routes":
        return ("undrain" if back else "drain"), back
    if aspect == "marking":
        return {"marking": 0}, True
    if aspect == "pauses":
        return ("resume" if back else "pause"), back
    if aspect == "delay":
        own_ps = int(network.delay_ps[link])
        delay = own_ps if back else fault.delay_of(own_ps)
        return {"delay_ps": delay}, delay == own_ps
    if aspect == "hold":
        return {"hold_ps": 0 if back else TIME.parse(fault.value)}, back
    if aspect == "rate":
        own_bps = int(network.rate_bps[link])
        rate = own_bps if back else fault.rate_of(own_bps)
        return {"rate_bps": rate}, rate == own_bps
    if fault.kind == "bit-errors" and not back:
        return {"bit_errors": fault.share}, False
    share = 0.0 if back else fault.share
    return {"loss": share}, share == 0


def to_core(
    scenario: "Scenario", network: "Network", markings: "list[contract.Marking]"
) -> "list[FaultToCore]":
    """The faults in a request to the core. The markings that they bring are added to `markings`."""

    numbers: dict[tuple[int, int], int] = {}
    for number, fault in enumerate(
        scenario.faults
    ):  # in the order of the tables, so that a new one comes last
        if fault.kind == "marking":
            links = fault.links(network)
            points, place = remarked(scenario, fault).in_core(network.rate_bps[links])
            markings += [point for point in points if point not in markings]
            of_links: list[int] = place.tolist()
            numbers |= {
                (number, link): markings.index(points[at]) for link, at in zip(links, of_links, strict=True)
            }
    return initial(scenario, network) + [
        {
            "time_ps": one.at,
            "link": one.link,
            "change": {"marking": numbers[one.fault, one.link]}
            if (one.fault, one.link) in numbers
            else one.change,
        }
        for one in changes(scenario, network)
    ]


def extremes(scenario: "Scenario", network: "Network") -> "tuple[U64, U64]":
    """By link, the highest rate in bit/s and the least delay in picoseconds that it ever has.

    The core counts with these: what it works out in advance, such as the time of an empty path and how long
    parts of a network may be simulated apart, then holds all the time.
    """
    fastest, shortest = network.rate_bps.copy(), network.delay_ps.copy()
    for fault, links in zip(scenario.faults, of_links(scenario, network), strict=True):
        if fault.kind == "rate":
            fastest[links] = np.maximum(fastest[links], np.uint64(fault.rate_of(0)))
        if fault.kind == "delay":
            shortest[links] = np.minimum(shortest[links], np.uint64(fault.delay_of(0)))
    return fastest, shortest


def initial(scenario: "Scenario", network: "Network") -> "list[FaultToCore]":
    """The changes at the start that give links their own rate and delay, where these are no `extremes`."""
    fastest, shortest = extremes(scenario, network)
    rates, delays = network.rate_bps, network.delay_ps
    slower: list[int] = np.flatnonzero(fastest > rates).tolist()
    longer: list[int] = np.flatnonzero(shortest < delays).tolist()
    return [
        *({"time_ps": 0, "link": link, "change": {"rate_bps": int(rates[link])}} for link in slower),
        *({"time_ps": 0, "link": link, "change": {"delay_ps": int(delays[link])}} for link in longer),
    ]


def remarked(scenario: "Scenario", fault: Fault) -> Marking:
    """The marking of ports after a fault that changes parameters. Raises `ScenarioError` relative to it."""
    before = scenario.marking
    if scenario.classes or before is None or not before.adjustable:
        kinds = " or ".join(that_change())
        expected = f"{kinds} as network.marking, without classes: only these can change"
        raise ScenarioError("kind", "marking", expected)
    wrong = [key for key in fault.value if key not in before.adjustable]
    if wrong:
        known = ", ".join(before.adjustable)
        raise ScenarioError(
            f"value.{wrong[0]}", fault.value[wrong[0]], f"{known}: the marking is {before.kind}"
        )
    try:
        chosen = choose(before.table(scenario.mtu) | fault.value, scenario.frame)
        return chosen.settled(Scale.of(scenario.graph, scenario.mtu), scenario.graph.rate_bps)
    except ScenarioError as error:
        raise error.under("value") from None


def reweighted(scenario: "Scenario", fault: Fault) -> list[int | None]:
    """The weight of each class after a fault that changes weights. Raises `ScenarioError` relative to it."""
    weights = {one.name: one.weight for one in scenario.classes}
    known = [name for name, weight in weights.items() if weight is not None]
    if not known:
        expected = "[[classes]] with a weight: only classes that share the link by weights change them"
        raise ScenarioError("kind", "weights", expected)
    for name, weight in fault.value.items():
        if name not in known:
            expected = f"a class with a weight: {', '.join(known)}{did_you_mean(name, known)}"
            raise ScenarioError(f"value.{name}", weight, expected)
        try:
            weights[name] = count(weight)
        except ValueError as error:
            raise ScenarioError(f"value.{name}", weight, str(error)) from None
    return list(weights.values())


def changing_links(scenario: "Scenario", network: "Network") -> list[int]:
    """The links that a program may change (`network.changing`). Raises `ScenarioError`."""
    try:
        return network.ports(scenario.network.changing or [])
    except ValueError as error:
        raise ScenarioError("network.changing", *error.args) from None


def scheduled_links(scenario: "Scenario", network: "Network") -> set[int]:
    """The links that go down or slow down, or may do so, whose ports cannot know departures in advance."""
    aspects = [ASPECTS[fault.kind] for fault in scenario.faults]
    every = changes(scenario, network)
    return {*changing_links(scenario, network)} | {
        one.link for one in every if aspects[one.fault] in ("state", "rate", "pauses", *OF_ARRIVALS)
    }
