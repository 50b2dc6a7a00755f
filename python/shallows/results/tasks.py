"""Results of tasks and training iterations: completion, exposed communication, steps, stragglers."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shallows.core.contract import U64
from shallows.results import least
from shallows.scenario import addends
from shallows.traffic import Tasks, Training
from shallows.units import NEVER

if TYPE_CHECKING:
    from shallows.core.contract import Answer
    from shallows.results.contents import Step
    from shallows.scenario import Scenario
    from shallows.topology import Network
    from shallows.traffic import Flows

Numbers = NDArray[np.int64]


def of_run(scenario: "Scenario", network: "Network", answer: "Answer") -> list[dict[str, object]]:
    """`summary["tasks"]`: a row for each table of tasks or training; `answer` is that of the world."""
    flows = scenario.flows
    rows: list[dict[str, object]] = []
    for number, table in enumerate(scenario.traffic):
        if not isinstance(table, Tasks | Training):
            continue
        members = _members(flows, number)
        start, finish = (
            np.concatenate(parts)[members]
            for parts in (
                (answer["flows"]["start_ps"], answer["computations"]["start_ps"]),
                (answer["flows"]["finish_ps"], answer["computations"]["finish_ps"]),
            )
        )
        step = np.concatenate(
            [_steps(flows, number), flows.computations.step[members[members >= len(flows)] - len(flows)]]
        )
        names = table.step_names(int(step.max()) + 1)
        ideal, computed = _least(scenario, members, answer["flows"]["ideal_ps"])
        row: dict[str, object] = {"traffic": number, "name": flows.names[number], "kind": table.kind}
        row |= _times(start, finish, ideal, computed, answer["ended_ps"])
        row |= _stragglers(network, flows, members, finish)
        rows.append(row | {"steps": _spans(start, finish, step, names)})
    return rows


def _members(flows: "Flows", table: int) -> Numbers:
    """The numbers of the tasks of a table."""
    computations = np.flatnonzero(flows.computations.table == table) + len(flows)
    return np.concatenate([np.flatnonzero(flows.group == table), computations])


def _steps(flows: "Flows", table: int) -> NDArray[np.integer]:
    messages = flows.messages[table]
    assert messages is not None, "tasks have steps"
    return messages.step


def _times(
    start: U64, finish: U64, ideal: least.Least | None, computed: float | None, ended_ps: int
) -> dict[str, object]:
    """`exposed_us` is the completion time beyond the computations and their waits for each other.

    Until the end of the run, an unfinished task has taken the time in `more_than`.
    """
    over = not (finish == NEVER).any()
    completion_us = float(finish.max() - start.min()) / 1e6 if over else None
    ideal_us = None if ideal is None else ideal.ps / 1e6
    computation_us = None if computed is None else computed / 1e6
    exposed_us = completion_us - computation_us if completion_us and computation_us is not None else None
    bounds: dict[str, float] = {}
    if not over:
        least_us = max(ended_ps - int(start.min()), 0) / 1e6
        bounds = {"completion_us": least_us, "exposed_us": max(least_us - (computation_us or 0), 0)}
        bounds |= {"slowdown": least_us / ideal_us} if ideal_us else {}
    return {
        "completion_us": completion_us,
        "ideal_us": ideal_us,
        "ideal_is_bound": ideal is None or ideal.is_bound,
        "slowdown": completion_us / ideal_us if completion_us and ideal_us else None,
        "computation_us": computation_us,
        "exposed_us": exposed_us,
        "exposed_share": exposed_us / completion_us if completion_us and exposed_us is not None else None,
        "more_than": bounds,
    }


def _spans(start: U64, finish: U64, step: NDArray[np.integer], names: list[str]) -> "list[Step] | None":
    """When the first task of each step started and its last one ended, since the first start of all."""
    if (finish == NEVER).any():
        return None
    first = np.full(len(names), NEVER, np.uint64)
    last = np.zeros(len(names), np.uint64)
    np.minimum.at(first, step, start)
    np.maximum.at(last, step, finish)
    begin = start.min()
    return [
        {"step": name, "begin_us": float(a - begin) / 1e6, "end_us": float(b - begin) / 1e6}
        for name, a, b in zip(names, first, last, strict=True)
        if a != NEVER
    ]


def _stragglers(network: "Network", flows: "Flows", members: Numbers, finish: U64) -> dict[str, object]:
    """The host that ends last, how long after the first one, and the host that computes longest."""
    messages, rows = members[members < len(flows)], members[members >= len(flows)] - len(flows)
    hosts = np.concatenate([flows.dst[messages], flows.computations.host[rows]])
    busy = np.bincount(
        flows.computations.host[rows], flows.computations.duration_ps[rows].astype(float), network.hosts
    )
    found: dict[str, object] = {
        "last_rank": None,
        "spread_us": None,
        "slowest_host": None,
        "slowest_ratio": None,
    }
    if busy.any():
        found["slowest_host"] = network.host_names[int(busy.argmax())]
        found["slowest_ratio"] = float(busy.max() / busy[busy > 0].mean())
    if (finish == NEVER).any():
        return found
    ends = np.zeros(network.hosts, np.uint64)
    np.maximum.at(ends, hosts, finish)
    ended = ends[ends > 0]
    spread_us = float(ended.max() - ended.min()) / 1e6
    return found | {"last_rank": network.host_names[int(ends.argmax())], "spread_us": spread_us}


def _least(scenario: "Scenario", members: Numbers, ideal_ps: U64) -> tuple[least.Least | None, float | None]:
    """The longest chain with messages of ideal times, and with messages that take no time.

    None for tasks of which some need only a part of their predecessors.
    """
    flows = scenario.flows
    waits = [flows.wait, flows.computations.wait]
    if any(wait is not None and wait.needs.any() for wait in waits):
        return None, None
    count = len(flows) + len(flows.computations)
    is_flow = np.arange(count) < len(flows)
    lasts = np.concatenate([ideal_ps, flows.computations.duration_ps]).astype(float)
    delay = np.concatenate([addends.in_ideal(scenario), flows.computations.start_ps]).astype(float)
    length_ps, start_ps = least.chain(scenario, members, lasts, delay, least.Ports.of_senders(scenario))
    shared = least.share_ports(scenario, members, start_ps, ideal_ps)
    # A message's delay is communication, unless it is the start of the table.
    waiting = np.concatenate([flows.waiting, flows.computations.waiting])
    later = np.where(is_flow & waiting, 0.0, delay)
    computed_ps, _ = least.chain(scenario, members, np.where(is_flow, 0.0, lasts), later)
    return least.Least(length_ps, shared), computed_ps
