"""Results of tasks and training iterations: completion, exposed communication, steps, stragglers."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shallows import _core
from shallows.core.contract import F64, U64
from shallows.traffic import Tasks, Training
from shallows.units import NEVER

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        ideal, computed = _least(flows, members, answer["flows"]["ideal_ps"])
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
    start: U64, finish: U64, ideal: float | None, computed: float | None, ended_ps: int
) -> dict[str, object]:
    """`exposed_us` is the completion time beyond the computations and their waits for each other.

    Until the end of the run, an unfinished task has taken the time in `more_than`.
    """
    over = not (finish == NEVER).any()
    completion_us = float(finish.max() - start.min()) / 1e6 if over else None
    ideal_us, computation_us = (None if time is None else time / 1e6 for time in (ideal, computed))
    exposed_us = completion_us - computation_us if completion_us and computation_us is not None else None
    bounds: dict[str, float] = {}
    if not over:
        least_us = max(ended_ps - int(start.min()), 0) / 1e6
        bounds = {"completion_us": least_us, "exposed_us": max(least_us - (computation_us or 0), 0)}
        bounds |= {"slowdown": least_us / ideal_us} if ideal_us else {}
    return {
        "completion_us": completion_us,
        "ideal_us": ideal_us,
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


def _least(flows: "Flows", members: Numbers, ideal_ps: U64) -> tuple[float | None, float | None]:
    """The longest chain with messages of ideal times, and with messages that take no time.

    None for tasks of which some need only a part of their predecessors.
    """
    waits = [flows.wait, flows.computations.wait]
    if any(wait is not None and wait.needs.any() for wait in waits):
        return None, None
    count = len(flows) + len(flows.computations)
    selected = np.zeros(count, bool)
    selected[members] = True
    pairs = {how: _pairs(flows, how, selected) for how in ("after", "behind")}
    lasts = np.concatenate([ideal_ps, flows.computations.duration_ps]).astype(float)
    delay = np.concatenate([flows.start_ps, flows.computations.start_ps]).astype(float)
    ideal = longest(members, pairs, lasts, delay)
    alone = np.where(np.arange(count) < len(flows), 0.0, lasts)
    # A message's delay is communication, unless it is the start of the table.
    waiting = np.zeros(count, bool)
    for needing, _ in pairs.values():
        waiting[needing] = True
    later = np.where((np.arange(count) < len(flows)) & waiting, 0.0, delay)
    return ideal, longest(members, pairs, alone, later)


def _pairs(flows: "Flows", how: str, selected: NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
    own, other = getattr(flows, how), getattr(flows.computations, how)
    waiting = np.concatenate([own.flow.astype(np.int64), other.flow.astype(np.int64) + len(flows)])
    needed = np.concatenate([own.predecessor, other.predecessor]).astype(np.int64)
    kept = selected[waiting]
    return waiting[kept], needed[kept]


def longest(
    members: Numbers, pairs: "Mapping[str, tuple[Numbers, Numbers]]", lasts: F64, delay: F64
) -> float:
    """The longest chain of tasks from the first start to the last end.

    A task that is sent behind another starts after its start.
    """
    waiting, needed = (np.concatenate([pairs[how][side] for how in pairs]) for side in (0, 1))
    ended = np.concatenate([np.full(len(pairs[how][0]), how == "after") for how in pairs])
    needs = {"waiting": waiting.astype(np.uint32), "needed": needed.astype(np.uint32), "end": ended}
    return _core.longest_chain(members.astype(np.uint32), needs, lasts, delay)
