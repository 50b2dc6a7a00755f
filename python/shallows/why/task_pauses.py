"""The tenants behind pauses: those whose frames were in the queue of the port where a pause began."""

from typing import TYPE_CHECKING

from shallows.why.pauses import Pauses
from shallows.why.walk import split

if TYPE_CHECKING:
    from shallows.why.index import Index
    from shallows.why.path import Piece
    from shallows.why.task import Message


def named(index: "Index", messages: "list[Message]") -> "list[Message]":
    """The same messages, with each pause divided among the flows in that queue, by their bytes.

    A pause keeps no name if the queue is not in the record: the port is on the path of no watched flow.
    """
    pauses = Pauses(index.record)
    return [
        message._replace(
            pieces=[part for piece in message.pieces for part in _named(index, pauses, message.flow, piece)]
        )
        for message in messages
    ]


def _named(index: "Index", pauses: Pauses, flow: int, piece: "Piece") -> "list[Piece]":
    if piece.cause != "pause" or piece.port is None or piece.flow is not None:
        return [piece]
    pause = pauses.pause_at(piece.port, piece.begin_ps, [index.traffic_class[flow]])
    assert pause is not None, "a path waits only for pauses of its record"
    queue = index.frames[pauses.chain(pause)[-1]].queue(piece.begin_ps)
    others = {other: held for other, held in queue.items() if other != flow}
    if not others:
        return [piece]
    parts: list[Piece] = []
    end = piece.end_ps
    for other, since in split(others, piece.begin_ps, end):
        parts.append(piece._replace(begin_ps=since, end_ps=end, flow=other))
        end = since
    return parts[::-1]
