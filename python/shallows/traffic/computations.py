"""Computations: a processor of a host is busy for a time; and how tasks wait for each other.

Tasks have one numbering: all flows of a scenario, then all computations. Within a traffic table its own flows
come first, then its own computations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from shallows.core.contract import U32, U64, Flags
from shallows.traffic.predecessors import Predecessors


@dataclass(frozen=True)
class Waits:
    """How tasks wait: the number of predecessors that each needs (0: all), and whether any may be elsewhere.

    A task that is not `everywhere` waits only for what ends at its own host.
    """

    needs: U32
    everywhere: Flags

    @classmethod
    def default(cls, count: int) -> Self:
        """For all predecessors, at the task's own host."""
        return cls(np.zeros(count, np.uint32), np.zeros(count, bool))

    def used(self) -> bool:
        """True if some task differs from the default."""
        return bool(self.needs.any() or self.everywhere.any())

    @classmethod
    def joined(cls, parts: Sequence["Waits"]) -> Self:
        """Those of several tables."""
        none = cls.default(0)
        return cls(
            np.concatenate([none.needs, *(part.needs for part in parts)]),
            np.concatenate([none.everywhere, *(part.everywhere for part in parts)]),
        )


@dataclass(frozen=True)
class Computations:
    """Columns, one entry per computation.

    A computation is ready `start_ps` after the end of its wait for the tasks in `after` and for the data of
    the flows in `behind`. A processor executes one at a time, in the order in which they are ready. `table`
    is the number of the traffic table, `step` that of the step in its task.
    """

    host: U32
    duration_ps: U64
    start_ps: U64
    processor: U32
    table: U32
    step: U32
    after: Predecessors
    behind: Predecessors
    wait: Waits

    def __len__(self) -> int:
        return len(self.host)

    @classmethod
    def none(cls) -> Self:
        """No computations."""
        u32, u64 = np.zeros(0, np.uint32), np.zeros(0, np.uint64)
        pairs = Predecessors.of_pairs([], [])
        return cls(u32, u64, u64, u32, u32, u32, pairs, pairs, Waits.default(0))

    @property
    def waiting(self) -> Flags:
        """For each computation, whether it waits for another task."""
        return self.after.waiting(len(self)) | self.behind.waiting(len(self))

    @classmethod
    def joined(cls, parts: Sequence["Computations | None"], places: Sequence["Place"]) -> Self:
        """The computations of all tables, with the numbers of the scenario."""
        none, given = cls.none(), [(part, place) for part, place in zip(parts, places, strict=True) if part]
        columns = {
            key: np.concatenate([getattr(none, key), *(getattr(part, key) for part, _ in given)])
            for key in ("host", "duration_ps", "start_ps", "processor", "step")
        }
        after, behind = (
            Predecessors.stacked(
                place.pairs(getattr(part, key), place.first_computation) for part, place in given
            )
            for key in ("after", "behind")
        )
        table = np.repeat([place.table for _, place in given], [len(part) for part, _ in given])
        wait = Waits.joined([part.wait for part, _ in given])
        return cls(**columns, table=table.astype(np.uint32), after=after, behind=behind, wait=wait)


class Place(NamedTuple):
    """The place of a traffic table among all tasks of a scenario."""

    table: int
    flows: int
    """The number of its own flows."""
    first_flow: int
    first_computation: int
    """Among all computations."""
    all_flows: int
    """The number of flows of all tables."""

    def pairs(self, within: Predecessors | None, first: int) -> Predecessors:
        """Pairs of tasks of the scenario from pairs within the table, whose rows begin with `first`."""
        if within is None:
            return Predecessors.of_pairs([], [])
        needed = within.predecessor.astype(np.int64)
        later = needed - self.flows + self.all_flows + self.first_computation
        placed = np.where(needed < self.flows, needed + self.first_flow, later)
        return Predecessors(within.flow + np.uint32(first), placed.astype(np.uint32))


def places(flows: Sequence[int], computations: Sequence[int]) -> list[Place]:
    """The place of each table, from the numbers of flows and computations of all of them."""
    first_flow, first = (np.cumsum([0, *counts]).tolist() for counts in (flows, computations))
    return [
        Place(table, count, first_flow[table], first[table], first_flow[-1])
        for table, count in enumerate(flows)
    ]
