"""The walk from the finish of a flow back to its start, which finds the pieces of its critical path."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from shallows.memory.check import check
from shallows.why.causes import SENDERS
from shallows.why.index import Frames, Index
from shallows.why.path import Message, Path, Piece
from shallows.why.record import DATA_LIKE, NONE
from shallows.why.stoppages import Stoppage, within

if TYPE_CHECKING:
    from shallows.why.record import Record

PIECES, PIECE_BYTES = 250_000, 300
"""Pieces of paths after which the free memory is compared, and memory of a piece."""
CALLS = ("credit", "pull", "ack", "nack")
"""Kinds of packets by which a receiver requests data."""


HELD = {
    "timed_out": "timeout",
    "woken": "window",
    "written": "application",
    "answering": "host",
    "delayed": "delayed_ack",
    "granted": "credit",
}
"""The cause of waiting time, by its reason in the record."""
STOPPED = {"paused": "pause", "down": "fault"}
"""The cause of time at a stopped port."""
Place = tuple[str, int, int] | tuple[str, int, int, int]
"""The next step of a walk: the method of `_Walk`, the packet, its cause if needed, the time."""


def of_record(record: "Record", flows: Iterable[int] | None = None) -> dict[int, Path]:
    """The `Path` of each flow of a `Record`, or of these flows: `{flow: Path}`.

    Raises `TooLargeError` before their pieces fill the memory: where thousands of flows wait for each other,
    each path has thousands of pieces, which no table of a run foretells.
    """
    index, paths = Index(record), dict[int, Path]()
    pieces = 0
    for flow in record.flows if flows is None else flows:
        paths[flow] = _path(index, flow)
        pieces += len(paths[flow].pieces)
        if pieces >= PIECES:
            check("the paths of these flows", PIECES * PIECE_BYTES, "fewer flows")
            pieces = 0
    return paths


def _path(index: Index, flow: int) -> Path:
    record = index.record
    start, finish = int(record.start_ps[flow]), int(record.finish_ps[flow])
    message = Message(flow, "received", start, finish, until_received(index, flow, finish))
    return Path(record, [message], _ideal(record, flow), partial(_before, record, flow))


def until_received(index: Index, flow: int, finish: int) -> list[Piece]:
    """The pieces of a flow from its start until its receiver has all data."""
    return _Walk(index, flow).pieces(("came", index.completed[flow], finish))


def until_sent(index: Index, flow: int, time: int) -> list[Piece]:
    """The pieces of a flow from its start until its host sends the last packet for the first time."""
    return _Walk(index, flow).pieces(("left", index.last_data(flow), time))


def until_acknowledged(index: Index, flow: int, time: int) -> list[Piece]:
    """The pieces of a flow from its start until its last acknowledgement arrives, at `time`."""
    packet = index.acknowledgement(flow, time)
    assert packet is not None, f"an acknowledgement of flow {flow} ended a wait at {time} ps"
    return _Walk(index, flow).pieces(("came", packet, time))


def _ideal(record: "Record", flow: int) -> list[Piece]:
    """The ideal path, from the start on."""
    table = record.tables["ideal"]
    rows, now = table["flow"] == flow, int(record.start_ps[flow])
    pieces: list[Piece] = []
    columns = [table[name][rows].tolist() for name in ("link", "waits_ps", "sending_ps", "delay_ps")]
    for link, waits, sending, delay in zip(*columns, strict=True):
        for cause, length in (("transmission", waits + sending), ("propagation", delay)):
            if length:
                pieces.append(Piece(now, now + length, cause, link, None, "data", 0))
                now += length
    return pieces


def _before(record: "Record", flow: int) -> list[Piece]:
    """The time before the start of a dependent flow: the lifetimes of its predecessors and think times.

    Of several predecessors the last one is followed; those that only had to send their data count until then.
    """
    flows = record.scenario.flows
    pieces: list[Piece] = []
    while flows.after.of(flow) or flows.behind.of(flow):
        if any(other >= len(flows) for other in flows.after.of(flow)):
            break  # a computation, which only `--task` follows
        start = int(record.start_ps[flow])
        ready = start - int(flows.start_ps[flow])
        finished = [other for other in flows.after.of(flow) if int(record.finish_ps[other]) <= ready]
        last = max(finished, key=lambda other: int(record.finish_ps[other]), default=None)
        if last is None or (int(record.finish_ps[last]) < ready and flows.behind.of(flow)):
            last = flows.behind.of(flow)[-1]
        begun = int(record.start_ps[last])
        if start > ready:
            pieces.append(Piece(ready, start, "delay", None, None, "data", 0))
        pieces.append(Piece(begun, ready, "dependency", None, last, "data", 0))
        flow = last
    return pieces[::-1]


def split(queue: Mapping[int, int], begin: int, end: int) -> list[tuple[int, int]]:
    """A span, divided by the bytes in `queue` from its end: each flow and the begin of its part."""
    total, bytes_, length = sum(queue.values()), 0, end - begin
    parts: list[tuple[int, int]] = []
    for flow, held in queue.items():
        bytes_ += held
        parts.append((flow, end - length * bytes_ // total))
    return parts


class _Walk:
    """A walk from the finish of a flow back to its start."""

    def __init__(self, index: Index, flow: int) -> None:
        self.index, self.flow = index, flow
        self.found: list[Piece] = []
        self.via: str | None = None
        """Why the packets on this part were needed: one of `SENDERS`; None for the last packet."""
        self.one_was_enough = False
        """True if the window would have allowed the last packet with one frame less in flight."""
        self.queue: dict[int, int] = {}
        """After a window cut: bytes of other flows in the queue that caused it."""

    def pieces(self, place: Place | None) -> list[Piece]:
        """The pieces before `place`, in order of time."""
        steps: dict[str, Callable[..., Place | None]] = {
            "came": self._arrival,
            "left": self._departure,
            "because": self._cause,
        }
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
            kind, seq = self.index.kind[packet], self.index.packets["seq"][packet]
            parts = split(self.queue, begin, end) if cause == "cut" else [(flow, begin)]
            for behind, since in parts:
                if since < end:
                    self.found.append(Piece(since, end, cause, port, behind, kind, seq, base))
                end = since

    def _arrival(self, packet: int, now: int) -> Place:
        """`packet` arrived at its host, or was dropped, at `now`. Continues where it left."""
        hops = self.index.hops_of[packet]
        return self._along(packet, len(hops) - 1, now)

    def _along(self, packet: int, at: int, now: int) -> Place:
        """Follow `packet` back from the end of its hop `at` at `now`."""
        index = self.index
        while at >= 0:
            hop = index.hops_of[packet][at]
            if index.returned[hop]:
                pass  # The packet was returned here and left by another port at once.
            elif not index.dropped[hop]:
                link, begun, ended = (index.hops[name][hop] for name in ("link", "begun_ps", "ended_ps"))
                via = self.via if self.via in SENDERS else None
                self._add(packet, ended, now, via or "propagation", port=link, base=bool(via))
                self._add(packet, begun, ended, via or "transmission", port=link, base=bool(via))
                assert index.frames[link].has(begun), f"the record watches link {link} at {begun} ps"
                packet, now = self._wait(packet, link, self._ready(packet, at), begun)
                at = self._place(packet, link)
            elif at == 0:
                return ("left", packet, now)
            at -= 1
        return ("because", packet, index.packets["cause"][packet], now)

    def _ready(self, packet: int, at: int) -> int:
        """The time when `packet` could have been sent at hop `at`; at its host, when the flow was ready."""
        index = self.index
        if at == 0:
            return index.causes["at_ps"][index.packets["cause"][packet]]
        return index.hops["offered_ps"][index.hops_of[packet][at]]

    def _wait(self, packet: int, link: int, ready: int, begun: int) -> tuple[int, int]:
        """Add what the port sent before `packet`, which was ready at `ready` and was sent from `begun`.

        Returns the first of the flow's own packets that the link sent back to back, and its ready time.
        """
        frames = self.index.frames[link]
        at, now = bisect_left(frames.begun, begun) - 1, begun
        cause = "nic" if self.index.is_nic[link] else "queue"
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
        hops = self.index.hops_of[packet]
        return next(place for place, hop in enumerate(hops) if self.index.hops["link"][hop] == link)

    def _next_flow(self, frames: Frames, at: int) -> int | None:
        """The other flow that owns the frame after a gap; None if there is none."""
        flow = frames.flow[at] if at < len(frames.flow) else NONE
        return None if flow in (self.flow, NONE) else flow

    def _idle(self, packet: int, link: int, span: tuple[int, int], next_flow: int | None) -> None:
        """Add the time without transmission: a pause, a broken link, or a class without tokens.

        Data at a host with a pacer waits for the pacer.
        """
        begin, now = span
        paced = self.index.pacers and self.index.is_nic[link] and self.index.kind[packet] == "data"
        held = "pace" if paced else "shaping"
        lists = [stops for stops in self.index.stops.get(link, ()) if self._is_stopped(packet, stops[0])]
        met = [stop for stops in lists for stop in within(stops, begin, now)]
        for stop in sorted(met, key=attrgetter("until_ps", "since_ps"), reverse=True):
            since, until = max(stop.since_ps, begin), min(stop.until_ps, now)
            if since < until:
                self._add(packet, until, now, held, port=link, flow=next_flow)
                self._add(packet, since, until, STOPPED[stop.what], port=link)
                now = since
        self._add(packet, begin, now, held, port=link, flow=next_flow)

    def _is_stopped(self, packet: int, stop: Stoppage) -> bool:
        """True if the link is down, or the class of the packet paused."""
        its = self.index.traffic_class[self.index.packets["flow"][packet]]
        paused = self.index.kind[packet] == "data" and its == stop.traffic_class
        return stop.what == "down" or paused

    def _departure(self, packet: int, now: int) -> Place:
        """`packet` left its host at `now`. Continues with the cause, after waiting for the NIC."""
        index = self.index
        link = index.hops["link"][index.hops_of[packet][0]]
        packet, now = self._wait(packet, link, self._ready(packet, 0), now)
        return ("because", packet, index.packets["cause"][packet], now)

    def _cause(self, packet: int, cause: int, now: int) -> Place | None:
        """`packet` could leave at `now` because of `cause`."""
        causes = self.index.causes
        why = self.index.record.whys[causes["why"][cause]]
        since, by, before = (causes[name][cause] for name in ("since_ps", "packet", "before"))
        if why == "began":
            self._add_before(packet, now)
            return None
        if why == "followed":
            return ("left", by, now)
        if why in ("heard", "timed_out") and (lost := self._lost(packet, by, why)) is not None:
            at = self.index.hops["offered_ps"][self.index.hops_of[lost][-1]]
            if at <= now:
                port = self.index.hops["link"][self.index.hops_of[lost][-1]]
                self._add(packet, at, now, "loss" if why == "heard" else "timeout", port=port)
                self.via = "loss" if why == "heard" else "timeout"
                return ("came", lost, at)
        if why in ("heard", "delayed") and (first := self._first(packet)) is not None:
            came = self.index.arrival(first)
            self._add(packet, came, now, "delayed_ack")
            return ("came", first, came)
        if why == "heard":
            self.via = self._edge(packet, by, cause)
            return ("came", by, now)
        if why == "paced" and (sent := self._just_sent(before, now)) is not None:
            hop = self.index.hops_of[sent][0]
            link, begun, ended = (self.index.hops[name][hop] for name in ("link", "begun_ps", "ended_ps"))
            self._add_pace(packet, ended, now)
            self._add(sent, begun, ended, "transmission", port=link)
            return ("left", sent, begun)
        if why == "paced":
            self._add_pace(packet, since, now)
        else:
            port = self.index.last_loss(self.flow, now) if why == "timed_out" else None
            self._add(packet, since, now, HELD[why], port=port)
        if why in ("delayed", "granted"):
            sent = self.index.kind[by] in CALLS
            return ("left" if sent else "came", by, since)
        return ("because", packet, before, since)

    def _add_before(self, packet: int, now: int) -> None:
        """Add what the flow waited for from its start until its first byte could leave, at `now`."""
        for cause, of_flows in reversed(self.index.record.addends.items()):
            begin = now - int(of_flows[self.flow])
            self._add(packet, begin, now, cause)
            now = begin

    def _add_pace(self, packet: int, begin: int, end: int) -> None:
        """Add the time that the pace held `packet` back."""
        cut = self.index.cuts.of_pace(self.flow, packet) if self.index.kind[packet] == "data" else None
        if cut is None:
            self._add(packet, begin, end, "pace")
            return
        port, queue = cut
        for flow, since in split(queue, begin, end):
            self._add(packet, since, end, "pace_cut", port=port, flow=flow)
            end = since

    def _just_sent(self, cause: int, now: int) -> int | None:
        """The packet that was sent as `cause`, if its host had sent it by `now`."""
        causes, index = self.index.causes, self.index
        if index.record.whys[causes["why"][cause]] != "followed":
            return None
        sent = causes["packet"][cause]
        hop = index.hops_of[sent][0]
        return sent if not index.dropped[hop] and index.hops["ended_ps"][hop] <= now else None

    def _first(self, ack: int) -> int | None:
        """The first packet acknowledged by a delayed `ack`, if that packet alone would have been enough."""
        first = self.index.packets["first"][ack]
        return first if self.one_was_enough and first != NONE else None

    def _lost(self, packet: int, by: int, why: str) -> int | None:
        """The copy of `packet` whose loss was just detected; None if none was lost."""
        copy, previous = self.index.copies.get(packet, (None, None))
        if copy is None or not self.index.was_dropped(copy):
            return None
        repairing = previous is not None and self.index.copies[previous][0] is not None
        noticed = why == "timed_out" or not repairing or self.index.kind[by] == "nack"
        return copy if noticed else None

    def _edge(self, packet: int, by: int, cause: int) -> str | None:
        """What the flow waited for until `by` arrived and `packet` could leave, because of `cause`."""
        index, kind = self.index, self.index.kind
        if kind[packet] not in DATA_LIKE:
            return self.via
        self.one_was_enough = False
        if kind[by] in ("credit", "rate_answer") or index.flow_is_called[index.cc[self.flow]]:
            return "credit"
        copy, _ = index.copies.get(packet, (None, None))
        if copy is not None:
            return "loss" if index.was_dropped(copy) or self._repairs(packet, by) else "reordering"
        self.one_was_enough = 0 < index.causes["short"][cause] <= index.payload
        if index.record.lacks[index.causes["lack"][cause]] == "receiver":
            return "receiver"
        self.queue = index.cuts.queue(self.flow, packet)
        return "cut" if self.queue else "window"

    def _repairs(self, packet: int, by: int) -> bool:
        """True if a copy of a packet that was not lost is sent in the recovery of another loss."""
        lost = self.index.first_loss.get(self.flow)
        return (
            self.index.kind[by] != "nack"
            and lost is not None
            and lost < self.index.packets["left_ps"][packet]
        )
