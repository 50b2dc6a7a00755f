"""Which flows a flow waits for before it starts."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from shallows.core.contract import U32, Flags


@dataclass(frozen=True)
class Predecessors:
    """Pairs of a flow, or a computation, and a task that it waits for, sorted by `flow`.

    It waits until they have ended at the host where it starts: a flow has ended at a host that has received
    all of it, or that sent it and knows it acknowledged. Or it waits, at the host that sends both, until they
    have sent their data. The number of a computation as a task follows those of all flows.
    """

    flow: U32
    predecessor: U32

    @classmethod
    def of_pairs(cls, flow: ArrayLike, predecessor: ArrayLike) -> Self:
        """The pairs in any order."""
        waits, needed = np.asarray(flow, np.uint32), np.asarray(predecessor, np.uint32)
        order = np.lexsort((needed, waits))
        return cls(waits[order], needed[order])

    @classmethod
    def chains(cls, count: int, length: int) -> Self:
        """Of `count` flows, each waits for the one that is `length` before it, if there is one."""
        flow = np.arange(min(length, count), count, dtype=np.uint32)
        return cls(flow, flow - np.uint32(length))

    @classmethod
    def joined(cls, parts: Iterable[tuple["Predecessors | None", int]]) -> Self:
        """The pairs of several tables, each with the number of its first flow; None has no pairs."""
        columns = [
            (pairs.flow + np.uint32(first), pairs.predecessor + np.uint32(first))
            for pairs, first in parts
            if pairs is not None
        ]
        none = (np.array([], np.uint32), np.array([], np.uint32))
        return cls(*(np.concatenate(column) for column in zip(none, *columns, strict=True)))

    @classmethod
    def stacked(cls, parts: Iterable["Predecessors"]) -> Self:
        """The pairs of several tables, whose numbers are those of the scenario."""
        every = [cls.of_pairs([], []), *parts]
        return cls(*(np.concatenate([getattr(one, key) for one in every]) for key in ("flow", "predecessor")))

    def __len__(self) -> int:
        return len(self.flow)

    def waiting(self, flows: int) -> Flags:
        """For each of `flows` flows, whether it waits for another."""
        waits = np.zeros(flows, bool)
        waits[self.flow] = True
        return waits

    def of(self, flow: int) -> list[int]:
        """The flows that `flow` waits for."""
        # A number of another type would convert the whole column.
        first, end = np.searchsorted(self.flow, np.array([flow, flow + 1], self.flow.dtype))
        return self.predecessor[first:end].tolist()


def ancestors(flow: int, *pairs: Predecessors) -> set[int]:
    """`flow`, the flows that it waits for by some of `pairs`, those that these wait for, and so on."""
    found, left = {flow}, [flow]
    while left:
        now = left.pop()
        more = [other for relation in pairs for other in relation.of(now) if other not in found]
        found.update(more)
        left += more
    return found
