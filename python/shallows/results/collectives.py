"""Results of collectives: completion time, bandwidths as in nccl-tests, steps, and the last rank."""

from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from shallows.core.contract import U64
from shallows.results import least
from shallows.scenario import addends
from shallows.traffic import Collective
from shallows.units import NEVER

if TYPE_CHECKING:
    from shallows.core.contract import Answer
    from shallows.scenario import Scenario
    from shallows.topology import Network


class Times(TypedDict):
    """The part of a row that says how long a collective took."""

    completion_us: float | None
    ideal_us: float
    ideal_is_bound: bool
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
            ideal = _least(scenario, answer, members, table.step_delay)
            ranks = len(np.union1d(flows.src[members], flows.dst[members]))
            finish_ps = columns["finish_ps"][members]
            start_ps = columns["start_ps"][members] - np.uint64(table.step_delay)
            times = _times(start_ps, finish_ps, step, ideal, ended_ps)
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


def _times(
    start_ps: U64, finish_ps: U64, step: NDArray[np.integer], ideal: least.Least, ended_ps: int
) -> Times:
    """Completion time, ideal and steps; a step lasts from the end of the step before to its own.

    The first of `start_ps` is when the first rank began to prepare its first message. Until the end of the
    run, an unfinished collective has taken the time in `more_than`.
    """
    ideal_us = ideal.ps / 1e6
    if (finish_ps == NEVER).any():
        least_us = max(ended_ps - int(start_ps.min()), 0) / 1e6
        bounds = {"completion_us": least_us, "slowdown": least_us / ideal_us}
        bounds |= dict.fromkeys(("algbw_gb_per_s", "busbw_gb_per_s"), 0.0)
        return {
            "completion_us": None,
            "ideal_us": ideal_us,
            "ideal_is_bound": ideal.is_bound,
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
        "ideal_is_bound": ideal.is_bound,
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


def _least(scenario: "Scenario", answer: "Answer", members: slice, first_delay_ps: int) -> least.Least:
    """The least time of a group on an idle network, whose ranks all start with the first one.

    It begins `first_delay_ps` before the first message, when the first rank begins to prepare it.
    """
    flows, ideal_ps = scenario.flows, answer["flows"]["ideal_ps"]
    numbers = np.arange(int(members.start), int(members.stop), dtype=np.int64)
    others = np.zeros(len(flows.computations))
    delay_ps = np.concatenate([addends.in_ideal(scenario).astype(float), others])
    first = numbers[~flows.waiting[members]]
    delay_ps[first] = delay_ps[first].min()
    ports = least.Ports.of_senders(scenario)
    length_ps, start_ps = least.chain(
        scenario, numbers, np.concatenate([ideal_ps.astype(float), others]), delay_ps, ports
    )
    sending_ps = least.sending_ps(scenario, numbers, ideal_ps)
    shared = sending_ps > length_ps + least.SHORT_PS or least.share_ports(
        scenario, numbers, start_ps, ideal_ps
    )
    return least.Least(first_delay_ps + max(length_ps, sending_ps), shared)
