"""A warning about flows that are marked, or lose packets, in step."""

from itertools import combinations
from typing import TYPE_CHECKING, Literal

from shallows.scenario.paths import about, of_transport, paths_of, round_trip
from shallows.warnings.starved import FULL, judged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shallows.results.answer import Answer

    How = Literal["marked", "dropped"]

LONGER, TIMES = 1.2, 1.5
"""Round trips differ by this factor, and shares by the other times the square of that of round trips. Where
ports drop, a full queue can be most of a round trip: there those of the empty paths differ.
"""
REVERSED = 2
"""A flow with the longer round trip has this many times the goodput of the other."""
MOST = 64
"""Flows that are compared with each other."""


def in_step(answer: "Answer") -> list[str]:
    """Flows of one queue that share more unequally than the square of their round trips.

    Windows that grow by a packet a round trip share between the inverse of the round trip, with independent
    losses or marks, and the inverse of its square, where all are cut at once (Lakshman and Madhow, IEEE/ACM
    ToN 5(3), 1997). Beyond that one of them is cut more often, because the marks of a step, or the places in
    a full queue, follow the phase of the other: it is the same for all seeds, and another for a delay that is
    1 % longer. At ports that drop, the one that is cut more often may also have the shorter round trip.
    """
    its = judged(answer)
    its = its[of_transport(answer.scenario, "tcp")[its]][:MOST].tolist()
    for how in _watched(answer) if len(its) > 1 else ():
        for short, long in _pairs(answer, its, how):
            times, rates = (answer.flow_columns[key] for key in ("srtt_mean_us", "goodput_gbps"))
            square = float(times[long] / times[short]) ** 2
            trips = [about(float(times[at]) * 1e6) for at in (short, long)]
            if rates[short] > TIMES * square * rates[long] > 0:
                bound = f"beyond {square:.3g}, the square of their round trips of {trips[0]} and {trips[1]}"
                return [_said(answer, how, (short, long), bound)]
            if how == "dropped" and rates[long] > REVERSED * rates[short] > 0:
                bound = f"although its round trip is longer, {trips[1]} and not {trips[0]}"
                return [_said(answer, how, (long, short), bound)]
    return []


def _said(answer: "Answer", how: "How", flows: tuple[int, int], bound: str) -> str:
    more, less = flows
    rates = answer.flow_columns["goodput_gbps"]
    what, advice = "are marked", "network.delay_spread = 0.01"
    if how == "dropped":
        what, advice = "lose packets", 'hosts.acks_every = 2, which Linux has, or hosts.ack_jitter = "100us"'
    return (
        f"flow {more} has {rates[more] / rates[less]:.3g} times the goodput of flow {less} in one queue, "
        f"{bound}: they {what} in step, and no seed shows how shares depend on delays; write {advice} and "
        "compare seeds"
    )


def _watched(answer: "Answer") -> "list[How]":
    """What flows may meet in step, unless random times of the scenario prevent that."""
    network, hosts = answer.scenario.network, answer.scenario.hosts
    found: list[How] = [] if network.delay_spread else ["marked"]
    return found if hosts.ack_jitter else [*found, "dropped"]


def _pairs(answer: "Answer", its: list[int], how: "How") -> "Iterator[tuple[int, int]]":
    """Flows of one algorithm over one full queue that differ in their round trips, the shorter first."""
    queues, times = _queues(answer, its, how), answer.flow_columns["srtt_mean_us"]
    trips = times if how == "marked" else _empty(answer, its)
    used = answer.scenario.flows.cc
    for pair in combinations(its, 2):
        short, long = sorted(pair, key=lambda flow: float(times[flow]))
        alike = len(queues[short]) == 1 and queues[short] == queues[long] and used[short] == used[long]
        if alike and trips[long] > LONGER * trips[short]:
            yield short, long


def _empty(answer: "Answer", flows: list[int]) -> dict[int, int]:
    """The round trip of the empty path of each flow."""
    scenario = answer.scenario
    paths = paths_of(scenario)
    return {flow: round_trip(scenario.graph, scenario.mtu, *paths[flow]) for flow in flows}


def _queues(answer: "Answer", flows: list[int], how: "How") -> dict[int, set[int]]:
    """For each flow the full links of its path that marked packets, if no link dropped any; or that dropped
    some, if no link marked any.
    """
    paths, used, ports = paths_of(answer.scenario), answer.port_columns["utilization"], answer.answer["ports"]
    other = answer.in_whole_run["dropped"] if how == "marked" else ports["marked"]
    acting = (used >= FULL) & (ports[how] > 0)
    found: dict[int, set[int]] = {}
    for flow in flows:
        path = paths[flow][0]
        found[flow] = set() if other[path].any() else {link for link in path if acting[link]}
    return found
