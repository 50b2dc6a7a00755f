"""The critical path of a flow: from its last delivered byte back to its start, each picosecond with a cause.

The walk goes from what happened to what it happened because of. A frame arrives after its propagation and
its transmission, which began when the frame before it at that port had been sent: while that was another
flow's, the frame waited behind it; where it was the flow's own, the path goes on with that one, because it is
what kept the link busy. At its host a frame was sent once the flow could (a row of `causes`): because
something came back, whose own way the path then follows, or because time passed. So pieces touch each other,
and their sum is the completion time; `Path` refuses anything else.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from shallows.why import stoppages
from shallows.why.causes import SENDERS
from shallows.why.record import DATA_LIKE, NONE
from shallows.why.window_cuts import WindowCuts

if TYPE_CHECKING:
    from shallows.why.record import Record

CALLS = ("credit", "pull", "ack", "nack")
"""Kinds by which a receiver calls a packet."""


HELD = {
    "paced": "pace",
    "timed_out": "timeout",
    "woken": "window",
    "written": "application",
    "answering": "host",
    "delayed": "delayed_ack",
    "granted": "credit",
}
"""The cause of time that passed, by why it had to."""
STOPPED = {"paused": "pause", "down": "fault"}
"""And what time at a port that was stopped is."""


Key = TypeVar("Key")
Place = tuple[str, int, int] | tuple[str, int, int, int]
"""Where a walk goes on: the step of `_Walk` by name, the packet, its cause if it counts, the time."""


class Piece(NamedTuple):
    """A stretch of a path: its time, its cause, where and behind whom, in which packet's life."""

    begin_ps: int
    end_ps: int
    cause: str
    port: int | None
    """The link of the port where it passed; none where no port has part in it."""
    flow: int | None
    """The other flow that was sent first; none where there is no such flow."""
    kind: str
    """What the packet on the path is for."""
    seq: int
    base: bool = False
    """Whether it is transmission or propagation of a round trip that `cause` made necessary."""

    @property
    def length_ps(self) -> int:
        """How long it is."""
        return self.end_ps - self.begin_ps


class Path:
    """The pieces of a flow's completion time, in order of time, and those of its ideal path."""

    def __init__(
        self,
        flow: int,
        start_ps: int,
        finish_ps: int,
        pieces: list[Piece],
        ideal: list[Piece],
        before: list[Piece],
    ) -> None:
        self.flow, self.start_ps, self.finish_ps = flow, start_ps, finish_ps
        self.pieces, self.ideal, self.before = pieces, ideal, before
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

    @property
    def fct_ps(self) -> int:
        """The completion time."""
        return self.finish_ps - self.start_ps

    @property
    def ideal_ps(self) -> int:
        """The completion time of the same bytes on the empty path."""
        return sum(piece.length_ps for piece in self.ideal)

    def by_cause(self) -> dict[str, int]:
        """Picoseconds by cause, the greatest first."""
        return _sums((piece.cause, piece) for piece in self.pieces)

    def by_port(self, *causes: str) -> dict[int, int]:
        """Picoseconds by port, of these causes only if there are any, the greatest first."""
        mine = (piece for piece in self.pieces if not causes or piece.cause in causes)
        return _sums((piece.port, piece) for piece in mine if piece.port is not None)

    def by_flow(self) -> dict[int, int]:
        """Picoseconds that it waited behind each other flow, the greatest first."""
        return _sums((piece.flow, piece) for piece in self.pieces if piece.flow is not None)


def _sums(pairs: Iterable[tuple[Key, Piece]]) -> dict[Key, int]:
    sums: dict[Key, int] = {}
    for key, piece in pairs:
        sums[key] = sums.get(key, 0) + piece.length_ps
    return dict(sorted(sums.items(), key=lambda pair: -pair[1]))


def of_record(record: "Record", flows: Iterable[int] | None = None) -> dict[int, Path]:
    """The `Path` of each flow of a `Record`, or of these: `{flow: Path}`."""
    walks = Walks(record)
    return {flow: walks.path(flow) for flow in (record.flows if flows is None else flows)}


class _Frames(NamedTuple):
    """What was sent over a link, in order."""

    offered: list[int]
    begun: list[int]
    ended: list[int]
    flow: list[int]
    packet: list[int]
    length: list[int]

    def queue(self, time: int) -> dict[int, int]:
        """Bytes by flow that were at the port at `time`."""
        held: dict[int, int] = {}
        for at in range(bisect_right(self.ended, time), len(self.ended)):
            if self.offered[at] > time:
                break
            held[self.flow[at]] = held.get(self.flow[at], 0) + self.length[at]
        return held


class Walks:
    """The tables of a record, indexed for walking back."""

    def __init__(self, record: "Record") -> None:
        tables = record.tables
        self.record = record
        self.packets, self.causes, self.hops = (
            _lists(tables[name]) for name in ("packets", "causes", "hops")
        )
        self.kind = [record.kinds[kind] for kind in self.packets["kind"]]
        self.hops_of = _grouped(self.hops["packet"], len(self.kind))
        self.delay = [int(delay) for delay in record.scenario.network.delay_ps]
        self.is_nic: list[bool] = record.scenario.network.is_nic.tolist()
        self.pacers = bool(record.scenario.pacer)
        self.payload = record.scenario.frame.payload
        self.completed: dict[int, int] = dict(
            zip(*(tables["completed"][name].tolist() for name in ("flow", "packet")), strict=True)
        )
        self.copies = self._copies()
        self.frames = _frames(tables["frames"])
        self.stops = _stops(record)
        first_drop = record.outcomes.index("dropped")
        self.dropped = [outcome >= first_drop for outcome in self.hops["outcome"]]
        returned = record.outcomes.index("returned")
        self.returned = [outcome == returned for outcome in self.hops["outcome"]]
        self.flow_is_called = [cc.transport == "pulled" for cc in record.scenario.flows.ccs]
        self.cc: list[int] = record.scenario.flows.cc.tolist()
        self.cuts = WindowCuts(self)
        self.first_loss = self._first_losses()

    def _copies(self) -> dict[int, tuple[int | None, int | None]]:
        """By data packet: the copy of it sent before, and the data packet sent before it; none is `None`."""
        newest: dict[tuple[int, int], int] = {}
        previous: dict[int, int] = {}
        copies: dict[int, tuple[int | None, int | None]] = {}
        for packet, (flow, seq) in enumerate(zip(self.packets["flow"], self.packets["seq"], strict=True)):
            if self.kind[packet] == "data":
                copies[packet] = newest.get((flow, seq)), previous.get(flow)
                newest[flow, seq] = previous[flow] = packet
        return copies

    def was_dropped(self, packet: int) -> bool:
        """Whether a port dropped it, or a wire lost it."""
        return self.dropped[self.hops_of[packet][-1]]

    def arrival(self, packet: int) -> int:
        """When it came to its host."""
        hop = self.hops_of[packet][-1]
        return self.hops["ended_ps"][hop] + self.delay[self.hops["link"][hop]]

    def _first_losses(self) -> dict[int, int]:
        """By flow: when its first data packet was dropped, or lost on a wire."""
        first: dict[int, int] = {}
        for packet, hops in enumerate(self.hops_of):
            if self.kind[packet] == "data" and self.was_dropped(packet):
                flow, time = self.packets["flow"][packet], self.hops["offered_ps"][hops[-1]]
                first[flow] = min(time, first.get(flow, time))
        return first

    def path(self, flow: int) -> Path:
        start, finish = int(self.record.start_ps[flow]), int(self.record.finish_ps[flow])
        pieces = _Walk(self, flow).pieces(self.completed[flow], finish)
        return Path(flow, start, finish, pieces, self._ideal(flow), self._before(flow))

    def _ideal(self, flow: int) -> list[Piece]:
        """The ideal path, from the start on."""
        table = self.record.tables["ideal"]
        mine, now = table["flow"] == flow, int(self.record.start_ps[flow])
        pieces: list[Piece] = []
        columns = [table[name][mine].tolist() for name in ("link", "waits_ps", "sending_ps", "delay_ps")]
        for link, waits, sending, delay in zip(*columns, strict=True):
            for cause, length in (("transmission", waits + sending), ("propagation", delay)):
                if length:
                    pieces.append(Piece(now, now + length, cause, link, None, "data", 0))
                    now += length
        return pieces

    def _before(self, flow: int) -> list[Piece]:
        """What was before its start, if it waited for others: their lives, the application's time between."""
        flows = self.record.scenario.flows
        pieces: list[Piece] = []
        while (other := int(flows.after[flow])) != NONE:
            start, begun = int(self.record.start_ps[flow]), int(self.record.start_ps[other])
            ready = start - int(flows.start_ps[flow])
            if start > ready:
                pieces.append(Piece(ready, start, "application", None, None, "data", 0))
            pieces.append(Piece(begun, ready, "dependency", None, other, "data", 0))
            flow = other
        return pieces[::-1]


def _lists(columns: Mapping[str, NDArray[Any]]) -> dict[str, list[int]]:
    return {name: column.tolist() for name, column in columns.items()}


def _grouped(keys: Sequence[int], count: int) -> list[list[int]]:
    """The places of each key from 0 to `count`, in order."""
    groups: list[list[int]] = [[] for _ in range(count)]
    for place, key in enumerate(keys):
        groups[key].append(place)
    return groups


def _frames(table: Mapping[str, NDArray[Any]]) -> dict[int, _Frames]:
    """`_Frames` by link."""
    order = np.argsort(table["link"], kind="stable")
    links, firsts = np.unique(table["link"][order], return_index=True)
    if not len(links):
        return {}
    names = ("offered_ps", "begun_ps", "ended_ps", "flow", "packet", "length")
    pieces = [np.split(table[name][order], firsts[1:]) for name in names]
    return {
        int(link): _Frames(*(column.tolist() for column in columns))
        for link, *columns in zip(links, *pieces, strict=True)
    }


def _stops(record: "Record") -> dict[int, list[stoppages.Stoppage]]:
    """By link: its `Stop`s."""
    found: dict[int, list[stoppages.Stoppage]] = {}
    for stop in stoppages.of_events(record.tables["links"], record.link_events, record.ended_ps):
        found.setdefault(stop.link, []).append(stop)
    return found


class _Walk:
    """One walk, from the finish of a flow back to its start."""

    def __init__(self, walks: Walks, flow: int) -> None:
        self.walks, self.flow = walks, flow
        self.found: list[Piece] = []
        self.via: str | None = None
        """What the packets now walked along were waited for: one of `SENDERS`; none for the last of all."""
        self.one_was_enough = False
        """Whether the window would have let the last packet go for one frame less in flight."""
        self.queue: dict[int, int] = {}
        """Where that is a window that was cut: bytes of the other flows in the queue where it happened."""

    def pieces(self, packet: int, finish: int) -> list[Piece]:
        steps: dict[str, Callable[..., Place | None]] = {
            "came": self._arrival,
            "left": self._departure,
            "because": self._cause,
        }
        place: Place | None = ("came", packet, finish)
        while place is not None:
            step, *rest = place
            place = steps[step](*rest)
        return self.found[::-1]

    def _add(
        self,
        packet: int,
        begin: int,
        end: int,
        cause: str,
        *,
        port: int | None = None,
        flow: int | None = None,
        base: bool = False,
    ) -> None:
        if end > begin:
            kind, seq = self.walks.kind[packet], self.walks.packets["seq"][packet]
            for behind, since in self._split(begin, end) if cause == "cut" else [(flow, begin)]:
                if since < end:
                    self.found.append(Piece(since, end, cause, port, behind, kind, seq, base))
                end = since

    def _split(self, begin: int, end: int) -> list[tuple[int, int]]:
        """A span, split by the bytes of `queue`, from its end on: each flow, and when its part begins."""
        total, bytes_, length = sum(self.queue.values()), 0, end - begin
        parts: list[tuple[int, int]] = []
        for flow, held in self.queue.items():
            bytes_ += held
            parts.append((flow, end - length * bytes_ // total))
        return parts

    def _arrival(self, packet: int, now: int) -> Place:
        """`packet` came to its host, or was dropped, at `now`: back to where it left."""
        hops = self.walks.hops_of[packet]
        return self._along(packet, len(hops) - 1, now)

    def _along(self, packet: int, at: int, now: int) -> Place:
        """It came to the end of its hop `at` at `now`."""
        walks = self.walks
        while at >= 0:
            hop = walks.hops_of[packet][at]
            if walks.returned[hop]:
                pass  # It turned round here, and went on from another port at once.
            elif not walks.dropped[hop]:
                link, begun, ended = (walks.hops[name][hop] for name in ("link", "begun_ps", "ended_ps"))
                via = self.via if self.via in SENDERS else None
                self._add(packet, ended, now, via or "propagation", port=link, base=bool(via))
                self._add(packet, begun, ended, via or "transmission", port=link, base=bool(via))
                ready = self._ready(packet, at)
                packet, now = self._wait(packet, link, ready, begun)
                at = self._place(packet, link)
            elif at == 0:
                return ("left", packet, now)
            at -= 1
        return ("because", packet, walks.packets["cause"][packet], now)

    def _ready(self, packet: int, at: int) -> int:
        """When it could have been sent at its hop `at`: at its host, as soon as its flow could send."""
        walks = self.walks
        if at == 0:
            return walks.causes["at_ps"][walks.packets["cause"][packet]]
        return walks.hops["offered_ps"][walks.hops_of[packet][at]]

    def _wait(self, packet: int, link: int, ready: int, begun: int) -> tuple[int, int]:
        """It was ready at `ready` and began to be sent at `begun`: what was sent before it.

        Gives the first of the flow's own packets that the link sent one after the other, and when that came.
        """
        frames = self.walks.frames[link]
        at, now = bisect_left(frames.begun, begun) - 1, begun
        cause = "nic" if self.walks.is_nic[link] else "queue"
        while now > ready:
            if at < 0 or frames.ended[at] <= ready:
                self._idle(packet, link, (ready, now), self._next_flow(frames, at + 1))
                break
            if frames.ended[at] < now:
                self._idle(packet, link, (frames.ended[at], now), self._next_flow(frames, at + 1))
                now = frames.ended[at]
            if frames.flow[at] == self.flow and frames.packet[at] != NONE:
                self._add(frames.packet[at], frames.begun[at], now, "transmission", port=link)
                packet, now = frames.packet[at], frames.begun[at]
                ready = self._ready(packet, self._place(packet, link))
            else:
                begin = max(frames.begun[at], ready)
                other = frames.flow[at] if frames.flow[at] != NONE else None
                self._add(packet, begin, now, cause, port=link, flow=other)
                now = begin
            at -= 1
        return packet, ready

    def _place(self, packet: int, link: int) -> int:
        hops = self.walks.hops_of[packet]
        return next(place for place, hop in enumerate(hops) if self.walks.hops["link"][hop] == link)

    def _next_flow(self, frames: _Frames, at: int) -> int | None:
        """The other flow that the frame after a gap belongs to, if it does."""
        flow = frames.flow[at] if at < len(frames.flow) else NONE
        return None if flow in (self.flow, NONE) else flow

    def _idle(self, packet: int, link: int, span: tuple[int, int], next_flow: int | None) -> None:
        """The port sent nothing meanwhile: it was paused, its link down, or its class short of tokens.

        Of data at a host that is the class of what goes through the server's pacer.
        """
        begin, now = span
        paced = self.walks.pacers and self.walks.is_nic[link] and self.walks.kind[packet] == "data"
        held = "pace" if paced else "shaping"
        for stop in reversed(self.walks.stops.get(link, [])):
            if stop.what == "paused" and self.walks.kind[packet] != "data":
                continue
            since, until = max(stop.since_ps, begin), min(stop.until_ps, now)
            if since < until:
                self._add(packet, until, now, held, port=link, flow=next_flow)
                self._add(packet, since, until, STOPPED[stop.what], port=link)
                now = since
        self._add(packet, begin, now, held, port=link, flow=next_flow)

    def _departure(self, packet: int, now: int) -> Place:
        """It left its host at `now`: back to what let it, past its turn at the NIC."""
        walks = self.walks
        link = walks.hops["link"][walks.hops_of[packet][0]]
        packet, now = self._wait(packet, link, self._ready(packet, 0), now)
        return ("because", packet, walks.packets["cause"][packet], now)

    def _cause(self, packet: int, cause: int, now: int) -> Place | None:
        """`packet` could leave at `now` because of `cause`."""
        causes = self.walks.causes
        why = self.walks.record.whys[causes["why"][cause]]
        since, by, before = (causes[name][cause] for name in ("since_ps", "packet", "before"))
        if why == "began":
            return None
        if why == "followed":
            return ("left", by, now)
        if why in ("heard", "timed_out") and (lost := self._lost(packet, by, why)) is not None:
            at = self.walks.hops["offered_ps"][self.walks.hops_of[lost][-1]]
            if at <= now:
                port = self.walks.hops["link"][self.walks.hops_of[lost][-1]]
                self._add(packet, at, now, "loss" if why == "heard" else "timeout", port=port)
                self.via = "loss" if why == "heard" else "timeout"
                return ("came", lost, at)
        if why in ("heard", "delayed") and (first := self._first(packet)) is not None:
            came = self.walks.arrival(first)
            self._add(packet, came, now, "delayed_ack")
            return ("came", first, came)
        if why == "heard":
            self.via = self._edge(packet, by, cause)
            return ("came", by, now)
        if why == "paced" and (sent := self._just_sent(before, now)) is not None:
            hop = self.walks.hops_of[sent][0]
            link, begun, ended = (self.walks.hops[name][hop] for name in ("link", "begun_ps", "ended_ps"))
            self._add(packet, ended, now, "pace")
            self._add(sent, begun, ended, "transmission", port=link)
            return ("left", sent, begun)
        self._add(packet, since, now, HELD[why])
        if why in ("delayed", "granted"):
            sent = self.walks.kind[by] in CALLS
            return ("left" if sent else "came", by, since)
        return ("because", packet, before, since)

    def _just_sent(self, cause: int, now: int) -> int | None:
        """The packet that left as `cause`, if its host had sent it by `now`."""
        causes, walks = self.walks.causes, self.walks
        if walks.record.whys[causes["why"][cause]] != "followed":
            return None
        sent = causes["packet"][cause]
        hop = walks.hops_of[sent][0]
        return sent if not walks.dropped[hop] and walks.hops["ended_ps"][hop] <= now else None

    def _first(self, ack: int) -> int | None:
        """The first packet that `ack` is for, where its receiver held that and it would have been enough."""
        first = self.walks.packets["first"][ack]
        return first if self.one_was_enough and first != NONE else None

    def _lost(self, packet: int, by: int, why: str) -> int | None:
        """The copy of `packet` whose loss has just been noticed, if one was lost."""
        copy, previous = self.walks.copies.get(packet, (None, None))
        if copy is None or not self.walks.was_dropped(copy):
            return None
        repairing = previous is not None and self.walks.copies[previous][0] is not None
        noticed = why == "timed_out" or not repairing or self.walks.kind[by] == "nack"
        return copy if noticed else None

    def _edge(self, packet: int, by: int, cause: int) -> str | None:
        """What the flow waited for until `by` came and `packet` could leave, because of `cause`."""
        walks, kind = self.walks, self.walks.kind
        if kind[packet] not in DATA_LIKE:
            return self.via
        self.one_was_enough = False
        if kind[by] in ("credit", "rate_answer") or walks.flow_is_called[walks.cc[self.flow]]:
            return "credit"
        copy, _ = walks.copies.get(packet, (None, None))
        if copy is not None:
            return "loss" if walks.was_dropped(copy) or self._repairs(packet, by) else "reordering"
        self.one_was_enough = 0 < walks.causes["short"][cause] <= walks.payload
        if walks.record.lacks[walks.causes["lack"][cause]] == "receiver":
            return "receiver"
        self.queue = walks.cuts.queue(self.flow, packet)
        return "cut" if self.queue else "window"

    def _repairs(self, packet: int, by: int) -> bool:
        """Whether a copy of what was not lost is sent in the repair of something else that was."""
        lost = self.walks.first_loss.get(self.flow)
        return (
            self.walks.kind[by] != "nack"
            and lost is not None
            and lost < self.walks.packets["left_ps"][packet]
        )
