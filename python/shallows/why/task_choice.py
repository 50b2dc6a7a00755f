"""The choice of a task by name: the flows of a traffic table, or of one group of a collective."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shallows.errors import ScenarioError
from shallows.units import did_you_mean

if TYPE_CHECKING:
    from shallows.results.run import Run
    from shallows.traffic import Flows


class Task(NamedTuple):
    """A traffic table, or a group of a collective, and when its flows started and finished in a run."""

    name: str
    """The name of the table, with "/" and the number of the group if there are several."""
    table: int
    group: int
    flows: range
    start_ps: NDArray[np.int64]
    """By number of all flows of the run; of flows that have not finished, undefined."""
    finish_ps: NDArray[np.int64]

    @property
    def begin_ps(self) -> int:
        """When the first of its flows started."""
        return int(self.start_ps[self.flows].min())

    @property
    def last(self) -> int:
        """The flow that finished last."""
        return self.flows[int(self.finish_ps[self.flows].argmax())]


def task(run: "Run", name: str) -> Task:
    """The `Task` of this name: that of a table, or "NAME/GROUP"; of several groups the slowest.

    Raises `ScenarioError` if there is none, or if it has not finished.
    """
    flows = run.scenario.flows
    columns = run.columns("flows")
    start_us, fct_us = (np.asarray(columns[key], float) for key in ("start_us", "fct_us"))
    finished = np.isfinite(fct_us)
    times_us = np.nan_to_num([start_us, start_us + fct_us])
    start, finish = np.rint(times_us * 1e6).astype(np.int64)
    found: list[Task] = []
    table, groups = _groups(flows, name)
    for group, numbers in groups.items():
        label = of_flow(flows, numbers[0])
        if not finished[numbers].all():
            expected = "one whose messages have all finished: an unfinished one has no critical path"
            raise ScenarioError("task", label, expected)
        found.append(Task(label, table, group, numbers, start, finish))
    return max(found, key=lambda one: int(one.finish_ps[one.last]) - one.begin_ps)


def _groups(flows: "Flows", name: str) -> tuple[int, dict[int, range]]:
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
    every = [range(begin, begin + size) for begin in range(first, end, size)]
    if not group:
        return table, dict(enumerate(every))
    if not group.isdecimal() or int(group) >= len(every):
        expected = f"a group of {table_name}, from {table_name}/0 to {table_name}/{len(every) - 1}"
        raise ScenarioError("task", name, expected)
    return table, {int(group): every[int(group)]}


def of_flow(flows: "Flows", flow: int) -> str:
    """The name of the traffic table of a flow, with its group if the table is a collective of several."""
    table = int(flows.group[flow])
    messages = flows.messages[table]
    if messages is None or not messages.group[-1]:
        return flows.names[table]
    first = int(np.searchsorted(flows.group, table))
    return f"{flows.names[table]}/{messages.group[flow - first]}"
