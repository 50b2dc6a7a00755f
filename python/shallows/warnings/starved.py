"""Warnings about flows that get hardly anything of a full link."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shallows.results import settling
from shallows.scenario.paths import about, paths_of, round_trip
from shallows.scenario.port_request import class_of_flows
from shallows.warnings.shares import full_queue_of_roce, long_enough

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.algorithms.algorithm import Algorithm
    from shallows.core.contract import F64
    from shallows.results.answer import Answer
    from shallows.scenario.ports import Queue

    Paths = Sequence[tuple[list[int], list[int]]]
    """The links of each flow, forward and back."""

TRIPS = 200
"""Round trips after which a flow with hardly anything is starved."""
STARVED, FULL = 0.1, 0.9
"""A flow starves with less than this share of its fair share, beside a link that is used to the other."""


def starved(answer: "Answer") -> list[str]:
    """Flows without an end with hardly anything of a full link, beside what max-min fairness gives them."""
    its = judged(answer)
    if len(its) < 2:
        return []
    paths, used = paths_of(answer.scenario), answer.port_columns["utilization"]
    links = [np.asarray(paths[flow][0], np.intp) for flow in its]
    got = answer.flow_columns["goodput_gbps"][its]
    fair = _max_min(links, _rest_gbps(answer, its, paths))
    full = np.array([float(used[path].max()) >= FULL for path in links])
    short = np.flatnonzero(full & (got < STARVED * fair))
    if not len(short):
        return []
    worst = int(short[np.argmax(fair[short] - got[short])])
    flow, flows_at = int(its[worst]), np.bincount(np.concatenate(links), minlength=len(used))
    port = int(max(links[worst], key=lambda link: (used[link] >= FULL, flows_at[link])))
    others = [place for place in range(len(its)) if place not in short and port in links[place]]
    most = max(others, key=lambda place: got[place], default=worst)
    settles = _settles(answer, int(its[most]), float(fair[most])) if got[worst] > 0 else ""
    why = _why(answer, flow, port, settles) or _longer_path(answer, flow, its[others].tolist(), paths)
    return [
        f"{len(short)} of {len(its)} flows without an end had less than a tenth of their fair share: flow "
        f"{flow} {got[worst]:.3g} of {fair[worst]:.3g} Gbit/s at {answer.network.port_names[port]}, used to "
        f"{used[port]:.0%}{why}"
    ]


def starved_by_priority(answer: "Answer") -> list[str]:
    """Flows that have not ended and get hardly anything of a full link, because another class goes first."""
    classes, queues = class_of_flows(answer.scenario), answer.scenario.queues
    # Whoever starves for half of the run starves.
    its = _steady(answer, float(answer.warmup_ps) + float(answer.measured_ps) / 2, unfinished=True)
    if len(queues) < 2 or len(its) < 2:
        return []
    paths, used = paths_of(answer.scenario), answer.port_columns["utilization"]
    links = [np.asarray(paths[flow][0], np.intp) for flow in its]
    got = answer.flow_columns["goodput_gbps"][its]
    fair = _max_min(links, _rest_gbps(answer, its, paths))
    found: list[tuple[float, int, int, int]] = []
    for place in np.flatnonzero(got < STARVED * fair).tolist():
        flow = int(its[place])
        for link in (one for one in links[place].tolist() if used[one] >= FULL):
            before = {int(classes[its[other]]) for other in range(len(its)) if link in links[other]}
            strict = [one for one in before if _goes_first(queues, one, int(classes[flow]))]
            if strict:
                found.append((float(fair[place] - got[place]), place, link, min(strict)))
                break
    if not found:
        return []
    _, place, link, first = max(found)
    flow = int(its[place])
    names = [queues[number].name for number in (int(classes[flow]), first)]
    of = "of the lower traffic.priority" if names[0] is None else f"of class {names[0]}"
    before = "the higher one" if names[1] is None else f"class {names[1]}"
    key = (
        "[[classes]] with a weight"
        if names[1] is None
        else f"classes[{first}].weight and those of the others"
    )
    return [
        f"{len(found)} of {len(its)} flows that have not ended had less than a tenth of a fair share below "
        f"strict priority: flow {flow} {of} {got[place]:.3g} of {fair[place]:.3g} Gbit/s at "
        f"{answer.network.port_names[link]}, which {before} uses first; write {key} to divide it"
    ]


def _goes_first(queues: "Sequence[Queue]", one: int, other: int) -> bool:
    """Whether the class `one` is served before the other: neighbours share in turns if all have weights."""
    return one < other and any(queue.turn is None for queue in queues[one : other + 1])


def judged(answer: "Answer") -> "NDArray[np.intp]":
    """The long flows that were there from the warm-up on; none where their shares are not max-min."""
    scenario, its = answer.scenario, _steady(answer, float(answer.warmup_ps))
    one_class = not scenario.classes and len({*scenario.flows.priority[its].tolist()}) < 2
    return its if one_class else its[:0]


def _steady(answer: "Answer", since_ps: float, *, unfinished: bool = False) -> "NDArray[np.intp]":
    """Flows without an end that were there from a time on, and `unfinished` ones; none where they may take
    several paths."""
    flows, scenario = answer.flow_columns, answer.scenario
    steady = np.array([table.kind == "long-lived" and not table.pauses for table in scenario.traffic])
    lasting = steady[flows["traffic"]]
    if unfinished:
        lasting |= np.isnan(flows["fct_us"]) & ~np.isnan(flows["bytes"])
    its = np.flatnonzero(lasting & (flows["start_us"] * 1e6 <= since_ps))
    one_path = scenario.network.balancing == "flow" and not scenario.faults
    packets = answer.measured_ps and answer.network.is_nic.any() and long_enough(answer, TRIPS)
    return its if one_path and packets else its[:0]


def _settles(answer: "Answer", most: int, fair_gbps: float) -> str:
    """When the flow with most at a port has fallen to its share; empty if it gives nothing."""
    fall = settling.falling_flows(answer).get(most)
    if fall is None or fall[1] <= fair_gbps:
        return ""
    span_ps = float(answer.ended_ps) / 2 * (1 - 1 / settling.PARTS)
    needed_ps = float(answer.ended_ps) + (fall[1] - fair_gbps) / (fall[0] - fall[1]) * span_ps
    return (
        f"; flow {most} gives way, from {fall[0]:.3g} to {fall[1]:.3g} Gbit/s in the second half of the run, "
        f"so shares have not settled: at this pace they need about {about(needed_ps)}; write a longer warmup "
        "and duration"
    )


def _why(answer: "Answer", flow: int, port: int, settles: str) -> str:
    """What starves a flow at a port, and what to write; empty if neither drops nor the algorithm say it."""
    used = answer.scenario.flows.ccs[int(answer.scenario.flows.cc[flow])]
    if used.transport == "credit":
        return (
            "; where credits come evenly, those of one flow take each place in a full queue of credits, and "
            "those of others are dropped (page credits): write cc.jitter = 1"
        )
    dropped, whole = (int(of["dropped"][port]) for of in (answer.answer["ports"], answer.in_whole_run))
    if (instead := used.traits["corrected_by"]) and not dropped:
        return f"; {used.name.upper()} has no point to which shares return (page rates): use {instead}"
    if settles and not dropped:
        return settles
    return _full_queue(answer, used, whole) if whole else ""


def _full_queue(answer: "Answer", used: "Algorithm", dropped: int) -> str:
    """How a full queue starves flows."""
    if used.transport == "roce":
        return f"; {full_queue_of_roce(dropped)}"
    if answer.scenario.network.marking != "none":
        return "; a full queue can lock flows out: use another start or a longer queue"
    return (
        "; a full queue locks out flows whose packets never come when one leaves (RFC 7567, section 2): "
        'write network.marking = { kind = "codel", ecn = false }, which drops some before it is full'
    )


def _longer_path(answer: "Answer", flow: int, others: "Sequence[int]", paths: "Paths") -> str:
    """A target delay per hop that leaves a flow over more switches the queue of the others."""
    used = answer.scenario.flows.ccs[int(answer.scenario.flows.cc[flow])]
    if "per_hop" not in used.parameters:
        return ""
    empty = {one: round_trip(answer.network, answer.scenario.mtu, *paths[one]) for one in (flow, *others)}
    short = min(others, key=lambda one: empty[one], default=flow)
    hops = len(paths[flow][0]) - len(paths[short][0])
    if hops <= 0 or empty[flow] <= empty[short]:
        return ""
    times = [about(empty[one]) for one in (flow, short)]
    each = about((empty[flow] - empty[short]) / hops)
    return (
        f"; its empty round trip is {times[0]} and that of flow {short} {times[1]}, so that their target "
        f'delays leave it less queue: write cc.per_hop = "{each}", the round trip of a switch more'
    )


def _rest_gbps(answer: "Answer", its: "NDArray[np.intp]", paths: "Paths") -> "F64":
    """The payload that each link can carry beside that of the flows that are not `its`."""
    scenario, payload = answer.scenario, answer.answer["flows"]["goodput_bytes"]
    left = answer.network.rate_bps.astype(float) * scenario.frame.payload / scenario.mtu / 1e9
    others = np.ones(len(payload), bool)
    others[its] = False
    for flow in np.flatnonzero(others & (payload > 0)).tolist():
        left[paths[flow][0]] -= float(payload[flow]) * 8e3 / answer.measured_ps
    return np.maximum(left, 0.0)


def _max_min(links: "Sequence[NDArray[np.intp]]", capacity: "F64") -> "F64":
    """The max-min share of each flow, given the links of its path and what these have for all of them."""
    link, flow = np.concatenate(links), np.repeat(np.arange(len(links)), [len(path) for path in links])
    share, left = np.zeros(len(links)), capacity.copy()
    waiting = np.ones(len(links), bool)
    while waiting.any():
        on = waiting[flow]
        count = np.bincount(link[on], minlength=len(left))
        each = np.where(count > 0, left / np.maximum(count, 1), np.inf)
        tightest = int(np.argmin(each))
        filled = np.unique(flow[on & (link == tightest)])
        share[filled] = each[tightest]
        waiting[filled] = False
        its = np.isin(flow, filled)
        left = np.maximum(left - np.bincount(link[its], minlength=len(left)) * each[tightest], 0)
    return share
