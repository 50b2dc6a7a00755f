"""Faults that cannot be, or that are not what their author meant."""

from collections import defaultdict
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from shallows.errors import ScenarioError, collect
from shallows.scenario.faults.changes import ASPECTS, OF_ARRIVALS, changing_links, flaps, remarked, reweighted
from shallows.scenario.faults.model import LEAST_RATE_BPS, Fault
from shallows.units import NEVER, RATE, TIME

if TYPE_CHECKING:
    from shallows.algorithms.marking import Marking
    from shallows.scenario import Scenario

MOST_CHANGES = 200_000
"""Changes of links in a run, which take about 60 MB."""


def check(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for faults that hit no link, come too late, overlap, or cannot be."""
    changing_links(scenario, scenario.graph)
    links: dict[int, list[int]] = {}
    collect(partial(_check, scenario, i, fault, links) for i, fault in enumerate(scenario.faults))
    _check_number(scenario, links)
    _check_overlaps(scenario, links)


def _check(scenario: "Scenario", number: int, fault: Fault, links: dict[int, list[int]]) -> None:
    try:
        links[number] = fault.links(scenario.graph)
        _check_times(scenario, fault)
        if fault.kind == "pause-storm" and not any(queue.pauses for queue in scenario.queues):
            raise ScenarioError(
                "kind", fault.kind, "network.pfc, or pfc of a class: without it nothing is paused"
            )
        if fault.kind == "marking":
            _check_own_markings(scenario, remarked(scenario, fault), links[number])
        if fault.kind == "weights":
            reweighted(scenario, fault)
        _check_rate(scenario, fault, links[number])
        if ASPECTS[fault.kind] in OF_ARRIVALS:
            _check_arrivals(scenario, fault)
    except ScenarioError as error:
        raise error.under(f"faults[{number}]") from None


def _check_own_markings(scenario: "Scenario", chosen: "Marking", links: list[int]) -> None:
    names = {scenario.graph.port_names[link] for link in links}
    for number, table in enumerate(scenario.ports):
        if table.marking is None or chosen.may_become(table.marking):
            continue
        own: list[str] = []
        with suppress(ValueError):  # an unknown name, which is a mistake of this table
            own = [scenario.graph.port_names[link] for link in scenario.graph.ports(table.patterns)]
        for name in [name for name in own if name in names][:1]:
            expected = (
                f"ports that mark by {chosen.kind} as network.marking does, unlike {name} (ports[{number}])"
            )
            raise ScenarioError("kind", "marking", expected)


def _check_times(scenario: "Scenario", fault: Fault) -> None:
    if fault.at >= scenario.duration:
        expected = f"a time before the end of the run, duration = {TIME.text(scenario.duration)}"
        raise ScenarioError("at", TIME.text(fault.at), expected)
    if fault.kind == "flap" and fault.until is None and scenario.duration == NEVER:
        raise ScenarioError("until", None, 'a time such as "10ms": a run "until-done" has no end by itself')


def _check_rate(scenario: "Scenario", fault: Fault, links: list[int]) -> None:
    network = scenario.graph
    own = int(network.rate_bps[links].min())
    if fault.kind == "rate":
        faster = [link for link in links if fault.rate_of(0) > network.rate_bps[link]]
        for link in faster[:1] if any(queue.pauses for queue in scenario.queues) else ():
            most = RATE.text(int(network.rate_bps[link]))
            why = "with PFC: the memory behind a pause follows from it"
            raise ScenarioError("value", fault.value, f"at most the link's own rate, {most}, {why}")
        for link in [link for link in faster if network.is_nic[link]][:1]:
            most, name = RATE.text(int(network.rate_bps[link])), network.port_names[link]
            why = f"of {name}: only ports of switches become faster, a host knows the rate of its port"
            raise ScenarioError("value", fault.value, f"at most the own rate, {most}, {why}")
    if fault.kind == "slow" and fault.rate_of(own) < LEAST_RATE_BPS:
        least = RATE.text(LEAST_RATE_BPS)
        raise ScenarioError("value", fault.value, f"a share that leaves {least} or more of {RATE.text(own)}")


def _check_arrivals(scenario: "Scenario", fault: Fault) -> None:
    if any(queue.pauses for queue in scenario.queues):
        expected = "no such kind with PFC: the memory behind a pause follows from the link's own delay"
        raise ScenarioError("kind", fault.kind, expected)


def _check_number(scenario: "Scenario", links: dict[int, list[int]]) -> None:
    counts = [
        len(links[number]) * flaps(fault, scenario.duration_ps)
        for number, fault in enumerate(scenario.faults)
    ]
    if sum(counts) <= MOST_CHANGES:
        return
    number = counts.index(max(counts))
    fault = scenario.faults[number]
    least = f"fewer changes of links than {sum(counts):,}, at most {MOST_CHANGES:,}"
    if fault.kind == "flap" and fault.period:
        raise ScenarioError(f"faults[{number}].period", TIME.text(fault.period), f"a longer period: {least}")
    raise ScenarioError(f"faults[{number}].{'link' if fault.link else 'node'}", fault.name, least)


def _check_overlaps(scenario: "Scenario", links: dict[int, list[int]]) -> None:
    """Refuse a fault that begins while another one with an end changes the same thing of the same link."""
    of_link: dict[tuple[int, str], list[tuple[int, int, int]]] = defaultdict(list)
    for number, fault in enumerate(scenario.faults):
        for link in links[number]:
            of_link[link, ASPECTS[fault.kind]].append((fault.at, _end(scenario, fault), number))
    for (link, aspect), rows in of_link.items():
        if aspect in OF_ARRIVALS and (link, "state") in of_link:
            _, _, number = of_link[link, "state"][0]
            port = scenario.graph.port_names[link]
            expected = (
                f"no such kind at {port}, of which faults[{rows[0][2]}] changes when frames arrive: which "
                'of them are then on the wire is unknown. kind = "silent-drop" loses all packets that arrive'
            )
            raise ScenarioError(f"faults[{number}].kind", scenario.faults[number].kind, expected)
        rows.sort()
        for (begin, end, first), (other, its_end, second) in pairwise(rows):
            if other < end or (other == begin and its_end > other):
                port = scenario.graph.port_names[link]
                held = f"{TIME.text(begin)} to {TIME.text(max(end, its_end))}"
                expected = (
                    f"a time outside of {held}, during which another fault, faults[{first}], changes {port}"
                )
                at = TIME.text(scenario.faults[second].at)
                raise ScenarioError(f"faults[{second}].at", at, expected)


def _end(scenario: "Scenario", fault: Fault) -> int:
    """When a fault ends by itself; its beginning if it lasts until another one."""
    if fault.until is not None:
        return fault.until
    return scenario.duration if fault.kind == "flap" else fault.at
