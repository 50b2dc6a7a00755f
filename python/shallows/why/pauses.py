"""Causes of pauses: every pause of a run, traced to the port where it began, and the flows that only
suffered.

A switch pauses a link because of the data that it brought, most of which waits in one of the switch's ports.
If that port is paused itself, the pause is caused by that pause; otherwise the port is the root. Pauses in a
cycle have no root, and the cycle may never resolve.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from shallows.core.contract import U64
from shallows.units import NEVER
from shallows.why import stoppages
from shallows.why.stoppages import Stoppage
from shallows.why.walk import split

if TYPE_CHECKING:
    from shallows.why.index import Index
    from shallows.why.path import Message, Path, Piece
    from shallows.why.record import Record


class Pauses:
    """All pauses of a run, from the `links` of a `Record`."""

    def __init__(self, record: "Record") -> None:
        self.record = record
        stopped = stoppages.of_events(record.tables["links"], record.link_events, record.ended_ps)
        pauses = (stop for stop in stopped if stop.what == "paused")
        self.all = sorted(pauses, key=lambda pause: pause.since_ps)
        self._of: dict[int, list[Stoppage]] = {}
        for pause in self.all:
            self._of.setdefault(pause.link, []).append(pause)

    def pause_at(self, link: int, time_ps: int, classes: Collection[int]) -> Stoppage | None:
        """The pause of one of the traffic classes `of` of a link at a time; None if there is none."""
        pauses = (pause for pause in self._of.get(link, ()) if pause.traffic_class in classes)
        return next((pause for pause in pauses if pause.since_ps <= time_ps < pause.until_ps), None)

    def chain(self, pause: Stoppage) -> list[int]:
        """The ports from that of `pause` to the root; a cycle ends at the first repeated port."""
        ports, now = [pause.link], pause.since_ps
        while True:
            ports.append(pause.through)
            behind = self.pause_at(pause.through, now, [pause.traffic_class])
            if behind is None or pause.through in ports[:-1]:
                return ports
            pause = behind

    def tree(self) -> dict[int, dict[tuple[int, ...], tuple[int, int]]]:
        """`{root: {(link, ..., root): (pauses, ps)}}`, with the roots in order of caused waiting time."""
        found: dict[int, dict[tuple[int, ...], tuple[int, int]]] = {}
        for pause in self.all:
            chain = tuple(self.chain(pause))
            children = found.setdefault(chain[-1], {})
            times, length = children.get(chain, (0, 0))
            children[chain] = times + 1, length + pause.length_ps
        return dict(sorted(found.items(), key=lambda pair: -sum(length for _, length in pair[1].values())))

    def victims(self) -> dict[int, int]:
        """`{flow: ps}`: flows stopped by a pause whose root they do not pass, the longest first."""
        from shallows import _core
        from shallows.scenario.request import request

        start, finish = (self._times(column) for column in (self.record.start_ps, self.record.finish_ps))
        ways = [set(forward) for forward, _ in _core.paths(request(self.record.scenario))]
        crossing: dict[int, list[int]] = {}
        for flow, way in enumerate(ways):
            for link in way:
                crossing.setdefault(link, []).append(flow)
        met: dict[int, int] = {}
        for pause in self.all:
            root = self.chain(pause)[-1]
            for flow in crossing.get(pause.link, ()):
                if self.record.traffic_classes[flow] != pause.traffic_class:
                    continue
                both = min(pause.until_ps, finish[flow]) - max(pause.since_ps, start[flow])
                if both > 0 and root not in ways[flow]:
                    met[flow] = met.get(flow, 0) + both
        return dict(sorted(met.items(), key=lambda pair: -pair[1]))

    def _times(self, column: U64) -> list[int]:
        """Times of an answer; the end of the run for a missing time."""
        return np.where(column == NEVER, np.uint64(self.record.ended_ps), column).tolist()


def pausers(path: "Path") -> dict[tuple[str, str, str], int]:
    """`{(port, by, root): ps}` of the pauses on a `Path`, by name.

    The switch at the end of the port's link (`by`) paused it, because of the data at the port `root`.
    """
    record = path.record
    pauses: Pauses | None = None
    sums: dict[tuple[str, str, str], int] = {}
    network = record.scenario.graph
    nodes = [*network.host_names, *network.switch_names]
    for flow, piece in ((message.flow, piece) for message in path.messages for piece in message.pieces):
        if piece.cause != "pause" or piece.port is None:
            continue
        pauses = pauses or Pauses(record)
        met = pauses.pause_at(piece.port, piece.begin_ps, record.traffic_classes[flow : flow + 1])
        assert met is not None, "a path waits only for pauses of its record"
        by, root = nodes[int(network.link_to[piece.port])], record.names[pauses.chain(met)[-1]]
        key = record.names[piece.port], by, root
        sums[key] = sums.get(key, 0) + piece.length_ps
    return sums


def named(index: "Index", messages: "list[Message]") -> "list[Message]":
    """The same messages, with each pause divided among the flows in the queue where it began, by their bytes.

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
    queue = index.queue(pauses.chain(pause)[-1], piece.begin_ps)
    others = {other: held for other, held in queue.items() if other != flow}
    if not others:
        return [piece]
    parts: list[Piece] = []
    end = piece.end_ps
    for other, since in split(others, piece.begin_ps, end):
        parts.append(piece._replace(begin_ps=since, end_ps=end, flow=other))
        end = since
    return parts[::-1]
