"""The critical path of a flow or task: from its end back to its start, each picosecond with a cause.

A path is a list of messages: one of a flow, several of a task, of which each waited for the one before.

The walk (`walk`) goes from an event to its cause. A frame arrives after its propagation and its transmission.
The transmission began when the port had sent the frame before: if that belonged to another flow, the frame
waited behind it; if it was the flow's own, the path continues with that frame. A host sent a frame when the
flow was ready (a row of `causes`): because a packet arrived, whose own path is followed then, or because time
passed. Pieces therefore touch each other, and their sum is the completion time; `Path` refuses anything else.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from shallows.results import task_members

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from shallows.results.task_members import Until
    from shallows.why.record import Record
    from shallows.why.task import TaskPath

Key = TypeVar("Key")


class Piece(NamedTuple):
    """A piece of a path: time, cause, port, the flow that went first, and the packet."""

    begin_ps: int
    end_ps: int
    cause: str
    port: int | None
    """The link of the port; None for a cause without a port."""
    flow: int | None
    """The other flow that was sent first; None if there is none."""
    kind: str
    """The kind of the packet on the path."""
    seq: int
    base: bool = False
    """True for transmission or propagation of a round trip that `cause` made necessary."""

    @property
    def length_ps(self) -> int:
        """The duration of the piece."""
        return self.end_ps - self.begin_ps


class Message(NamedTuple):
    """A message or a computation on a critical path."""

    flow: int
    """The number of the flow; of a computation, its number after those of all flows."""
    until: "Until"
    """The event that ended its part: it was received, acknowledged, sent, or computed."""
    begin_ps: int
    """The beginning of its part of the path: the end of the part of the message before."""
    end_ps: int
    pieces: list[Piece]
    """The pieces of its part, of which the first may be its fixed delay; none if it was sent at once."""

    @property
    def length_ps(self) -> int:
        """The duration of its part of the path."""
        return self.end_ps - self.begin_ps

    def by_cause(self) -> dict[str, int]:
        """Picoseconds of its part by cause, the largest first."""
        return sums((piece.cause, piece) for piece in self.pieces)


class Path:
    """The messages of a completion time, in order of time, and the pieces of the ideal path of a flow.

    `find_before` returns the time before the start of a flow that waited for others. It is called on demand,
    because in a chain of flows each has the pieces of all before it.
    """

    KIND, LEAST = "flow", "the empty path"
    """What the path is of, and what its ideal completion time is of."""

    def __init__(
        self,
        record: "Record",
        messages: list[Message],
        ideal: list[Piece],
        find_before: Callable[[], list[Piece]] = list,
    ) -> None:
        self.record, self.messages, self.ideal, self._find_before = record, messages, ideal, find_before
        self.flow = messages[-1].flow
        self.start_ps, self.finish_ps = messages[0].begin_ps, messages[-1].end_ps
        self.pieces = [piece for message in messages for piece in message.pieces]
        reached = self.start_ps
        for piece in self.pieces:
            if piece.begin_ps != reached or piece.end_ps < reached:
                raise AssertionError(f"{self.title}: a piece begins at {piece.begin_ps}, not at {reached} ps")
            reached = piece.end_ps
        if reached != self.finish_ps:
            raise AssertionError(f"{self.title}: its pieces end at {reached} ps, not at {self.finish_ps} ps")

    def __repr__(self) -> str:
        return f"<Path of {self.title}: {self.fct_ps / 1e6:.2f} us in {len(self.pieces)} pieces>"

    @property
    def title(self) -> str:
        """Such as "flow 3" or "task ring"."""
        return f"{self.KIND} {self.flow}"

    @cached_property
    def before(self) -> list[Piece]:
        """The lifetimes of the flows that it waited for, one after the other, and the delays after them."""
        return self._find_before()

    @property
    def fct_ps(self) -> int:
        """The completion time."""
        return self.finish_ps - self.start_ps

    @property
    def ideal_ps(self) -> int:
        """The completion time of the same bytes on the empty path."""
        return sum(piece.length_ps for piece in self.ideal)

    @property
    def slowdown(self) -> float:
        """The completion time as a multiple of the ideal one; NaN where that is not known."""
        return self.fct_ps / self.ideal_ps if self.ideal_ps else nan

    def by_cause(self) -> dict[str, int]:
        """Picoseconds by cause, the largest first."""
        return sums((piece.cause, piece) for piece in self.pieces)

    def by_port(self, *causes: str) -> dict[int, int]:
        """Picoseconds by port, for these causes or for all, the largest first."""
        pieces = (piece for piece in self.pieces if not causes or piece.cause in causes)
        return sums((piece.port, piece) for piece in pieces if piece.port is not None)

    def by_queue(self, *causes: str) -> dict[tuple[int, bool], int]:
        """Picoseconds by port and whether data waited, for these causes, the largest first."""
        pieces = (piece for piece in self.pieces if piece.cause in causes)
        return sums(((piece.port, piece.kind == "data"), piece) for piece in pieces if piece.port is not None)

    def by_flow(self) -> dict[int, int]:
        """Picoseconds behind each other flow, the largest first."""
        return sums((piece.flow, piece) for piece in self.pieces if piece.flow is not None)

    def by_traffic(self) -> dict[str, int]:
        """Picoseconds behind flows of each traffic table (and group of collectives), the largest first."""
        flows = self.record.scenario.flows
        waits = ((piece.flow, piece) for piece in self.pieces)
        return sums((task_members.of_flow(flows, flow), piece) for flow, piece in waits if flow is not None)


def is_of_task(path: Path) -> "TypeIs[TaskPath]":
    """Whether a path is that of a task."""
    return path.KIND != Path.KIND


def sums(pairs: Iterable[tuple[Key, Piece]]) -> dict[Key, int]:
    """Picoseconds of pieces by key, the largest first."""
    found: dict[Key, int] = {}
    for key, piece in pairs:
        found[key] = found.get(key, 0) + piece.length_ps
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def together(paths: Iterable[Path], of: Callable[[Path], Mapping[Key, int]]) -> dict[Key, int]:
    """The sums of several paths, the largest first."""
    found: dict[Key, int] = {}
    for path in paths:
        for key, length in of(path).items():
            found[key] = found.get(key, 0) + length
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))
