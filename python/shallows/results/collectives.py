"""Results of collectives: completion time, bandwidths as in nccl-tests, steps, and the last rank."""

from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from shallows.core.contract import U64
from shallows.traffic import Collective, offered
from shallows.units import NEVER

if TYPE_CHECKING:
    from shallows.core.contract import Answer
    from shallows.scenario import Scenario
    from shallows.topology import Network
    from shallows.traffic import Flows


class Times(TypedDict):
    """The part of a row that says how long a collective took."""

    completion_us: float | None
    ideal_us: float
    slowdown: float | None
    steps_us: list[float] | None
    more_than: dict[str, float]


def of_run(scenario: "Scenario", network: "Network", answer: "Answer") -> list[dict[str, object]]:
    """`summary["collectives"]`: a row for each group of each collective.

    `answer` is that of the world.
    """
    flows, ended_ps, columns = scenario.flows, answer["ended_ps"], answer["flows"]
    rows: list[dict[str, object]] = []
    for number, messages in enumerate(flows.messages):
        table = scenario.traffic[number]
        if messages is None or not isinstance(table, Collective):
            continue
        first = int(np.searchsorted(flows.group, number))
        size = int(np.sum(messages.group == 0))
        for group in range(len(messages.group) // size):
            members = slice(first + group * size, first + (group + 1) * size)
            step = messages.step[group * size : (group + 1) * size]
            ideal_ps = max(
                table.step_delay + _critical_ps(flows, members, step, columns["ideal_ps"]),
                _sending_ps(scenario, network, flows, members),
            )
            ranks = len(np.union1d(flows.src[members], flows.dst[members]))
            finish_ps = columns["finish_ps"][members]
            start_ps = columns["start_ps"][members] - np.uint64(table.step_delay)
            times = _times(start_ps, finish_ps, step, ideal_ps, ended_ps)
            rows.append(
                {
                    "traffic": number,
                    "name": flows.names[number],
                    "kind": table.kind,
                    "group": group,
                    "ranks": ranks,
                    "size_bytes": table.size,
                    **times,
                    **_last(network, flows.dst[members], finish_ps),
                    **_bandwidths(table.size, times["completion_us"], table.bus_factor(ranks)),
                }
            )
    return rows


def _times(start_ps: U64, finish_ps: U64, step: NDArray[np.integer], ideal_ps: float, ended_ps: int) -> Times:
    """Completion time, ideal and steps; a step lasts from the end of the step before to its own.

    The first of `start_ps` is when the first rank began to prepare its first message. Until the end of the
    run, an unfinished collective has taken the time in `more_than`.
    """
    ideal_us = ideal_ps / 1e6
    if (finish_ps == NEVER).any():
        least_us = max(ended_ps - int(start_ps.min()), 0) / 1e6
        bounds = {"completion_us": least_us, "slowdown": least_us / ideal_us}
        bounds |= dict.fromkeys(("algbw_gb_per_s", "busbw_gb_per_s"), 0.0)
        return {
            "completion_us": None,
            "ideal_us": ideal_us,
            "slowdown": None,
            "steps_us": None,
            "more_than": bounds,
        }
    ends = np.zeros(int(step.max()) + 1, np.uint64)
    np.maximum.at(ends, step, finish_ps - start_ps.min())
    completion_us = float(ends.max()) / 1e6
    steps_us = np.diff(np.maximum.accumulate(ends).astype(float), prepend=0.0) / 1e6
    return {
        "completion_us": completion_us,
        "ideal_us": ideal_us,
        "slowdown": completion_us / ideal_us,
        "steps_us": steps_us.tolist(),
        "more_than": {},
    }


def _last(network: "Network", target: NDArray[np.integer], finish_ps: U64) -> dict[str, object]:
    """The rank that receives its last message last, and how long after the first such rank."""
    if (finish_ps == NEVER).any():
        return {"last_rank": None, "spread_us": None}
    ends = np.zeros(int(target.max()) + 1, np.uint64)
    np.maximum.at(ends, target, finish_ps)
    received = ends[ends > 0]
    return {
        "last_rank": network.host_names[int(ends.argmax())],
        "spread_us": float(received.max() - received.min()) / 1e6,
    }


def _bandwidths(size_bytes: int, time_us: float | None, factor: float) -> dict[str, object]:
    """algbw and busbw in GB/s, as nccl-tests prints them: size over time, and times the bus factor."""
    algbw = size_bytes / time_us / 1e3 if time_us else None
    return {"algbw_gb_per_s": algbw, "busbw_gb_per_s": algbw and algbw * factor}


def _critical_ps(flows: "Flows", members: slice, step: NDArray[np.integer], ideal_ps: U64) -> float:
    """The longest chain of messages of ideal times and delays, from the start of the first message."""
    first, count = members.start, members.stop - members.start
    pairs = slice(*np.searchsorted(flows.after.flow, [members.start, members.stop]))
    flow = flows.after.flow[pairs].astype(np.int64) - first
    before = flows.after.predecessor[pairs].astype(np.int64) - first
    delay, ideal = flows.start_ps[members].astype(float), ideal_ps[members].astype(float)
    waits = np.zeros(count, bool)
    waits[flow] = True
    begin = delay[~waits].min()
    ready = np.where(waits, 0.0, -begin)
    ends = np.zeros(count)
    order = np.argsort(step[flow], kind="stable")
    flow, before = flow[order], before[order]
    for now in range(int(step.max()) + 1):
        of_step = slice(*np.searchsorted(step[flow], [now, now + 1]))
        np.maximum.at(ready, flow[of_step], ends[before[of_step]])
        mine_now = step == now
        ends[mine_now] = ready[mine_now] + delay[mine_now] + ideal[mine_now]
    return float(ends.max())


def _sending_ps(scenario: "Scenario", network: "Network", flows: "Flows", members: slice) -> float:
    """The least time that every link needs for its part of the group's frames.

    Equal paths share them equally. In networks that are too large for that, the ports of a host together.
    """
    payload = scenario.frame.payload
    frames = (flows.bytes[members] + np.uint64(payload - 1)) // np.uint64(payload)
    bits = 8.0 * (flows.bytes[members] + frames * np.uint64(scenario.mtu - payload)).astype(np.float64)
    needed_s = offered.load(network, [offered.Offered(flows.src[members], flows.dst[members], bits)])
    if np.isnan(needed_s).any():
        nics = network.is_nic
        rate = np.bincount(network.link_from[nics], network.rate_bps[nics].astype(float), network.hosts)
        needed_s = np.array(
            [np.bincount(ends[members], bits, network.hosts) / rate for ends in (flows.src, flows.dst)]
        )
    return float(np.max(needed_s)) * 1e12
