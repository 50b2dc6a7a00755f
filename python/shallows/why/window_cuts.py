"""Windows and paces reduced by a mark or a loss: until when, and whose frames were in that queue.

A flow waits for a cut window while it is smaller than before the cut. After it has regrown, the flow waits
for the round trip, as it would have without the cut. Likewise for the pace of an algorithm that reacts to
marks, such as DCQCN.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from shallows.why.record import DATA_LIKE, NONE

if TYPE_CHECKING:
    from shallows.why.index import Index


class _Notice(NamedTuple):
    """When a sender learned of a mark or a loss, the port, and when it happened there."""

    known: int
    port: int
    happened: int


class WindowCuts:
    """The window cuts of the flows of a record, from its `Index`."""

    def __init__(self, index: "Index") -> None:
        self._index = index
        self._data: dict[int, list[int]] = {}
        self._answers: dict[int, list[int]] = {}
        for packet, flow in enumerate(index.packets["flow"]):
            if index.kind[packet] == "data":
                self._data.setdefault(flow, []).append(packet)
            elif index.kind[packet] not in DATA_LIKE:
                self._answers.setdefault(flow, []).append(packet)
        self._notices = {
            flow: sorted([*self._marks(flow, data), *self._losses(data)]) for flow, data in self._data.items()
        }
        self._paces: dict[int, tuple[list[int], list[int]]] = {}
        self._falls = {flow: self._fallen(data) for flow, data in self._data.items()}

    def queue(self, flow: int, packet: int) -> dict[int, int]:
        """The queue at the port that caused the cut of the window of `packet`: bytes by other flow.

        Empty if the window was not cut or has regrown, if the cause was no mark or loss, or if no other flow
        was in the queue.
        """
        if packet not in self._falls[flow]:
            return {}
        last, first = (self._asked(one) for one in self._falls[flow][packet])
        at = bisect_right(self._notices[flow], first, key=lambda notice: notice.known) - 1
        if at < 0 or self._notices[flow][at].known <= last:
            return {}
        return self._others(flow, self._notices[flow][at])

    def of_pace(self, flow: int, packet: int) -> tuple[int, dict[int, int]] | None:
        """The port of the last mark or loss before `packet` left, and bytes by other flow in its queue.

        None if the pace is no slower than before it, or if no other flow was in that queue.
        """
        index, notices = self._index, self._notices[flow]
        if not index.record.scenario.flows.ccs[index.cc[flow]].needs_marking:
            return None
        at = bisect_right(notices, self._asked(packet), key=lambda notice: notice.known) - 1
        if at < 0:
            return None
        if flow not in self._paces:
            self._paces[flow] = self._fastest(flow)
        times, fastest = self._paces[flow]
        place = bisect_left(times, self._asked(packet))
        before = bisect_left(times, notices[at].known) - 1
        slower = before < 1 or (place and times[place] - times[place - 1] > fastest[before - 1])
        queue = self._others(flow, notices[at]) if slower else {}
        return (notices[at].port, queue) if queue else None

    def _fastest(self, flow: int) -> tuple[list[int], list[int]]:
        """The times when data packets could leave, and the least interval until each but the first."""
        times = sorted(self._asked(packet) for packet in self._data[flow])
        gaps = (after - before for before, after in pairwise(times))
        return times, list(accumulate(gaps, min))

    def _others(self, flow: int, notice: _Notice) -> dict[int, int]:
        """Bytes of other flows in the queue of a notice."""
        queue = self._index.queue(notice.port, notice.happened)
        return {other: held for other, held in queue.items() if other not in (flow, NONE)}

    def _asked(self, packet: int) -> int:
        """The time when the packet could leave, at which its window was recorded."""
        return self._index.causes["at_ps"][self._index.packets["cause"][packet]]

    def _fallen(self, data: Sequence[int]) -> dict[int, tuple[int, int]]:
        """The last packet with a larger window, and the one after it, of each packet after a cut."""
        windows = [self._index.causes["window"][self._index.packets["cause"][packet]] for packet in data]
        greater: list[int] = []
        fallen: dict[int, tuple[int, int]] = {}
        for place, packet in enumerate(data):
            while greater and windows[greater[-1]] <= windows[place]:
                greater.pop()
            if greater:
                fallen[packet] = data[greater[-1]], data[greater[-1] + 1]
            greater.append(place)
        return fallen

    def _marks(self, flow: int, data: Sequence[int]) -> Iterator[_Notice]:
        """A mark is known when the first answer arrives that was sent after the packet's arrival."""
        index = self._index
        marked = index.record.outcomes.index("marked")
        answers = [answer for answer in self._answers.get(flow, []) if not index.was_dropped(answer)]
        left = [index.packets["left_ps"][answer] for answer in answers]
        for packet in data:
            for hop in index.hops_of[packet]:
                if index.hops["outcome"][hop] == marked and not index.was_dropped(packet):
                    answer = bisect_left(left, index.arrival(packet))
                    if answer < len(answers):
                        yield self._notice(index.arrival(answers[answer]), hop)

    def _losses(self, data: Sequence[int]) -> Iterator[_Notice]:
        """A loss is known when its retransmission may leave."""
        index = self._index
        for packet in data:
            copy, _ = index.copies[packet]
            if copy is not None and index.was_dropped(copy):
                yield self._notice(self._asked(packet), index.hops_of[copy][-1])

    def _notice(self, known: int, hop: int) -> _Notice:
        return _Notice(known, self._index.hops["link"][hop], self._index.hops["offered_ps"][hop])
