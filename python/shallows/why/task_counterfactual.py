"""The completion time of a task without a tenant or a fault: predicted from its messages, and from a run.

The prediction takes the time that belongs to the tenant or fault out of every message, not only of those on
the critical path, and searches the longest chain again. A message keeps at least its time on an empty path.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shallows.errors import ScenarioError
from shallows.scenario.port_checks import MOST
from shallows.why import processors, record, rerun, task, task_choice, walk
from shallows.why.counterfactual import times_without
from shallows.why.index import Index
from shallows.why.pauses import Pauses

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from shallows.results.run import Run
    from shallows.scenario import Scenario
    from shallows.why.path import Piece
    from shallows.why.task_choice import Task
    from shallows.worlds.runner import OnProgress


class TaskCounterfactual(NamedTuple):
    """The completion time of a task, and without a tenant (a traffic table) or a fault."""

    task: str
    what: str
    """The name of the traffic table, or the link or node of the fault."""
    completion_ps: int
    share_ps: int
    """The time of the critical path that belongs to it."""
    expected_ps: int
    """The completion time without it that the messages predict."""
    ran_ps: int | None
    """The completion time in a run without it; None if that exceeds twice the original time."""
    cc: str = ""
    """The algorithm of the task."""


class _Removal(NamedTuple):
    """The part that a counterfactual run leaves out."""

    flows: frozenset[int]
    links: dict[int, float]
    """Links without their faults, and the share of their rate that the fault took."""
    scenario: "Scenario"
    """The scenario without the fault. Flows stay in it, but start too late."""


def of_run(run: "Run", name: str, what: str, on_progress: "OnProgress | None" = None) -> TaskCounterfactual:
    """The counterfactual of the task `name` of `run`; `what` is a tenant, or a fault by link, node or number.

    Runs the scenario twice: to watch all messages of the task, and without `what`. Raises `ScenarioError`.
    """
    scenario, its = rerun.scenario_of(run), task_choice.task(run, name)
    removal = _removal(scenario, its, what)
    ends = dict.fromkeys(its.flows, int(its.finish_ps[its.last]))
    index = Index(record.of_flows(run, ends, its.start_ps, on_progress))
    costs = _Costs(index, removal)
    share = sum(costs.of(message.flow, message.pieces) for message in task.messages_of(index, its))
    ideal_us = np.nan_to_num(np.asarray(run.columns("flows")["ideal_us"], float))
    expected = _longest(index, its, costs, np.rint(ideal_us * 1e6).astype(np.int64))
    begin, end = its.begin_ps, int(its.finish_ps[its.last])
    until = begin + 2 * (end - begin)
    request = rerun.request(removal.scenario)
    starts, finishes = times_without(request, set(removal.flows), until, on_progress)
    first, last = int(starts[its.members].min()), int(finishes[its.members].max())
    ran = last - first if last < until else None
    flows = scenario.flows
    cc = flows.cc_names[int(flows.cc[flows.group == its.table][0])]
    return TaskCounterfactual(its.name, what, end - begin, share, expected, ran, cc)


def _removal(scenario: "Scenario", task: "Task", what: str) -> _Removal:
    flows, names = scenario.flows, scenario.flows.names
    if what in names and names.index(what) != task.table:
        gone = np.flatnonzero(flows.group == names.index(what)).tolist()
        gone += (len(flows) + np.flatnonzero(flows.computations.table == names.index(what))).tolist()
        return _Removal(frozenset(gone), {}, scenario)
    faults = [i for i, fault in enumerate(scenario.faults) if what in (fault.name, f"faults[{i}]")]
    if not faults:
        known = [*(name for at, name in enumerate(names) if at != task.table)]
        known += dict.fromkeys(fault.name for fault in scenario.faults)
        expected = f"another traffic table or a fault: {', '.join(known) or 'there is none'}"
        raise ScenarioError("without", what, expected)
    links: dict[int, float] = {}
    for fault in (scenario.faults[i] for i in faults):
        for link in fault.links(scenario.graph):
            own = int(scenario.graph.rate_bps[link])
            taken = 1 - fault.rate_of(own) / own
            links[link] = max(taken, links.get(link, 0.0))
    tables = scenario.tables
    tables["faults"] = [table for i, table in enumerate(tables["faults"]) if i not in faults]
    return _Removal(frozenset(), links, type(scenario)(file=scenario.file, **tables))


class _Costs:
    """The picoseconds of pieces of messages that would not be without the tenant or fault."""

    def __init__(self, index: Index, removal: _Removal) -> None:
        self._index, self._removal = index, removal
        self._pauses = Pauses(index.record)
        dropped = (packet for packet in range(len(index.kind)) if index.was_dropped(packet))
        at = ((packet, index.hops["link"][index.hops_of[packet][-1]]) for packet in dropped)
        self._lost = {index.packets["flow"][packet] for packet, link in at if link in removal.links}
        """Flows that lost a packet or an acknowledgement at a link with the fault."""

    def of(self, flow: int, pieces: "Iterable[Piece]") -> int:
        """The picoseconds of these pieces of `flow`.

        Waits that name nobody, such as for a window, follow from the tenant or fault if it has more than half
        of all waiting time.
        """
        mine, named, nobody, sending = 0, 0, 0, 0
        for piece in pieces:
            its = self._of_piece(flow, piece)
            mine += its
            if piece.cause == "transmission":
                sending += piece.length_ps - its
            elif piece.flow is not None:
                named += piece.length_ps - its
            elif piece.cause not in ("propagation", "delay", "application", "computation"):
                nobody += piece.length_ps - its
        # Data that is sent again takes longer than on the empty path.
        nobody += max(0, sending - self._sending_ps(flow))
        return mine + nobody if mine > named + nobody else mine

    def waited_ps(self, task: "Task", number: int) -> tuple[int, int]:
        """How long a computation waited for those of other tasks, and would have without the tenant."""
        place = self._index, task, number
        return processors.wait_ps(*place), processors.wait_ps(*place, besides=self._removal.flows)

    def _sending_ps(self, flow: int) -> int:
        """The transmission time of a message on the empty path."""
        table = self._index.record.tables["ideal"]
        hops = table["flow"] == flow
        return int(table["waits_ps"][hops].sum() + table["sending_ps"][hops].sum())

    def _of_piece(self, flow: int, piece: "Piece") -> int:
        if piece.flow is not None and (
            piece.flow in self._removal.flows or self._same_connection(flow, piece.flow)
        ):
            return piece.length_ps
        if piece.port is None:
            return piece.length_ps if piece.cause == "timeout" and flow in self._lost else 0
        if piece.cause == "pause":
            return self._of_pause(piece)
        taken = self._removal.links.get(piece.port)
        # The queue in which a window or pace was cut would not have grown, whoever else had a frame there.
        if taken is not None and piece.cause in ("fault", "loss", "timeout", "cut", "pace_cut"):
            return piece.length_ps
        return round(piece.length_ps * (taken or 0)) if piece.cause in ("queue", "transmission") else 0

    def _same_connection(self, flow: int, other: int) -> bool:
        """True if `other` is a message of the same connection: these meet only where one of them is late."""
        flows = self._index.record.scenario.flows
        if max(flow, other) >= len(flows):
            return False
        ends = zip(flows.src[[flow, other]], flows.dst[[flow, other]], strict=True)
        return len(set(ends)) == 1 and flows.group[flow] == flows.group[other]

    def _of_pause(self, piece: "Piece") -> int:
        """All of a pause that began at a link with the fault, else its share of the queue where it began."""
        assert piece.port is not None
        pause = self._pauses.pause_at(piece.port, piece.begin_ps, range(MOST))
        assert pause is not None, "a path waits only for pauses of its record"
        root = self._pauses.chain(pause)[-1]
        if root in self._removal.links:
            return piece.length_ps
        queue = self._index.frames[root].queue(piece.begin_ps)
        removed = sum(length for flow, length in queue.items() if flow in self._removal.flows)
        return piece.length_ps * removed // max(sum(queue.values()), 1)


def _longest(index: Index, task: "Task", costs: _Costs, ideal_ps: "NDArray[np.int64]") -> int:
    """The longest chain of messages without their costs, but not shorter than on an empty path."""
    flows = index.record.scenario.flows
    sent: dict[int, int] = {}
    ends: dict[int, int] = {}
    for flow in task_choice.in_order(flows, task):
        start, finish = int(task.start_ps[flow]), int(task.finish_ps[flow])
        after, behind = task_choice.predecessors(flows, flow)
        before = [ends[other] for other in after if other in ends]
        before += [sent[other] for other in behind if other in sent]
        # The last of the predecessors that it needs; 0 is all.
        enough = task_choice.needs(flows, flow) or len(before)
        waited, waits = costs.waited_ps(task, flow)
        begin = start - waited
        if before:
            begin = sorted(before)[:enough][-1] + task_choice.delay_ps(flows, flow)
        begin += waits
        busy = task_choice.before_on_processor(flows, task, flow)
        begin = max(begin, ends.get(busy, 0) if busy is not None else 0)
        if flow >= len(flows):
            ends[flow] = begin + finish - start
            continue
        last = index.packets["left_ps"][index.last_data(flow)]
        until_sent = walk.until_sent(index, flow, last)
        sent[flow] = begin + last - start - costs.of(flow, until_sent)
        took = finish - start - costs.of(flow, walk.until_received(index, flow, finish))
        ends[flow] = begin + max(took, int(ideal_ps[flow]))
    return max(ends.values()) - task.begin_ps
