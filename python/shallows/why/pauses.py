"""Who paused whom: every pause of a run traced to the port where it began, and who only suffered from it.

A switch asks for a pause of a link because of what that brought, most of which waits in one of the switch's
ports. If that port is paused itself, the pause goes back to that one's; if not, it is the port that began it.
Where pauses go back to each other there is no such port: a circle, from which nothing may ever come out.
"""

from typing import TYPE_CHECKING

import numpy as np

from shallows.contract import U64
from shallows.units import NEVER
from shallows.why import stoppages
from shallows.why.stoppages import Stoppage

if TYPE_CHECKING:
    from shallows.why.path import Path
    from shallows.why.record import Record


class Pauses:
    """All pauses of a run, `Stop`s, from the `links` of a `Record`."""

    def __init__(self, record: "Record") -> None:
        self.record = record
        stopped = stoppages.of_events(record.tables["links"], record.link_events, record.ended_ps)
        pauses = (stop for stop in stopped if stop.what == "paused")
        self.all = sorted(pauses, key=lambda pause: pause.since_ps)
        self._of: dict[int, list[Stoppage]] = {}
        for pause in self.all:
            self._of.setdefault(pause.link, []).append(pause)

    def at(self, link: int, time_ps: int) -> Stoppage | None:
        """The pause of a link at some time; none if there is no such."""
        return next(
            (pause for pause in self._of.get(link, ()) if pause.since_ps <= time_ps < pause.until_ps), None
        )

    def chain(self, pause: Stoppage) -> list[int]:
        """The ports from that of `pause` to the one that began it; a circle ends where it came by before."""
        ports, now = [pause.link], pause.since_ps
        while True:
            ports.append(pause.through)
            behind = self.at(pause.through, now)
            if behind is None or pause.through in ports[:-1]:
                return ports
            pause = behind

    def tree(self) -> dict[int, dict[tuple[int, ...], tuple[int, int]]]:
        """`{root: {(link, ..., root): (pauses, ps)}}`, roots by how long they kept others waiting."""
        found: dict[int, dict[tuple[int, ...], tuple[int, int]]] = {}
        for pause in self.all:
            chain = tuple(self.chain(pause))
            its = found.setdefault(chain[-1], {})
            times, length = its.get(chain, (0, 0))
            its[chain] = times + 1, length + pause.length_ps
        return dict(sorted(found.items(), key=lambda pair: -sum(length for _, length in pair[1].values())))

    def victims(self) -> dict[int, int]:
        """`{flow: ps}`: flows that a pause met which began at a port that they do not pass, longest first."""
        from shallows import _core
        from shallows.worlds import packet

        start, finish = (self._times(column) for column in (self.record.start_ps, self.record.finish_ps))
        ways = [set(there) for there, _ in _core.paths(packet.request(self.record.scenario))]
        crossing: dict[int, list[int]] = {}
        for flow, way in enumerate(ways):
            for link in way:
                crossing.setdefault(link, []).append(flow)
        met: dict[int, int] = {}
        for pause in self.all:
            root = self.chain(pause)[-1]
            for flow in crossing.get(pause.link, ()):
                both = min(pause.until_ps, finish[flow]) - max(pause.since_ps, start[flow])
                if both > 0 and root not in ways[flow]:
                    met[flow] = met.get(flow, 0) + both
        return dict(sorted(met.items(), key=lambda pair: -pair[1]))

    def _times(self, column: U64) -> list[int]:
        """Those of an answer, the run's end where there is none."""
        return np.where(column == NEVER, np.uint64(self.record.ended_ps), column).tolist()


def pausers(path: "Path", record: "Record") -> dict[tuple[str, str, str], int]:
    """`{(port, by, root): ps}` of the pauses that a `Path` met, by name.

    The port was paused `by` the switch at the end of its link, because of what waited at the port `root`.
    """
    pauses: Pauses | None = None
    sums: dict[tuple[str, str, str], int] = {}
    network = record.scenario.network
    nodes = [*network.host_names, *network.switch_names]
    for piece in path.pieces:
        if piece.cause != "pause" or piece.port is None:
            continue
        pauses = pauses or Pauses(record)
        met = pauses.at(piece.port, piece.begin_ps)
        assert met is not None, "a path waits only for pauses of its record"
        key = (
            record.names[piece.port],
            nodes[int(network.link_to[piece.port])],
            record.names[pauses.chain(met)[-1]],
        )
        sums[key] = sums.get(key, 0) + piece.length_ps
    return sums
