"""The tasks of one training iteration: passes of layers, messages of the pipeline, and collectives."""

import numpy as np
from numpy.typing import NDArray

from shallows.core.contract import F64, U32
from shallows.traffic.schedules import Schedule
from shallows.traffic.task_graph import Ids, TaskGraph

Experts = tuple[Schedule, int]
"""The schedule and the size of groups of experts."""
STREAM = 1
"""The processor of a host on which collectives end; computations have processor 0."""
NONE = -1


class Shape:
    """The hosts of all ranks, numbered by stage, then by data and tensor parallelism."""

    def __init__(self, hosts: U32) -> None:
        self.hosts = hosts.ravel()
        self.number = np.arange(hosts.size).reshape(hosts.shape)
        self.pp, self.dp, self.tp = hosts.shape

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return len(self.hosts)

    def stage(self, stage: int) -> NDArray[np.int64]:
        """The ranks of a stage."""
        return self.number[stage].ravel()

    def data(self, stage: int) -> NDArray[np.int64]:
        """The data-parallel groups of a stage, one row a group."""
        return self.number[stage].T

    def experts(self, stage: int, ep: int) -> NDArray[np.int64]:
        """The groups of `ep` neighbours among the data-parallel ranks of a stage."""
        return self.data(stage).reshape(-1, ep)


class Iteration:
    """A builder. `tail` is the last task of each rank, after which its next computation starts."""

    def __init__(self, shape: Shape, slower: F64, start_ps: int, step_delay_ps: int) -> None:
        self.graph, self.shape = TaskGraph(), shape
        self._slower, self._start_ps, self._step_delay_ps = slower, start_ps, step_delay_ps
        self.tail: Ids = np.full(shape.ranks, NONE)
        self._arrived: Ids = np.full(shape.ranks, NONE)
        """The message that the next computation of a rank waits for as well."""
        self._sent: dict[tuple[int, int, bool], Ids] = {}
        self._last_sent: dict[tuple[int, bool], Ids] = {}
        self._reduced: Ids = np.full(shape.ranks, NONE)
        """The end of the last bucket of each rank."""

    def layer(
        self, stage: int, length_ps: int, step: int, tensor: Schedule | None, expert: Experts | None
    ) -> Ids:
        """Add a layer of one pass of a stage; returns the last computation of each rank of all.

        With tensor parallelism each half ends with an all-reduce. With experts, all-to-alls of
        their groups are before and after the second half.
        """
        if tensor is None and not expert:
            self._compute(stage, length_ps, step)
            return self.tail.copy()
        half = length_ps // 2
        self._compute(stage, half, step)
        self._tensor(stage, tensor, step)
        self._expert(stage, expert, step)
        self._compute(stage, length_ps - half, step)
        computed = self.tail.copy()
        self._expert(stage, expert, step)
        self._tensor(stage, tensor, step)
        return computed

    def _compute(self, stage: int, length_ps: int, step: int) -> None:
        ranks = self.shape.stage(stage)
        lengths = np.rint(length_ps * self._slower[ranks]).astype(np.int64)
        first = self.tail[ranks] == NONE
        delay = np.where(first & (self._arrived[ranks] == NONE), self._start_ps, 0)
        tasks = self.graph.computations(self.shape.hosts[ranks], lengths, delay_ps=delay, step=step)
        self._after(tasks, self.tail[ranks])
        self._after(tasks, self._arrived[ranks])
        self.tail[ranks], self._arrived[ranks] = tasks, NONE

    def _after(self, tasks: Ids, needed: Ids) -> None:
        known = needed != NONE
        self.graph.after(tasks[known], needed[known])

    def _tensor(self, stage: int, schedule: Schedule | None, step: int) -> None:
        if schedule is not None:
            groups = self.shape.number[stage]
            self.tail[groups.ravel()] = self._collective(groups, schedule, [self.tail], step).ravel()

    def _expert(self, stage: int, expert: Experts | None, step: int) -> None:
        if expert:
            schedule, size = expert
            groups = self.shape.experts(stage, size)
            self.tail[groups.ravel()] = self._collective(groups, schedule, [self.tail], step).ravel()

    def receive(self, stage: int, micro: int, forward: bool) -> None:
        """Let the next computation of a stage wait for the activations, or their gradients, of a pass."""
        sent = self._sent.get((stage - 1 if forward else stage + 1, micro, forward))
        if sent is not None:
            self._arrived[self.shape.stage(stage)] = sent

    def send(self, stage: int, micro: int, forward: bool, size: int, step: int) -> None:
        """Send the activations, or their gradients, of a pass to the next stage in its direction."""
        other = stage + 1 if forward else stage - 1
        if not 0 <= other < self.shape.pp:
            return
        sender, receiver = (self.shape.stage(one) for one in (stage, other))
        hosts = self.shape.hosts
        sent = self.graph.messages(
            hosts[sender], hosts[receiver], size, delay_ps=self._step_delay_ps, step=step
        )
        self._after(sent, self.tail[sender])
        before = self._last_sent.get((stage, forward))
        if before is not None:
            self.graph.behind(sent, before)
        self._sent[stage, micro, forward] = self._last_sent[stage, forward] = sent

    def reduce(self, stage: int, schedule: Schedule, ready: Ids, step: int) -> None:
        """All-reduce a bucket whose gradients are `ready`, after the bucket before it."""
        groups = self.shape.data(stage)
        ends = self._collective(groups, schedule, [ready, self._reduced], step)
        self._reduced[groups.ravel()] = ends.ravel()

    def _collective(
        self, groups: NDArray[np.int64], schedule: Schedule, entries: list[Ids], step: int
    ) -> Ids:
        """Add a collective of each row of `groups` (ranks); returns the task that ends it at each rank.

        A rank takes part from the end of its tasks in `entries` on, and has ended once it has received all
        its messages and has sent all its data. Waits that others imply are left out.
        """
        hosts, graph = self.shape.hosts[groups], self.graph
        count = len(schedule)
        tasks = graph.messages(
            hosts[:, schedule.source].ravel(),
            hosts[:, schedule.target].ravel(),
            np.tile(schedule.bytes, len(groups)),
            delay_ps=self._step_delay_ps,
            step=step,
        ).reshape(-1, count)
        graph.after(tasks[:, schedule.after.flow], tasks[:, schedule.after.predecessor])
        graph.behind(tasks[:, schedule.behind.flow], tasks[:, schedule.behind.predecessor])
        first = np.flatnonzero(~schedule.behind.waiting(count))
        for entry in entries:
            self._after(tasks[:, first].ravel(), entry[groups[:, schedule.source[first]]].ravel())
        ends = graph.computations(hosts.ravel(), 0, processor=STREAM, step=step).reshape(groups.shape)
        received, sent = (
            np.flatnonzero(np.bincount(waits.predecessor, minlength=count) == 0)
            for waits in (schedule.after, schedule.behind)
        )
        graph.after(ends[:, schedule.target[received]], tasks[:, received])
        graph.behind(ends[:, schedule.source[sent]], tasks[:, sent])
        return ends
