"""Schedules of collectives: which rank sends how much to which rank, and after which messages.

A schedule knows ranks, bytes and order, but no hosts, times or congestion control. All functions take n, the
number of ranks, and return a `Schedule`. Messages that wait for nothing start with the collective.

Sources: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", J.
Parallel Distrib. Comput. 69(2), 2009 (ring); Thakur, Rabenseifner and Gropp, "Optimization of collective
communication operations in MPICH", Int. J. High Perform. Comput. Appl. 19(1), 2005 (halving and doubling,
pairwise exchange); Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction
and scan", Parallel Computing 35(12), 2009 (two trees).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shallows.core.contract import U32, U64
from shallows.traffic.predecessors import Predecessors

NONE = Predecessors.of_pairs([], [])


@dataclass(frozen=True)
class QueuePairs:
    """Columns of flows that carry messages over queue pairs: the number of the message, that of its
    connection, from a rank to another, and that of the queue pair in the connection.
    """

    message: U32
    connection: U32
    number: U32

    def placed(self, order: NDArray[np.integer]) -> "QueuePairs":
        """The columns of the flows `order`, in that order."""
        return QueuePairs(self.message[order], self.connection[order], self.number[order])

    @classmethod
    def joined(cls, parts: "Sequence[QueuePairs | None]") -> "QueuePairs | None":
        """The columns of several schedules, each with messages and connections of its own."""
        known = [part for part in parts if part is not None and len(part.message)]
        if not known:
            return None
        columns = [[part.message, part.connection] for part in known]
        for column in (0, 1):
            first = np.cumsum([0, *(int(pair[column].max()) + 1 for pair in columns)])
            for pair, at in zip(columns, first.tolist(), strict=False):
                pair[column] = pair[column] + np.uint32(at)
        message, connection = (np.concatenate(column) for column in zip(*columns, strict=True))
        return cls(message, connection, np.concatenate([part.number for part in known]))


@dataclass(frozen=True)
class Schedule:
    """Messages as columns. A message is sent after those in `after` arrived, and behind those in `behind`.

    All of these precede it in the list, and have smaller steps.
    """

    source: U32
    target: U32
    bytes: U64
    step: U32
    after: Predecessors
    behind: Predecessors
    queue_pairs: QueuePairs | None = None

    def __len__(self) -> int:
        return len(self.source)

    @classmethod
    def of_steps(
        cls,
        steps: Iterable[tuple[ArrayLike, ArrayLike, ArrayLike]],
        after: Predecessors = NONE,
        behind: Predecessors = NONE,
    ) -> Self:
        """From the (sources, targets, bytes) of each step."""
        columns = [np.broadcast_arrays(*step) for step in steps]
        source, target, size = (np.concatenate(column) for column in zip(*columns, strict=True))
        step = np.repeat(np.arange(len(columns)), [len(column[0]) for column in columns])
        return cls(_u32(source), _u32(target), size.astype(np.uint64), _u32(step), after, behind)

    def reordered(self, order: U32) -> Self:
        """The same messages, where rank `order[i]` has the place of rank i."""
        return replace(self, source=order[self.source], target=order[self.target])

    @classmethod
    def joined(cls, schedules: Sequence["Schedule"]) -> Self:
        """The messages of schedules that run at the same time, in the order of their steps."""
        firsts = np.cumsum([0, *(len(schedule) for schedule in schedules)]).tolist()
        after, behind = (
            Predecessors.joined(
                (getattr(schedule, key), first) for schedule, first in zip(schedules, firsts, strict=False)
            )
            for key in ("after", "behind")
        )
        source, target, size, step = (
            np.concatenate([getattr(schedule, column) for schedule in schedules])
            for column in ("source", "target", "bytes", "step")
        )
        queue_pairs = QueuePairs.joined([schedule.queue_pairs for schedule in schedules])
        return cls(source, target, size, step, after, behind, queue_pairs).by_step()

    def by_step(self) -> Self:
        """The same messages in the order of their steps."""
        order = np.argsort(self.step, kind="stable")
        place = np.argsort(order, kind="stable")
        after, behind = (
            Predecessors.of_pairs(place[pairs.flow], place[pairs.predecessor])
            for pairs in (self.after, self.behind)
        )
        source, target, step = (column[order] for column in (self.source, self.target, self.step))
        queue_pairs = self.queue_pairs and self.queue_pairs.placed(order)
        return type(self)(source, target, self.bytes[order], step, after, behind, queue_pairs)

    def over_queue_pairs(self, count: int, *, divided: bool) -> "Schedule":
        """Each message over the `count` queue pairs of its connection: divided among them, or over the next.

        A part waits for all parts of the messages that its message waits for. On its connection it is sent
        behind what its own queue pair carries.
        """
        connection, turn = self._connections()
        message = np.arange(len(self), dtype=np.uint32)
        if not divided:
            own, others = self._behind(connection, count)
            pairs = [np.concatenate(sides) for sides in zip(own, others, strict=True)]
            number = (turn % count).astype(np.uint32)
            queue_pairs = QueuePairs(message, connection, number)
            return replace(self, behind=Predecessors.of_pairs(*pairs), queue_pairs=queue_pairs)
        part = np.tile(np.arange(count, dtype=np.uint32), len(self))
        size, number = np.repeat(self.bytes, count), part.astype(np.uint64)
        edges = [size * (number + np.uint64(more)) // np.uint64(count) for more in (0, 1)]
        (flow, before), others = self._behind(connection, 1)
        own = [
            np.repeat(side * count, count) + np.tile(np.arange(count), len(side)) for side in (flow, before)
        ]
        crossed = _crossed(*others, count)
        return Schedule(
            np.repeat(self.source, count),
            np.repeat(self.target, count),
            edges[1] - edges[0],
            np.repeat(self.step, count),
            Predecessors.of_pairs(*_crossed(self.after.flow, self.after.predecessor, count)),
            Predecessors.of_pairs(*(np.concatenate(sides) for sides in zip(own, crossed, strict=True))),
            QueuePairs(np.repeat(message, count), np.repeat(connection, count), part),
        )

    def _connections(self) -> tuple[U32, NDArray[np.integer]]:
        """The number of the connection of each message, and how many messages it carried before."""
        ranks = np.int64(max(self.source.max(), self.target.max())) + 1
        ends = self.source * ranks + self.target
        order = np.argsort(ends, kind="stable")
        new = np.diff(ends[order], prepend=-1) > 0
        first = np.flatnonzero(new)
        numbers = np.cumsum(new) - 1
        connection, turn = (np.empty(len(self), np.int64) for _ in range(2))
        connection[order], turn[order] = numbers, np.arange(len(self)) - first[numbers]
        return _u32(connection), turn

    def _behind(self, connection: U32, count: int) -> "tuple[_Pairs, _Pairs]":
        """The pairs of `behind` on one connection, `count` messages apart, and those of others."""
        flow, before = (side.astype(np.int64) for side in (self.behind.flow, self.behind.predecessor))
        same = connection[flow] == connection[before]
        last = np.full(len(self) + 1, len(self))
        last[flow[same]] = before[same]
        found = np.arange(len(self))
        for _ in range(count):
            found = last[found]
        waits = np.flatnonzero(found < len(self))
        return (waits, found[waits]), (flow[~same], before[~same])


_Pairs = tuple[NDArray[np.integer], NDArray[np.integer]]


def _crossed(flow: NDArray[np.integer], before: NDArray[np.integer], count: int) -> "_Pairs":
    """Every pair of one of `count` parts of a flow and one of the other."""
    part = np.arange(count * count)
    return (
        np.repeat(flow.astype(np.int64) * count, len(part)) + np.tile(part // count, len(flow)),
        np.repeat(before.astype(np.int64) * count, len(part)) + np.tile(part % count, len(flow)),
    )


def _u32(column: NDArray[np.generic]) -> U32:
    return column.astype(np.uint32)


def divided(total: int, count: int) -> U64:
    """`total` bytes in `count` parts that differ by at most one byte."""
    edges = np.arange(count + 1, dtype=np.uint64) * np.uint64(total) // np.uint64(count)
    return np.diff(edges)


def ring(n: int, total: int, steps: int) -> Schedule:
    """Steps around a ring: rank r sends to r + 1 an n-th of `total` bytes, after it received one from r - 1.

    n - 1 steps are a reduce-scatter or an all-gather, 2 (n - 1) an all-reduce.
    """
    rank, share = np.arange(n), divided(total, n)
    # In step s rank r sends part r - s; the parts differ only by the rounding of `total` to n parts.
    each = ((rank, (rank + 1) % n, share[(rank - step) % n]) for step in range(steps))
    flow = np.arange(n, n * steps)
    received = flow - n + np.where(flow % n == 0, n, 0) - 1
    return Schedule.of_steps(each, Predecessors.of_pairs(flow, received), Predecessors.chains(n * steps, n))


def halving(n: int, total: int) -> Schedule:
    """Recursive halving, a reduce-scatter for n = 2^k: r exchanges total/2 with r ^ n/2, then total/4 …"""
    return _exchanges(n, [(n >> step, total >> step) for step in range(1, n.bit_length())])


def doubling(n: int, total: int) -> Schedule:
    """Recursive doubling, an all-gather for n = 2^k: the exchanges of `halving` in reverse order."""
    return _exchanges(n, [(n >> step, total >> step) for step in reversed(range(1, n.bit_length()))])


def halving_doubling(n: int, total: int) -> Schedule:
    """Recursive halving, then doubling: an all-reduce for n = 2^k."""
    down = [(n >> step, total >> step) for step in range(1, n.bit_length())]
    return _exchanges(n, [*down, *reversed(down)])


def _exchanges(n: int, exchanges: Sequence[tuple[int, int]]) -> Schedule:
    """Steps in which each rank exchanges (distance, bytes), after it received those of all steps before."""
    rank = np.arange(n)
    steps = [(rank, rank ^ distance, size) for distance, size in exchanges]
    received = [n * step + (rank ^ distance) for step, (distance, _) in enumerate(exchanges)]
    pairs = [(n * step + rank, received[before]) for step in range(len(steps)) for before in range(step)]
    flow, before = np.array(pairs, np.uint32).reshape(-1, 2, n).transpose(1, 0, 2).reshape(2, -1)
    return Schedule.of_steps(steps, Predecessors.of_pairs(flow, before))


def all_at_once(n: int, sizes: U64, *, rotated: bool) -> Schedule:
    """Every rank sends `sizes[source, target]` bytes to every other, without waiting.

    The messages of rank r are listed from target r + 1 on if `rotated`, else from target 0 on.
    """
    source = np.repeat(np.arange(n), n)
    target = (source + np.tile(np.arange(n), n)) % n if rotated else np.tile(np.arange(n), n)
    sent = (source != target) & (sizes[source, target] > 0)
    step = (source[sent], target[sent], sizes[source, target][sent])
    return Schedule.of_steps([step])


def pairwise(n: int, sizes: U64) -> Schedule:
    """Every rank sends to every other in n - 1 phases: in phase k to r + k, while it receives from r - k.

    A phase begins at a rank when it has sent and received its messages of the phase before. A rank without
    bytes to send in a phase sends one, which keeps the order.
    """
    rank = np.arange(n)
    sizes = np.maximum(sizes, np.uint64(1))
    steps = [(rank, (rank + phase) % n, sizes[rank, (rank + phase) % n]) for phase in range(1, n)]
    flow = np.arange(n, n * (n - 1))
    phase, mine = np.divmod(flow, n)
    received = (phase - 1) * n + (mine - phase) % n
    return Schedule.of_steps(
        steps, Predecessors.of_pairs(flow, received), Predecessors.chains(n * (n - 1), n)
    )


def chain(n: int, chunks: U64) -> Schedule:
    """A broadcast from rank 0 along a chain: rank r forwards each of `chunks` (bytes) to r + 1, in order."""
    messages = _OfChunk()
    for rank in range(n - 1):
        messages.send((rank, rank + 1), rank, [rank - 1] if rank else [])
    return messages.repeated(chunks).by_step()


def two_trees(n: int, chunks: U64) -> Schedule:
    """An all-reduce over two binary trees, each with every other one of `chunks` (bytes): up, then down.

    A rank that has children in one tree has none in the other, so the two together use every link. A rank
    sends a chunk up after it received that of its children, and down after it received it from above.
    """
    trees = [_up_and_down(parents) for parents in two_parents(n)]
    return Schedule.joined([messages.repeated(chunks[tree::2]) for tree, messages in enumerate(trees)])


def two_parents(n: int) -> tuple[list[int | None], list[int | None]]:
    """The parent of each rank in two binary trees, None for the root. No rank has children in both."""
    first: list[int | None] = [None] * n
    _in_order(0, n, None, first)
    # Ranks without children have even numbers. The second tree is mirrored, or for odd n shifted by one rank.
    moved = [(rank + 1) % n if n % 2 else n - 1 - rank for rank in range(n)]
    second: list[int | None] = [None] * n
    for rank, parent in enumerate(first):
        second[moved[rank]] = None if parent is None else moved[parent]
    return first, second


def _in_order(low: int, end: int, parent: int | None, parents: list[int | None]) -> None:
    """Enter the tree over the ranks from an even `low` to `end`: ranks with children are odd."""
    if low >= end:
        return
    root = low + (1 << ((end - low).bit_length() - 1)) - 1
    parents[root] = parent
    _in_order(low, root, root, parents)
    _in_order(root + 1, end, root, parents)


def _up_and_down(parents: list[int | None]) -> "_OfChunk":
    """The messages of a chunk in a tree: for each rank with a parent, one up and one down."""
    ranks = [rank for rank, parent in enumerate(parents) if parent is not None]
    up = {rank: 2 * place for place, rank in enumerate(ranks)}
    children: list[list[int]] = [[] for _ in parents]
    for rank, parent in enumerate(parents):
        if parent is not None:
            children[parent].append(rank)
    depth, height = [_depth(parents, rank) for rank in range(len(parents))], [0] * len(parents)
    for rank in sorted(range(len(parents)), key=depth.__getitem__, reverse=True):
        height[rank] = max((height[child] + 1 for child in children[rank]), default=0)
    messages = _OfChunk()
    for rank, parent in enumerate(parents):
        if parent is None:
            continue
        messages.send((rank, parent), height[rank], [up[child] for child in children[rank]])
        above = [up[parent] + 1] if parent in up else [up[child] for child in children[parent]]
        messages.send((parent, rank), max(height) + depth[parent], above)
    return messages


def _depth(parents: list[int | None], rank: int) -> int:
    parent = parents[rank]
    return 0 if parent is None else 1 + _depth(parents, parent)


class _OfChunk:
    """The messages of one chunk of a collective, each of its own connection. All chunks are sent alike."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int]] = []
        self.pairs: list[tuple[int, int]] = []

    def send(self, ranks: tuple[int, int], step: int, after: Iterable[int]) -> None:
        """Enter the next message, from the first of `ranks` to the second, after those with these numbers."""
        self.pairs += [(len(self.rows), number) for number in after]
        self.rows.append((*ranks, step))

    def repeated(self, chunks: U64) -> Schedule:
        """The messages of all `chunks` (bytes), each a step after the one before it and sent behind it."""
        count, number = len(self.rows), np.arange(len(chunks))
        source, target, step = np.array(self.rows).T
        pairs = np.array(self.pairs, np.int64).reshape(-1, 2) + count * number[:, None, None]
        flow, before = pairs.reshape(-1, 2).T
        return Schedule(
            _u32(np.tile(source, len(chunks))),
            _u32(np.tile(target, len(chunks))),
            np.repeat(chunks, count),
            _u32((step + number[:, None]).ravel()),
            Predecessors.of_pairs(flow, before),
            Predecessors.chains(count * len(chunks), count),
        )
