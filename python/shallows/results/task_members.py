"""Tasks of a run: the flows of a traffic table, or of one group of a collective, and what each waited for."""

from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shallows.errors import ScenarioError
from shallows.units import did_you_mean

if TYPE_CHECKING:
    from shallows.scenario import Scenario
    from shallows.traffic import Flows


Until = Literal["received", "acknowledged", "sent", "computed"]


class Edge(NamedTuple):
    """A task that another may have waited for last: until received, acknowledged, sent or computed."""

    flow: int
    until: Until
    end_ps: int


class Task(NamedTuple):
    """A traffic table, or a group of a collective, and when its flows started and finished in a run."""

    name: str
    """The name of the table, with "/" and the number of the group if there are several."""
    table: int
    group: int
    flows: range
    computations: range
    """Their numbers as tasks, after those of all flows."""
    start_ps: NDArray[np.int64]
    """By number of all tasks of the run; of those that have not ended, undefined."""
    finish_ps: NDArray[np.int64]
    first_delay_ps: int
    """The fixed delay before a message that waits for no other."""

    @property
    def members(self) -> list[int]:
        """The numbers of its flows and computations."""
        return [*self.flows, *self.computations]

    @property
    def begin_ps(self) -> int:
        """When the first of its computations started, or the fixed delay before the first of its flows."""
        return min(int(self.start_ps[part].min()) for part in self._parts) - self.first_delay_ps

    @property
    def last(self) -> int:
        """The flow or computation that ended last."""
        lasts = [part.start + int(self.finish_ps[part].argmax()) for part in self._parts]
        return max(lasts, key=lambda number: int(self.finish_ps[number]))

    @property
    def _parts(self) -> list[slice]:
        """Its flows and its computations, as far as there are any."""
        return [slice(part.start, part.stop) for part in (self.flows, self.computations) if len(part)]


def first_delay_ps(scenario: "Scenario", table: int) -> int:
    """The fixed delay before a message of a traffic table that waits for no other, a part of its job."""
    from shallows.traffic import Collective

    traffic = scenario.traffic[table]
    return traffic.step_delay if isinstance(traffic, Collective) else 0


def computations(flows: "Flows", table: int) -> range:
    """The numbers of the computations of a table as tasks."""
    first, end = np.searchsorted(flows.computations.table, [table, table + 1]).tolist()
    return range(len(flows) + first, len(flows) + end)


def hosts(flows: "Flows", number: int) -> tuple[int, int]:
    """The start and the end of a task."""
    if number < len(flows):
        return int(flows.src[number]), int(flows.dst[number])
    host = int(flows.computations.host[number - len(flows)])
    return host, host


def delay_ps(flows: "Flows", number: int) -> int:
    """The time from the end of the wait of a task to its start, or until it is ready to compute."""
    if number < len(flows):
        return int(flows.start_ps[number])
    return int(flows.computations.start_ps[number - len(flows)])


def predecessors(flows: "Flows", number: int) -> tuple[list[int], list[int]]:
    """The tasks that must have ended, and the flows that must have sent their data, for a task to start."""
    if number < len(flows):
        return flows.after.of(number), flows.behind.of(number)
    computations, row = flows.computations, number - len(flows)
    return computations.after.of(row), computations.behind.of(row)


def needs(flows: "Flows", number: int) -> int:
    """How many of its predecessors a task waits for; 0 is all."""
    table, row = (flows, number) if number < len(flows) else (flows.computations, number - len(flows))
    return 0 if table.wait is None else int(table.wait.needs[row])


def before_on_processor(flows: "Flows", task: Task, number: int) -> int | None:
    """The computation that kept the processor busy until this one started; None if it was idle."""
    if number < len(flows):
        return None
    computations, row = flows.computations, number - len(flows)
    same = (computations.host == computations.host[row]) & (
        computations.processor == computations.processor[row]
    )
    rows = np.flatnonzero(same)
    ended = rows[(task.finish_ps[len(flows) + rows] == task.start_ps[number]) & (rows != row)]
    busy = ended[task.start_ps[len(flows) + ended] < task.start_ps[number]]
    return len(flows) + int(busy[0]) if len(busy) else None


def all_predecessors(flows: "Flows", task: Task) -> dict[int, tuple[list[int], list[int]]]:
    """The `predecessors` of every flow and computation of a task."""
    found: dict[int, tuple[list[int], list[int]]] = {}
    for members, first, table in (
        (task.flows, 0, flows),
        (task.computations, len(flows), flows.computations),
    ):
        rows = np.arange(members.start - first, members.stop + 1 - first, dtype=np.uint32)
        both: list[list[list[int]]] = []
        for pairs in (table.after, table.behind):
            bounds, predecessor = np.searchsorted(pairs.flow, rows).tolist(), pairs.predecessor
            both.append([predecessor[one:end].tolist() for one, end in pairwise(bounds)])
        found |= dict(zip(members, zip(*both, strict=True), strict=True))
    return found


def in_order(flows: "Flows", task: Task) -> list[int]:
    """The flows and computations of a task, each after those of its predecessors that ended before it."""
    if not task.computations and _listed_in_order(flows, task):
        return list(task.flows)
    found: dict[int, None] = {}
    for first in sorted(task.members, key=lambda number: (task.start_ps[number], number)):
        left = [first]
        while left:
            now = left[-1]
            needed = [*predecessors(flows, now)[0], *predecessors(flows, now)[1]]
            needed = [
                one
                for one in needed
                if one not in found and one not in left and task.start_ps[one] <= task.start_ps[now]
            ]
            if needed:
                left += needed[:1]
            else:
                found[left.pop()] = None
    members = set(task.members)
    return [number for number in found if number in members]


def _listed_in_order(flows: "Flows", task: Task) -> bool:
    """True if each flow of a task follows its predecessors in the list, as in collectives."""
    for pairs in (flows.after, flows.behind):
        own = slice(*np.searchsorted(pairs.flow, np.array([task.flows.start, task.flows.stop], np.uint32)))
        if (pairs.predecessor[own] >= pairs.flow[own]).any():
            return False
    return True


def groups(flows: "Flows", name: str) -> tuple[int, dict[int, range]]:
    """The number of the table of this name, and the flows of its groups, or of the one named."""
    table_name, _, group = name.partition("/")
    if table_name not in flows.names:
        known = ", ".join(f'"{one}"' for one in flows.names)
        expected = f"the name of a traffic table, {known}{did_you_mean(table_name, flows.names)}"
        raise ScenarioError("task", name, expected)
    table = flows.names.index(table_name)
    first, end = np.searchsorted(flows.group, [table, table + 1]).tolist()
    messages = flows.messages[table]
    size = end - first if messages is None else int(np.sum(messages.group == 0))
    # A table of computations alone has no flows.
    every = [range(begin, begin + size) for begin in range(first, end, size)] if size else [range(first, end)]
    if not group:
        return table, dict(enumerate(every))
    if not group.isdecimal() or int(group) >= len(every):
        expected = f"a group of {table_name}, from {table_name}/0 to {table_name}/{len(every) - 1}"
        raise ScenarioError("task", name, expected)
    return table, {int(group): every[int(group)]}


def of_flow(flows: "Flows", flow: int) -> str:
    """The name of the traffic table of a task, with its group if the table is a collective of several."""
    if flow >= len(flows):
        return flows.names[int(flows.computations.table[flow - len(flows)])]
    table = int(flows.group[flow])
    messages = flows.messages[table]
    if messages is None or not messages.group[-1]:
        return flows.names[table]
    first = int(np.searchsorted(flows.group, table))
    return f"{flows.names[table]}/{messages.group[flow - first]}"


def waits_behind_others(flows: "Flows", task: "Task", number: int) -> bool:
    """True if a computation of another task kept the processor busy until this one started."""
    busy = before_on_processor(flows, task, number)
    return busy is not None and busy not in task.computations


def waited_for(flows: "Flows", task: "Task", number: int) -> list[Edge]:
    """The tasks of which one was the last that `number` waited for; none if it started by itself.

    There are several only if the results do not say which: they have no times of acknowledgements and of the
    last data sent, nor when a computation was ready that waited for those of other tasks. An edge of one of
    these may have ended before `end_ps`.
    """
    if waits_behind_others(flows, task, number):
        return _all_edges(flows, task, number)
    busy = before_on_processor(flows, task, number)
    if busy is not None:
        return [Edge(busy, "computed", int(task.finish_ps[busy]))]
    ready = int(task.start_ps[number]) - delay_ps(flows, number)
    after, behind = predecessors(flows, number)
    start_host, _ = hosts(flows, number)

    def ends_here(other: int) -> bool:
        source, target = hosts(flows, other)
        return start_host in (target,) or source != start_host

    ended = [other for other in after if ends_here(other) and task.finish_ps[other] == ready]
    if ended:
        return [Edge(ended[0], "received" if ended[0] < len(flows) else "computed", ready)]
    acknowledged = [Edge(other, "acknowledged", ready) for other in after if not ends_here(other)]
    return acknowledged + [Edge(other, "sent", ready) for other in behind]


def _all_edges(flows: "Flows", task: "Task", number: int) -> list[Edge]:
    """All predecessors of a task, each with the latest time at which it may have ended."""
    after, behind = predecessors(flows, number)
    start_host, _ = hosts(flows, number)
    start = int(task.start_ps[number])

    def until(other: int) -> Until:
        source, target = hosts(flows, other)
        if other >= len(flows):
            return "computed"
        return "received" if target == start_host or source != start_host else "acknowledged"

    return [Edge(other, until(other), start) for other in after] + [
        Edge(other, "sent", start) for other in behind
    ]
