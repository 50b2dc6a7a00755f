"""The critical path of a task: from its last finish back to its first start, through all messages on the way.

A message starts a fixed delay after the last of those that it waits for: after that one was received at its
host, was acknowledged there, or had been sent from there. The path follows this last one, and within each
message the packets (`walk`). So its pieces touch each other, and their sum is the completion time.
"""

from os import PathLike
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import numpy as np

from shallows.results import task_members
from shallows.results.task_members import Edge, Until
from shallows.why import choice, pauses, processors, record, rerun, walk
from shallows.why.index import Index
from shallows.why.path import Message, Path, Piece

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.figure import Figure
    from pandas import DataFrame

    from shallows.core.progress import OnProgress
    from shallows.results.run import RunData
    from shallows.results.task_members import Task
    from shallows.traffic import Flows
    from shallows.why.record import Record
    from shallows.why.task_counterfactual import TaskCounterfactual


class TaskPath(Path):
    """The critical path of a task, through all messages on the way."""

    KIND, LEAST = "task", "an empty network"

    def __init__(
        self, run: "RunData", task: "Task", messages: list[Message], record: "Record", ideal_ps: int
    ) -> None:
        self.run, self.task, self.name = run, task, task.name
        self._first = int(np.searchsorted(record.scenario.flows.group, task.table))
        self._ideal_ps = ideal_ps
        super().__init__(record, messages, [])

    @property
    def title(self) -> str:
        return f"{self.KIND} {self.name}"

    @property
    def ideal_ps(self) -> int:
        """The completion time of a collective on an empty network, as in its results; 0 if not known."""
        return self._ideal_ps

    def table(self) -> "DataFrame":
        """Every piece of the path as a pandas table, for other groupings."""
        import pandas

        ports, hosts = self.record.names, self.record.scenario.graph.host_names
        flows = self.record.scenario.flows
        rows: list[dict[str, object]] = [
            {
                "task": self.name,
                "message": message.flow,
                "step": self.step(message.flow),
                "source": hosts[task_members.hosts(flows, message.flow)[0]],
                "target": hosts[task_members.hosts(flows, message.flow)[1]],
                "begin_ps": piece.begin_ps,
                "end_ps": piece.end_ps,
                "cause": piece.cause,
                "port": None if piece.port is None else ports[piece.port],
                "behind_flow": piece.flow,
                "behind_task": None if piece.flow is None else task_members.of_flow(flows, piece.flow),
                "kind": piece.kind,
                "seq": piece.seq,
                "base": piece.base,
            }
            for message in self.messages
            for piece in message.pieces
        ]
        return pandas.DataFrame(rows).astype({"behind_flow": "Int64", "step": "Int64"})

    def step(self, flow: int) -> int | None:
        """The step of a message or computation of this task; None for traffic without steps."""
        flows = self.record.scenario.flows
        if flow >= len(flows):
            return int(flows.computations.step[flow - len(flows)])
        messages = flows.messages[self.task.table]
        return None if messages is None else int(messages.step[flow - self._first])

    def counterfactual(self, what: str, on_progress: "OnProgress | None" = None) -> "TaskCounterfactual":
        """The completion time without `what`, a traffic table or a fault ("s0->s1", "spine0" or "faults[0]").

        The scenario runs again twice for this. Raises `ScenarioError`.
        """
        from shallows.why import task_counterfactual

        return task_counterfactual.of_run(self.run, self.name, what, on_progress)

    @property
    def slack_is_lower_bound(self) -> bool:
        """True if `slack` may be larger, because some messages need only some of their predecessors."""
        from shallows.why import slack

        return slack.is_lower_bound(self.record.scenario.flows, self.task)

    def slack(self, on_progress: "OnProgress | None" = None) -> dict[int, int]:
        """How many picoseconds later each message of the task could have ended without delaying the task.

        A lower bound if some messages need only some of their predecessors. The scenario runs again for this.
        """
        from shallows.why import slack

        return slack.of_run(self.run, self.name, on_progress)

    def figure(self, size: float = 7.2) -> "Figure":
        """A matplotlib `Figure`, `size` inches wide: the path over places and time, and its messages."""
        from shallows.why import figure

        return figure.waterfall(self, size)

    def html(
        self,
        file: str | PathLike[str],
        costs: "Sequence[TaskCounterfactual]" = (),
        slack: "Mapping[int, int] | None" = None,
    ) -> FilePath:
        """Write a self-contained page of this path to `file`; return its path.

        `costs` are values of `counterfactual()`, and `slack` that of `slack()`, to include.
        """
        from shallows.why import page as report

        return report.write(file, report.of_paths(self, costs, slack))


def of_run(run: "RunData", name: str, on_progress: "OnProgress | None" = None) -> TaskPath:
    """The `TaskPath` of the task `name` of `run`, from a second pass that watches the messages on the way.

    Raises `ScenarioError` if there is no such task, if it has not finished, and if the second pass was not
    the same run.
    """
    scenario = rerun.scenario_of(run)
    task = choice.task(run, name)
    ends = candidates(scenario.flows, task)
    kept = record.of_flows(run, ends, task.start_ps, on_progress)
    index = Index(kept)
    rows = run.summary.get("collectives", [])
    ideals = (
        row["ideal_us"] or 0 for row in rows if (row["traffic"], row["group"]) == (task.table, task.group)
    )
    messages = pauses.named(index, messages_of(index, task))
    return TaskPath(run, task, messages, kept, round(next(ideals, 0) * 1e6))


def _last_edge(flows: "Flows", task: "Task") -> Edge:
    until: Until = "received" if task.last < len(flows) else "computed"
    return Edge(task.last, until, int(task.finish_ps[task.last]))


def candidates(flows: "Flows", task: "Task") -> dict[int, int]:
    """The messages that may be on the critical path, each with the last time at which it could be."""
    ends = {task.last: int(task.finish_ps[task.last])}
    left = [task.last]
    while left:
        for edge in task_members.waited_for(flows, task, left.pop()):
            if edge.flow not in ends:
                left.append(edge.flow)
            # One that was not needed may have begun later.
            begun = int(task.start_ps[edge.flow])
            ends[edge.flow] = max(ends.get(edge.flow, begun), edge.end_ps)
    return {flow: end for flow, end in ends.items() if flow < len(flows)}


def messages_of(index: Index, task: "Task") -> list[Message]:
    """The messages on the critical path of `task`, in order of time."""
    flows = index.record.scenario.flows
    edge = _last_edge(flows, task)
    found: list[Message] = []
    while True:
        start = int(task.start_ps[edge.flow])
        if edge.until == "computed":
            pieces = [Piece(start, edge.end_ps, "computation", None, None, "data", 0)] * (start < edge.end_ps)
        else:
            pieces = _UNTIL[edge.until](index, edge.flow, edge.end_ps)
        before = task_members.waited_for(flows, task, edge.flow)
        if task_members.waits_behind_others(flows, task, edge.flow):
            before = _needed(index, task, edge.flow, before)
        turns = processors.turns(index, task, edge.flow)
        if turns:
            waits = [Piece(*turn[:2], "processor", None, turn.computation, "data", 0) for turn in turns]
            pieces, start = waits + pieces, turns[0].begin_ps
        # A first task starts by itself; another rank may have begun earlier.
        begin = before[0].end_ps if before else task.begin_ps
        ready = begin if before else max(begin, start - task.first_delay_ps)
        for one, end, cause in ((ready, start, "delay"), (begin, ready, "application")):
            if one < end:
                pieces.insert(0, Piece(one, end, cause, None, None, "data", 0))
        found.append(Message(edge.flow, edge.until, min(begin, start), edge.end_ps, pieces))
        if not before:
            return found[::-1]
        edge = before[0] if len(before) == 1 else _last(index, before)


def _needed(index: Index, task: "Task", number: int, edges: list[Edge]) -> list[Edge]:
    """The edge with which a task had as many predecessors as it needs; none if it has no predecessors."""
    ends = processors.ends_of(index, task, number)
    known = (edge._replace(end_ps=end) for edge, (_, end) in zip(edges, ends, strict=True))
    ended = sorted(known, key=lambda edge: edge.end_ps)
    enough = task_members.needs(index.record.scenario.flows, number) or len(ended)
    return ended[enough - 1 : enough]


def _last(index: Index, edges: list[Edge]) -> Edge:
    """The edge that ended when the message after it was ready."""
    for edge in edges:
        if edge.until == "acknowledged" and index.acknowledgement(edge.flow, edge.end_ps) is not None:
            return edge
    left = index.packets["left_ps"]
    # A message that was not needed may have left later.
    return min(
        (edge for edge in edges if edge.until == "sent"),
        key=lambda edge: abs(left[index.last_data(edge.flow)] - edge.end_ps),
    )


_UNTIL: "dict[Until, Callable[[Index, int, int], list[Piece]]]" = {
    "received": walk.until_received,
    "acknowledged": walk.until_acknowledged,
    "sent": walk.until_sent,
}
