"""The completion time of a task without a tenant or a fault: predicted from its messages, and from a run.

The prediction takes the time that belongs to the tenant or fault out of every message, not only of those on
the critical path, and searches the longest chain again. A message keeps at least its time on an empty path.
Of a task of many messages, those that took little beyond their ideal time keep what they took: only a message
on the longest chain can shorten it, so that the search looks at the rest of a chain only where it matters.
"""

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shallows.errors import ScenarioError
from shallows.results import task_members
from shallows.scenario import addends, port_checks
from shallows.why import choice, processors, record, rerun, task, walk
from shallows.why.causes import OWN
from shallows.why.counterfactual import completion_without
from shallows.why.index import Index
from shallows.why.pauses import Pauses

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from shallows.core.progress import OnProgress
    from shallows.results.run import RunData
    from shallows.results.task_members import Task
    from shallows.scenario import Scenario
    from shallows.why.path import Piece


MOST = 1000
"""Messages that a pass looks at beside those of the longest chain; a task with no more is watched whole."""
PASSES, LITTLE = 3, 0.01
"""The most passes, and the share of the result up to which messages of the chain remain unknown."""


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
    exact: bool = True
    """True if it slows down for losses and marks alone."""


class _Removal(NamedTuple):
    """The part that a counterfactual run leaves out."""

    flows: frozenset[int]
    links: dict[int, float]
    """Links without their faults, and the share of their rate that the fault took."""
    scenario: "Scenario"
    """The scenario without the fault. Flows stay in it, but start too late."""


def of_run(
    run: "RunData", name: str, what: str, on_progress: "OnProgress | None" = None
) -> TaskCounterfactual:
    """The counterfactual of the task `name` of `run`; `what` is a tenant, or a fault by link, node or number.

    Runs the scenario twice: to watch messages of the task, and without `what`. Of a task of many messages it
    watches those that took longest beyond their ideal time, and in further runs, at most `PASSES`, those
    that then decide. Raises `ScenarioError`.
    """
    scenario, its = rerun.scenario_of(run), choice.task(run, name)
    removal = _removal(scenario, its, what)
    messages = _Messages(run, its)
    ends, share, expected = task.candidates(scenario.flows, its) | messages.first(), None, 0
    for number in range(PASSES):
        index = Index(record.of_flows(run, ends, its.start_ps, on_progress))
        costs = _Costs(index, removal)
        if share is None:
            share = sum(costs.of(message.flow, message.pieces) for message in task.messages_of(index, its))
        messages.look(index, costs, ends)
        expected, ends = messages.longest()
        if not ends or number == PASSES - 1:
            break
    begin, end = its.begin_ps, int(its.finish_ps[its.last])
    took = removal.scenario, its.members, begin, end - begin
    ran = completion_without(set(removal.flows), *took, on_progress)
    used = scenario.flows.ccs[int(scenario.flows.cc[its.flows.start])] if its.flows else None
    cc, exact = (used.label, used.traits["reacts_to_queues_alone"]) if used else ("", True)
    return TaskCounterfactual(its.name, what, end - begin, share or 0, expected, ran, cc, exact)


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
            taken = max(0.0, 1 - fault.rate_of(own) / own)
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
            elif piece.cause not in OWN:
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
        pause = self._pauses.pause_at(piece.port, piece.begin_ps, range(port_checks.MOST))
        assert pause is not None, "a path waits only for pauses of its record"
        root = self._pauses.chain(pause)[-1]
        if root in self._removal.links:
            return piece.length_ps
        queue = self._index.queue(root, piece.begin_ps)
        removed = sum(length for flow, length in queue.items() if flow in self._removal.flows)
        return piece.length_ps * removed // max(sum(queue.values()), 1)


class _Messages:
    """The messages and computations of a task, and how long each takes without the tenant or fault.

    Of a message that nobody looked at this is the time that it took, which is an upper bound.
    """

    def __init__(self, run: "RunData", task: "Task") -> None:
        scenario = run.scenario
        self._flows, self._task = scenario.flows, task
        ideal_us = np.nan_to_num(np.asarray(run.columns("flows")["ideal_us"], float))
        least_ps = np.rint(ideal_us * 1e6).astype(np.int64)
        least_ps += sum(addends.in_fct(scenario).values(), np.zeros(len(self._flows), np.uint64)).astype(
            np.int64
        )
        took_ps = task.finish_ps[: len(least_ps)] - task.start_ps[: len(least_ps)]
        own = slice(task.flows.start, task.flows.stop)
        self._first = task.flows.start
        self._least_ps: list[int] = least_ps[own].tolist()
        self._beyond_ps = np.maximum(took_ps - least_ps, 0)[own]
        self._sending_ps = _sending_ps(scenario)[own]
        self._costs: dict[int, tuple[int, int, int]] = {}
        """Of each message looked at: the time until it was sent, and the costs until then and in all."""
        self._waited: dict[int, tuple[int, int]] = {}
        """Of each computation: how long it waited for other tasks, and would have without the tenant."""
        self._predecessors = task_members.all_predecessors(self._flows, task)
        self._order = task_members.in_order(self._flows, task)

    def first(self) -> dict[int, int]:
        """The messages to look at first, each with the last time at which it counts."""
        finish, end = self._task.finish_ps, int(self._task.finish_ps[self._task.last])
        if len(self._task.flows) <= MOST:
            return dict.fromkeys(self._task.flows, end)
        slowest = np.argsort(-self._beyond_ps, kind="stable")[:MOST]
        found = {self._first + at: int(finish[self._first + at]) for at in slowest.tolist()}
        for number in self._task.computations:
            if task_members.waits_behind_others(self._flows, self._task, number):
                every = (other for pairs in self._predecessors[number] for other in pairs)
                found |= dict.fromkeys((other for other in every if other in self._task.flows), end)
        return found

    def look(self, index: Index, costs: _Costs, watched: "Iterable[int]") -> None:
        """Find the costs of messages of the record `index`."""
        for flow in watched:
            if flow not in self._task.flows:
                continue
            start, finish = int(self._task.start_ps[flow]), int(self._task.finish_ps[flow])
            last = index.packets["left_ps"][index.last_data(flow)]
            until_sent = costs.of(flow, walk.until_sent(index, flow, last))
            until_received = costs.of(flow, walk.until_received(index, flow, finish))
            self._costs[flow] = last - start, until_sent, until_received
        if not self._waited:
            self._waited = {number: costs.waited_ps(self._task, number) for number in self._task.computations}

    def longest(self) -> tuple[int, dict[int, int]]:
        """The longest chain without the costs, and its messages to look at, if they may shorten it much."""
        flows, task = self._flows, self._task
        sent: dict[int, int] = {}
        ends: dict[int, int] = {}
        last_of: dict[int, int | None] = {}
        for number in self._order:
            start, finish = int(task.start_ps[number]), int(task.finish_ps[number])
            after, behind = self._predecessors[number]
            before = [(ends[other], other) for other in after if other in ends]
            before += [(sent[other], other) for other in behind if other in sent]
            # The last of the predecessors that it needs; 0 is all.
            enough = task_members.needs(flows, number) or len(before)
            waited, waits = self._waited.get(number, (0, 0))
            begin, last_of[number] = start - waited, None
            if before:
                begin, last_of[number] = sorted(before)[:enough][-1]
                begin += task_members.delay_ps(flows, number)
            begin += waits
            if number >= len(flows):
                busy = task_members.before_on_processor(flows, task, number)
                if busy is not None and ends.get(busy, 0) > begin:
                    begin, last_of[number] = ends[busy], busy
                ends[number] = begin + finish - start
                continue
            until_sent, took = self._without_costs(number, finish - start)
            sent[number], ends[number] = begin + until_sent, begin + took
        last = max(ends, key=ends.__getitem__)
        return ends[last] - task.begin_ps, self._unknown(last, last_of, ends[last] - task.begin_ps)

    def _without_costs(self, flow: int, took_ps: int) -> tuple[int, int]:
        """Time from the start of a message until it is sent, and until it is received."""
        at = flow - self._first
        if flow in self._costs:
            until_sent, cost_sent, cost = self._costs[flow]
            return until_sent - cost_sent, max(took_ps - cost, self._least_ps[at])
        return min(took_ps, int(self._sending_ps[at] + self._beyond_ps[at])), took_ps

    def _unknown(self, last: int, last_of: "Mapping[int, int | None]", expected_ps: int) -> dict[int, int]:
        """Messages of a chain that nobody looked at, and the next slowest; none if they matter little."""
        chain: list[int] = []
        now: int | None = last
        while now is not None:
            chain.append(now)
            now = last_of[now]
        unknown = [flow for flow in chain if flow in self._task.flows and flow not in self._costs]
        if sum(int(self._beyond_ps[flow - self._first]) for flow in unknown) <= LITTLE * expected_ps:
            return {}
        others = (self._first + int(at) for at in np.argsort(-self._beyond_ps, kind="stable"))
        unknown += islice((flow for flow in others if flow not in self._costs), MOST)
        return {flow: int(self._task.finish_ps[flow]) for flow in unknown}


def _sending_ps(scenario: "Scenario") -> "NDArray[np.float64]":
    """The time until the last frame of each flow begins to leave over the slowest link of its idle host."""
    network, flows = scenario.graph, scenario.flows
    slowest = np.full(network.nodes, np.inf)
    np.minimum.at(slowest, network.link_from, network.rate_bps.astype(float))
    frames = -(-flows.bytes.astype(float) // scenario.frame.payload)
    return np.maximum(frames - 1, 0) * scenario.mtu * 8e12 / slowest[flows.src]
