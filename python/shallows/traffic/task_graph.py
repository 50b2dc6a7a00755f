"""A builder of tasks: messages and computations that wait for each other, as the columns of a traffic table.

Tasks are numbered in the order in which they are added. All arguments are numbers or arrays, which are
broadcast, so that a collective of a thousand hosts is a few calls.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shallows.errors import ScenarioError
from shallows.traffic.computations import Computations, Waits
from shallows.traffic.flows import Drawn, Messages, full
from shallows.traffic.predecessors import Predecessors
from shallows.units import NEVER

if TYPE_CHECKING:
    from shallows.traffic.schedules import Schedule

Ids = NDArray[np.int64]
"""Numbers of tasks."""


class Names(NamedTuple):
    """Names of the tasks and hosts of a graph in errors, and the key of the scenario that errors name."""

    key: str
    task: Callable[[int], str]
    host: Callable[[int], str]


_COLUMNS: tuple[str, ...] = (
    "computes", "source", "target", "bytes", "duration_ps", "processor", "delay_ps", "step", "needs",
    "everywhere",
)  # fmt: skip


_Its = dict[str, NDArray[Any]]
"""The columns of all tasks."""


class TaskGraph:
    """Tasks of one traffic table. `drawn` gives its columns."""

    def __init__(self) -> None:
        self._parts: list[list[NDArray[Any]]] = []
        self._pairs: dict[str, list[tuple[Ids, Ids]]] = {"after": [], "behind": []}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def messages(
        self,
        source: ArrayLike,
        target: ArrayLike,
        size: ArrayLike,
        *,
        delay_ps: ArrayLike = 0,
        step: ArrayLike = 0,
        needs: ArrayLike = 0,
        everywhere: ArrayLike = False,
    ) -> Ids:
        """Add messages from host to host of `size` bytes; returns their numbers.

        A message starts `delay_ps` after `needs` (0: all) of its predecessors have ended; `everywhere` allows
        some at other hosts. Without predecessors `delay_ps` is its start.
        """
        return self._add(False, source, target, size, 0, 0, delay_ps, step, needs, everywhere)

    def computations(
        self,
        host: ArrayLike,
        duration_ps: ArrayLike,
        *,
        processor: ArrayLike = 0,
        delay_ps: ArrayLike = 0,
        step: ArrayLike = 0,
        needs: ArrayLike = 0,
        everywhere: ArrayLike = False,
    ) -> Ids:
        """Add computations, which keep a processor of a host busy; otherwise like `messages`."""
        return self._add(True, host, host, 0, duration_ps, processor, delay_ps, step, needs, everywhere)

    def _add(self, *columns: ArrayLike) -> Ids:
        self._parts.append([np.atleast_1d(column) for column in np.broadcast_arrays(*columns)])
        first, self._count = self._count, self._count + len(self._parts[-1][0])
        return np.arange(first, self._count)

    def after(self, tasks: ArrayLike, predecessors: ArrayLike) -> None:
        """Let `tasks` wait for the end of `predecessors`, pair by pair."""
        self._wait("after", tasks, predecessors)

    def behind(self, tasks: ArrayLike, predecessors: ArrayLike) -> None:
        """Let `tasks` wait until messages of the same hosts have sent their data, pair by pair."""
        self._wait("behind", tasks, predecessors)

    def _wait(self, how: str, tasks: ArrayLike, predecessors: ArrayLike) -> None:
        waiting, needed = np.broadcast_arrays(np.asarray(tasks, np.int64), np.asarray(predecessors, np.int64))
        self._pairs[how].append((waiting.ravel(), needed.ravel()))

    def schedule(
        self, schedule: "Schedule", hosts: ArrayLike, *, delay_ps: ArrayLike = 0, step: ArrayLike = 0
    ) -> Ids:
        """Add the messages of a collective over `hosts`, the ranks in order; returns their numbers."""
        hosts = np.asarray(hosts)
        ends = hosts[schedule.source], hosts[schedule.target]
        tasks = self.messages(*ends, schedule.bytes, delay_ps=delay_ps, step=step)
        self.after(tasks[schedule.after.flow], tasks[schedule.after.predecessor])
        self.behind(tasks[schedule.behind.flow], tasks[schedule.behind.predecessor])
        return tasks

    def drawn(self, names: Names | None = None) -> Drawn:
        """The columns of a traffic table: messages, then computations.

        With `names`, raises `ScenarioError` for tasks that can never start, and for one that waits for what
        ends at another host and is not `everywhere`. Without, the core finds these, and names numbers.
        """
        columns = [np.concatenate(column) for column in zip(*self._parts, strict=True)]
        columns_by_name: _Its = dict(zip(_COLUMNS, columns, strict=True))
        computes = columns_by_name["computes"]
        if names is not None:
            self._check(columns_by_name, names)
        messages, computations = np.flatnonzero(~computes), np.flatnonzero(computes)
        number = np.empty(len(self), np.int64)
        number[messages] = np.arange(len(messages))
        number[computations] = len(messages) + np.arange(len(computations))
        first = len(messages)
        return Drawn(
            columns_by_name["source"][messages].astype(np.uint32),
            columns_by_name["target"][messages].astype(np.uint32),
            columns_by_name["bytes"][messages].astype(np.uint64),
            columns_by_name["delay_ps"][messages].astype(np.uint64),
            full(len(messages), NEVER),
            after=self._numbered("after", number, 0, first),
            behind=self._numbered("behind", number, 0, first),
            messages=Messages(
                np.zeros(len(messages), np.uint32), columns_by_name["step"][messages].astype(np.uint32)
            ),
            computations=Computations(
                columns_by_name["source"][computations].astype(np.uint32),
                columns_by_name["duration_ps"][computations].astype(np.uint64),
                columns_by_name["delay_ps"][computations].astype(np.uint64),
                columns_by_name["processor"][computations].astype(np.uint32),
                np.zeros(len(computations), np.uint32),
                columns_by_name["step"][computations].astype(np.uint32),
                self._numbered("after", number, first, len(self)),
                self._numbered("behind", number, first, len(self)),
                wait=_waits(columns_by_name, computations),
            ),
            wait=_waits(columns_by_name, messages),
        )

    def _numbered(self, how: str, number: Ids, first: int, end: int) -> Predecessors:
        """The pairs whose waiting tasks have these new numbers, from `first` on."""
        waiting, needed = self._all(how)
        inside = (number[waiting] >= first) & (number[waiting] < end)
        return Predecessors.of_pairs(number[waiting[inside]] - first, number[needed[inside]])

    def _all(self, how: str) -> tuple[Ids, Ids]:
        none = (np.zeros(0, np.int64), np.zeros(0, np.int64))
        waiting, needed = zip(none, *self._pairs[how], strict=True)
        return np.concatenate(waiting), np.concatenate(needed)

    def _check(self, columns: _Its, names: Names) -> None:
        for how in ("after", "behind"):
            waiting, needed = self._all(how)
            sources = columns["source"][waiting]
            ends = columns["source"][needed] == sources
            if how == "after":
                ends |= (columns["target"][needed] == sources) | columns["everywhere"][waiting]
            else:
                ends &= ~columns["computes"][needed]
            if not ends.all():
                at = int(np.flatnonzero(~ends)[0])
                task, other = (names.task(int(indices[at])) for indices in (waiting, needed))
                where = names.host(int(sources[at]))
                expected = f"{other} to end at {where}, where {task} starts, or global = true for {task}"
                if how == "behind":
                    expected = f"a message from {where}, where {task} starts"
                raise ScenarioError(names.key, f"{task} {how} {other}", expected)
        self._check_order(columns, names)

    def _check_order(self, columns: _Its, names: Names) -> None:
        """Raise `ScenarioError` for tasks of which each waits for the next, and the last for the first."""
        (after, ended), (behind, sent) = self._all("after"), self._all("behind")
        waiting, needed = np.concatenate([after, behind]), np.concatenate([ended, sent])
        counts = np.bincount(waiting, minlength=len(self))
        many = np.flatnonzero(columns["needs"] > counts)
        if len(many):
            task = names.task(int(many[0]))
            expected = f"at most {counts[many[0]]}, the number of its predecessors"
            raise ScenarioError(names.key, f"needs = {columns['needs'][many[0]]} of {task}", expected)
        left = np.where(columns["needs"] > 0, columns["needs"], counts).tolist()
        successors: list[list[int]] = [list[int]() for _ in range(len(self))]
        before: list[list[int]] = [list[int]() for _ in range(len(self))]
        pairs: list[tuple[int, int]] = np.column_stack((waiting, needed)).tolist()
        for task, other in pairs:
            successors[other].append(task)
            before[task].append(other)
        ready = [task for task, count in enumerate(left) if count == 0]
        while ready:
            for task in successors[ready.pop()]:
                left[task] -= 1
                if left[task] == 0:
                    ready.append(task)
        if any(count > 0 for count in left):
            cycle = ", ".join(map(names.task, _cycle(left, before)))
            expected = "no cycle: each of these waits for the next, and the last for the first"
            raise ScenarioError(names.key, cycle, expected)


def _cycle(left: list[int], before: list[list[int]]) -> list[int]:
    path: list[int] = [next(task for task, count in enumerate(left) if count > 0)]
    while True:
        following = next(other for other in before[path[-1]] if left[other] > 0)
        if following in path:
            return path[path.index(following) :]
        path.append(following)


def _waits(columns: _Its, tasks: NDArray[np.intp]) -> Waits:
    return Waits(columns["needs"][tasks].astype(np.uint32), columns["everywhere"][tasks].astype(bool))
