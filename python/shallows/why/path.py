"""The critical path of a flow: from its last delivered byte back to its start, each picosecond with a cause.

The walk (`walk`) goes from an event to its cause. A frame arrives after its propagation and its transmission.
The transmission began when the port had sent the frame before: if that belonged to another flow, the frame
waited behind it; if it was the flow's own, the path continues with that frame. A host sent a frame when the
flow was ready (a row of `causes`): because a packet arrived, whose own path is followed then, or because time
passed. Pieces therefore touch each other, and their sum is the completion time; `Path` refuses anything else.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple, TypeVar

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


class Path:
    """The pieces of a flow's completion time, in order of time, and those of its ideal path.

    `find_before` returns the time before the start of a flow that waited for others. It is called on demand,
    because in a chain of flows each has the pieces of all before it.
    """

    def __init__(
        self,
        flow: int,
        start_ps: int,
        finish_ps: int,
        pieces: list[Piece],
        ideal: list[Piece],
        find_before: Callable[[], list[Piece]] = list,
    ) -> None:
        self.flow, self.start_ps, self.finish_ps = flow, start_ps, finish_ps
        self.pieces, self.ideal, self._find_before = pieces, ideal, find_before
        reached = start_ps
        for piece in pieces:
            if piece.begin_ps != reached or piece.end_ps < reached:
                raise AssertionError(
                    f"flow {flow}: a piece begins at {piece.begin_ps} ps, not at {reached} ps"
                )
            reached = piece.end_ps
        if reached != finish_ps:
            raise AssertionError(f"flow {flow}: its pieces end at {reached} ps, not at {finish_ps} ps")

    def __repr__(self) -> str:
        return f"<Path of flow {self.flow}: {self.fct_ps / 1e6:.2f} us in {len(self.pieces)} pieces>"

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


def sums(pairs: Iterable[tuple[Key, Piece]]) -> dict[Key, int]:
    """Picoseconds of pieces by key, the largest first."""
    found: dict[Key, int] = {}
    for key, piece in pairs:
        found[key] = found.get(key, 0) + piece.length_ps
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))
