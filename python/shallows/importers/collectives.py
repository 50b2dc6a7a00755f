"""Collectives of a trace as messages: the same schedules as the kinds of traffic have."""

from dataclasses import dataclass, field

import numpy as np

from shallows.importers.content import Task
from shallows.traffic import schedules
from shallows.traffic.schedules import Schedule
from shallows.units import SIZE

COLLECTIVES = (
    "ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL", "REDUCE_SCATTER",
    "REDUCE_SCATTER_BLOCK", "BARRIER",
)  # fmt: skip
"""Types of collectives of Chakra, by number."""
EXPANDED = ("ALL_REDUCE", "ALL_GATHER", "BROADCAST", "ALL_TO_ALL", "REDUCE_SCATTER", "BARRIER")
"""Those that become messages."""
KINDS = {
    "ALL_REDUCE": "all-reduce", "ALL_GATHER": "all-gather", "REDUCE_SCATTER": "reduce-scatter",
    "ALL_TO_ALL": "all-to-all", "BROADCAST": "broadcast",
}  # fmt: skip
"""Kinds of traffic with the same messages."""
CHUNK = 512_000
"""Bytes that a broadcast forwards together."""


@dataclass
class Collective:
    """One collective: `size` bytes of each of `ranks`, and at each rank a task for its start and its end."""

    kind: str
    size: int
    ranks: list[int]
    tasks: dict[int, tuple[Task, Task]] = field(default_factory=dict[int, tuple[Task, Task]])

    @property
    def count(self) -> int:
        """The number of its messages."""
        n = len(self.ranks)
        if self.kind == "BROADCAST":
            return (n - 1) * self._chunks
        return n * (n - 1) * (2 if self.kind in ("ALL_REDUCE", "BARRIER") else 1)

    @property
    def _chunks(self) -> int:
        return max(1, round(self.size / CHUNK))

    @property
    def table(self) -> dict[str, object]:
        """The traffic table of the same messages; empty if there is none."""
        size = self.size * len(self.ranks) if self.kind == "ALL_GATHER" else self.size
        if self.kind not in KINDS:
            return {}
        chunk = {"chunk": SIZE.text(-(-self.size // self._chunks))} if self.kind == "BROADCAST" else {}
        return {"kind": KINDS[self.kind], "size": SIZE.text(size), "hosts": self.ranks, **chunk}

    def messages(self, prefix: str) -> list[Task]:
        """Its messages. The end of each rank waits for the last ones that the rank sends or receives."""
        schedule = self._schedule()
        source, target, sizes = (
            list(map(int, column)) for column in (schedule.source, schedule.target, schedule.bytes)
        )
        rows = list(zip(source, target, sizes, strict=True))
        tasks: list[Task] = []
        followed: set[tuple[int, int]] = set()
        for at, (source, target, size) in enumerate(rows):
            start, _ = self.tasks[self.ranks[source]]
            after, behind = schedule.after.of(at), schedule.behind.of(at)
            followed |= {(one, source) for one in [*after, *behind]}
            task = Task(f"{prefix}m{at}", self.ranks[source], self.ranks[target], bytes=max(size, 1))
            task.after = [f"{prefix}m{one}" for one in after] + ([] if behind else [start.name])
            task.behind = [f"{prefix}m{one}" for one in behind]
            task.word = start.word
            tasks.append(task)
        for task, (at, (source, target, _)) in zip(tasks, enumerate(rows), strict=True):
            if (at, target) not in followed:
                self.tasks[self.ranks[target]][1].after.append(task.name)
            if (at, source) not in followed:
                self.tasks[self.ranks[source]][1].behind.append(task.name)
        return tasks

    def _schedule(self) -> Schedule:
        n, size = len(self.ranks), self.size
        share: object = np.tile(schedules.divided(size, n), (n, 1))
        if self.kind == "ALL_REDUCE":
            return schedules.ring(n, size, 2 * (n - 1))
        if self.kind == "ALL_GATHER":
            return schedules.ring(n, size * n, n - 1)
        if self.kind == "REDUCE_SCATTER":
            return schedules.ring(n, size, n - 1)
        if self.kind == "BROADCAST":
            return schedules.chain(n, schedules.divided(size, self._chunks))
        if self.kind == "BARRIER":  # a byte around the ring, twice
            return schedules.ring(n, n, 2 * (n - 1))
        return schedules.all_at_once(n, share, rotated=True)
