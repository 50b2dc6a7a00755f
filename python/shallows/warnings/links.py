"""Warnings about links: idle, slowed down, or one of several paths."""

from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.algorithms.marking import thresholds
from shallows.scenario import faults
from shallows.scenario.paths import about, paths_of, round_trip
from shallows.units import NEVER, RATE, SIZE

if TYPE_CHECKING:
    from shallows.results.answer import Answer
    from shallows.scenario import Scenario

FULL = 0.98
"""Flows without an end use a larger share of a link if the marking threshold is not below theory's."""


def several_paths(answer: "Answer") -> list[str]:
    """The ideal time is that of one path. A flow over several paths may beat it."""
    quicker = answer.flow_columns["slowdown"] < 1
    if answer.one_way or not quicker.any():
        return []
    return [
        f"{quicker.sum()} of {len(quicker)} flows have a slowdown below 1: their packets took several paths "
        "or a detour, and the ideal time is that of one path"
    ]


def idle_links(answer: "Answer") -> list[str]:
    """Links left idle by flows that are marked too early for the path, or that still grow."""
    scenario, flows = answer.scenario, answer.flow_columns
    marked = np.array([cc.least_threshold is not None for cc in scenario.flows.ccs])[scenario.flows.cc]
    steady = np.array([table.kind == "long-lived" and not table.pauses for table in scenario.traffic])
    began = flows["start_us"] * 1e6 <= answer.warmup_ps
    its = np.flatnonzero(marked & steady[flows["traffic"]] & began)
    if not answer.measured_ps or not len(its) or not answer.network.is_nic.any() or scenario.faults:
        return []  # a link that fails or slows down is idle for another reason
    paths, used = paths_of(scenario), answer.port_columns["utilization"]
    by_link: dict[int, list[int]] = {}
    for flow in its:
        busiest = max(paths[flow][0], key=lambda link: float(used[link]))
        if used[busiest] < FULL:
            by_link.setdefault(busiest, []).append(int(flow))
    return [warning for link, its in by_link.items() for warning in _idle_link(answer, link, its, paths)]


def _idle_link(answer: "Answer", link: int, flows: list[int], paths: Any) -> list[str]:
    """The warning for the busiest link of some flows, by their round trips over empty queues."""
    network, mtu = answer.network, answer.scenario.mtu
    longest = max(round_trip(network, mtu, *paths[flow]) for flow in flows)
    in_flight = int(network.rate_bps[link]) * longest // (8 * 10**12)  # the bandwidth-delay product in bytes
    used = float(answer.port_columns["utilization"][link])
    where = f"{network.port_names[link]} was used to {used:.0%} by flows without an end"
    algorithm = answer.scenario.flows.ccs[int(answer.scenario.flows.cc[flows[0]])]
    part, source = algorithm.least_threshold or (1, "")
    threshold, least = _step(answer.scenario, link), in_flight // part
    if threshold is not None and threshold < least:
        is_, should = SIZE.text(threshold, mtu), SIZE.text(least - least % mtu, mtu)
        return [
            f"{where}: network.marking.threshold = {is_} is below 1/{part} of the bandwidth-delay product of "
            f"a round trip of {about(longest)}, {should}: window cuts empty its queue ({source})"
        ]
    missing, measured = (1 - used) * in_flight / mtu / len(flows), int(answer.measured_ps) // longest
    if missing <= measured:
        return []
    return [
        f"{where}: they still grow, by a packet a round trip, and lack {missing:.0f} packets each; "
        f"{measured} round trips were measured"
    ]


def _step(scenario: "Scenario", link: int) -> int | None:
    """The queue length in bytes above which the port of a link marks every packet, if it has one."""
    from shallows.scenario.request import request

    asked = request(scenario)
    number = int(asked["links"]["marking"][link])
    marking = asked["markings"][number - 1] if number else None
    levels = thresholds(marking["kind"]) if marking else []
    return int(marking["parameters"][levels[0]]) if marking and len(levels) == 1 else None


def slow_links(answer: "Answer") -> list[str]:
    """Links that were slower for a time: a full one looks nearly idle in the statistics."""
    slower = _slowed_down(answer)
    if not slower:
        return []
    link, rate = next(iter(slower.items()))
    own = int(answer.network.rate_bps[link])
    fastest = max(own, int(faults.extremes(answer.scenario, answer.network)[0][link]))
    did, which = ("slowed down, to", "own") if fastest == own else ("was slower before, with", "highest")
    others = f" and {len(slower) - 1} more" if len(slower) > 1 else ""
    return [
        f"{answer.network.port_names[link]}{others} {did} {RATE.text(rate)} of {RATE.text(fastest)}: "
        f"utilization and backlog refer to a link's {which} rate"
    ]


def _slowed_down(answer: "Answer") -> dict[int, int]:
    """The slowest rate in bit/s of each link that was slower for a time."""
    slower: dict[int, int] = {}
    fastest, _ = faults.extremes(answer.scenario, answer.network)
    for fault in answer.scenario.faults:
        if fault.kind not in ("rate", "slow") or fault.at >= answer.ended_ps:
            continue
        for link in fault.links(answer.network):
            own = int(answer.network.rate_bps[link])
            rate = min(own, fault.rate_of(own), slower.get(link, NEVER))
            if rate < fastest[link]:
                slower[link] = rate
    return slower
