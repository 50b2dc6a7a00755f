"""Tables of a record, indexed for walking back along critical paths."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shallows.memory.check import check
from shallows.why import demand, stoppages
from shallows.why.record import DATA_LIKE
from shallows.why.window_cuts import WindowCuts

if TYPE_CHECKING:
    from shallows.why.record import Record


class Frames(NamedTuple):
    """Frames sent over a link, in order."""

    offered: list[int]
    begun: list[int]
    ended: list[int]
    flow: list[int]
    packet: list[int]
    length: list[int]

    def has(self, begun: int) -> bool:
        """True if the link began to send a frame at this time."""
        at = bisect_left(self.begun, begun)
        return at < len(self.begun) and self.begun[at] == begun


class _Queue:
    """The queue of a port. From one time to another it follows the frames that came and went in between."""

    def __init__(self, frames: Frames) -> None:
        self._frames, self._first, self._end = frames, 0, 0
        self._offered = list(accumulate(frames.offered, max))
        self._held: dict[int, int] = {}
        self._places: dict[int, list[int]] = {}
        for place, flow in enumerate(frames.flow):
            self._places.setdefault(flow, []).append(place)

    def at(self, time: int) -> dict[int, int]:
        """Bytes by flow that were at the port at `time`, in the order in which they left."""
        first, end = bisect_right(self._frames.ended, time), bisect_right(self._offered, time)
        self._add(range(self._end, end), 1)
        self._add(range(end, self._end), -1)
        self._add(range(first, self._first), 1)
        self._add(range(self._first, first), -1)
        self._first, self._end = first, end
        return {flow: self._held[flow] for flow in sorted(self._held, key=self._next)}

    def _add(self, places: range, sign: int) -> None:
        flows, lengths, held = self._frames.flow, self._frames.length, self._held
        for place in places:
            flow = flows[place]
            held[flow] = held.get(flow, 0) + sign * lengths[place]
            if not held[flow]:
                del held[flow]

    def _next(self, flow: int) -> int:
        """The place of the first frame of a flow that is at the port."""
        places = self._places[flow]
        return places[bisect_left(places, self._first)]


class Index:
    """Tables of a record, indexed for walking back. Raises `TooLargeError` before it fills the memory."""

    def __init__(self, record: "Record") -> None:
        tables = record.tables
        check(
            "the index of the record of these flows", demand.of_index(tables), "fewer flows, or shorter ones"
        )
        self.record = record
        self.packets, self.causes, self.hops = (
            _lists(tables[name]) for name in ("packets", "causes", "hops")
        )
        self.kind = [record.kinds[kind] for kind in self.packets["kind"]]
        self.hops_of = _grouped(self.hops["packet"], len(self.kind))
        self.delay = [int(delay) for delay in record.scenario.graph.delay_ps]
        self.is_nic: list[bool] = record.scenario.graph.is_nic.tolist()
        self.pacers = bool(record.scenario.pacer)
        self.payload = record.scenario.frame.payload
        self.completed: dict[int, int] = dict(
            zip(*(tables["completed"][name].tolist() for name in ("flow", "packet")), strict=True)
        )
        self.copies = self._copies()
        self.frames = _frames(tables["frames"], len(self.delay))
        self._queues: dict[int, _Queue] = {}
        self.stops = stoppages.by_link(
            stoppages.of_events(tables["links"], record.link_events, record.ended_ps)
        )
        self.traffic_class = record.traffic_classes.tolist()
        first_drop = record.outcomes.index("dropped")
        self.dropped = [outcome >= first_drop for outcome in self.hops["outcome"]]
        returned = record.outcomes.index("returned")
        self.returned = [outcome == returned for outcome in self.hops["outcome"]]
        self.flow_is_called = [cc.transport == "pulled" for cc in record.scenario.flows.ccs]
        self.answers_each = [cc.transport in ("pulled", "unordered") for cc in record.scenario.flows.ccs]
        """Whether each packet of flows of an algorithm is acknowledged by itself, and not cumulatively."""
        self.cc: list[int] = record.scenario.flows.cc.tolist()
        self.cuts = WindowCuts(self)
        self.first_loss = self._first_losses()
        self._losses: dict[int, list[tuple[int, int]]] | None = None
        self._of_flow: dict[int, list[int]] | None = None

    def _copies(self) -> dict[int, tuple[int | None, int | None]]:
        """The previous copy of each data packet, and the data packet sent before it; None if absent."""
        newest: dict[tuple[int, int], int] = {}
        previous: dict[int, int] = {}
        copies: dict[int, tuple[int | None, int | None]] = {}
        for packet, (flow, seq) in enumerate(zip(self.packets["flow"], self.packets["seq"], strict=True)):
            if self.kind[packet] == "data":
                copies[packet] = newest.get((flow, seq)), previous.get(flow)
                newest[flow, seq] = previous[flow] = packet
        return copies

    def was_dropped(self, packet: int) -> bool:
        """True if a port dropped the packet, or a link lost it."""
        return self.dropped[self.hops_of[packet][-1]]

    def arrival(self, packet: int) -> int:
        """The time when the packet arrived at its host."""
        return self.hops["arrived_ps"][self.hops_of[packet][-1]]

    def of_flow(self, flow: int) -> list[int]:
        """The packets of a flow, in the order in which they left."""
        if self._of_flow is None:
            self._of_flow = {}
            for packet, its in enumerate(self.packets["flow"]):
                self._of_flow.setdefault(its, []).append(packet)
        return self._of_flow[flow]

    def queue(self, link: int, time: int) -> dict[int, int]:
        """Bytes by flow that were at the port of a link at `time`, in the order in which they left."""
        if link not in self._queues:
            self._queues[link] = _Queue(self.frames[link])
        return self._queues[link].at(time)

    def last_data(self, flow: int) -> int:
        """The first copy of the last data packet of a flow."""
        data = [packet for packet in self.of_flow(flow) if self.kind[packet] == "data"]
        return max(data, key=self.packets["seq"].__getitem__)

    def acknowledgement(self, flow: int, time: int) -> int | None:
        """The packet that arrived at the sender of a flow at `time`; None if there is none."""
        answers = (packet for packet in self.of_flow(flow) if self.kind[packet] not in DATA_LIKE)
        arrived = (packet for packet in answers if not self.was_dropped(packet))
        return next((packet for packet in arrived if self.arrival(packet) == time), None)

    def last_loss(self, flow: int, time: int) -> int | None:
        """The port at which a packet of the flow, data or answer, was last dropped or lost before `time`."""
        if self._losses is None:
            self._losses = {}
            for packet, hops in enumerate(self.hops_of):
                if hops and self.was_dropped(packet):
                    at, port = (self.hops[name][hops[-1]] for name in ("offered_ps", "link"))
                    self._losses.setdefault(self.packets["flow"][packet], []).append((at, port))
        before = [loss for loss in self._losses.get(flow, ()) if loss[0] < time]
        return max(before)[1] if before else None

    def _first_losses(self) -> dict[int, int]:
        """For each flow: the time when its first data packet was dropped or lost."""
        first: dict[int, int] = {}
        for packet, hops in enumerate(self.hops_of):
            if self.kind[packet] == "data" and self.was_dropped(packet):
                flow, time = self.packets["flow"][packet], self.hops["offered_ps"][hops[-1]]
                first[flow] = min(time, first.get(flow, time))
        return first


def _lists(columns: Mapping[str, NDArray[np.generic]]) -> dict[str, list[int]]:
    return {name: column.tolist() for name, column in columns.items()}


def _grouped(keys: Sequence[int], count: int) -> list[list[int]]:
    """The indices of each key from 0 to `count`, in order."""
    groups: list[list[int]] = [[] for _ in range(count)]
    for place, key in enumerate(keys):
        groups[key].append(place)
    return groups


def _frames(table: Mapping[str, NDArray[np.generic]], links: int) -> list[Frames]:
    """The `Frames` of each link; none of a link that sent nothing while it was watched."""
    found = [Frames([], [], [], [], [], [])] * links
    order = np.lexsort((table["begun_ps"], table["link"]))
    names = ("offered_ps", "begun_ps", "ended_ps", "flow", "packet", "length")
    columns = [table[name][order].tolist() for name in names]
    sent, firsts = np.unique(table["link"][order], return_index=True)
    ends = [*firsts.tolist(), len(order)][1:]
    for link, first, end in zip(sent.tolist(), firsts.tolist(), ends, strict=True):
        found[link] = Frames(*(column[first:end] for column in columns))
    return found
