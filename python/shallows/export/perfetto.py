"""A trace for Perfetto's viewer (ui.perfetto.dev): flows and ports as tracks (docs/timelines.md)."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackEvent
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

from shallows.results import files
from shallows.units import NEVER
from shallows.why.record import NONE

if TYPE_CHECKING:
    from shallows.export.taps import Taps

SEQUENCE = 1
"""The trace has one sequence of packets."""
UNITS = {"pkt": "packets", "gbps": "Gbit/s", "mbps": "Mbit/s", "us": "us"}
"""Units of probes, by the suffix of their names."""
STOPPED = {"paused": "paused", "down": "link down"}
"""Names of the spans in which a port did not send."""
INSTANTS = {
    "marked": "mark",
    "trimmed": "trim",
    "returned": "return",
    "dropped": "drop",
    "no_memory": "drop",
    "lost": "lost",
}
"""Names of the outcomes of a frame at a port."""


def write(taps: "Taps", file: Path) -> Path:
    """Write the trace of `taps` into `file`; return its path."""
    with files.writing(file, files.TRACE) as filling, filling.open("wb") as stream:
        trace = _Trace(stream)
        _ports(trace, taps)
        _flows(trace, taps)
    return file


class _Trace:
    """Tracks and events of a file. Times are in picoseconds here and in nanoseconds in the file."""

    def __init__(self, stream: BinaryIO) -> None:
        self.builder, self.numbers = StreamingTraceProtoBuilder(stream), count(1)

    def track(self, name: str, parent: int | None = None, unit: str | None = None) -> int:
        """The number of a new track; with a unit it is a counter."""
        packet, number = self.builder.create_packet(), next(self.numbers)
        packet.trusted_packet_sequence_id = SEQUENCE
        packet.track_descriptor.uuid = number
        packet.track_descriptor.name = name
        if parent:
            packet.track_descriptor.parent_uuid = parent
        if unit:
            packet.track_descriptor.counter.unit_name = unit
        self.builder.write_packet(packet)
        return number

    def _event(self, track: int, time_ps: int, kind: int) -> Any:
        packet = self.builder.create_packet()
        packet.trusted_packet_sequence_id = SEQUENCE
        packet.timestamp = int(time_ps) // 1000
        packet.track_event.type, packet.track_event.track_uuid = kind, track
        return packet

    def counter(self, track: int, times_ps: NDArray[Any], values: NDArray[Any]) -> None:
        for time_ps, value in zip(times_ps.tolist(), values.tolist(), strict=True):
            packet = self._event(track, time_ps, TrackEvent.TYPE_COUNTER)
            packet.track_event.double_counter_value = value
            self.builder.write_packet(packet)

    def slice(self, track: int, name: str, since_ps: int, until_ps: int) -> None:
        packet = self._event(track, since_ps, TrackEvent.TYPE_SLICE_BEGIN)
        packet.track_event.name = name
        self.builder.write_packet(packet)
        self.builder.write_packet(self._event(track, until_ps, TrackEvent.TYPE_SLICE_END))

    def instant(self, track: int, name: str, time_ps: int, **notes: int) -> None:
        packet = self._event(track, time_ps, TrackEvent.TYPE_INSTANT)
        packet.track_event.name = name
        for key, value in notes.items():
            note = packet.track_event.debug_annotations.add()
            note.name, note.int_value = key, int(value)
        self.builder.write_packet(packet)


def _ports(trace: _Trace, taps: "Taps") -> None:
    """For each port: its queue, marks, drops and losses, and when it was stopped."""
    group = trace.track("ports")
    tracks: dict[int, int] = {}
    for link in taps.links:
        times, queue = taps.queue(link)
        if len(times):
            tracks[link] = trace.track(taps.names[link], group)
            trace.counter(trace.track(f"queue {taps.names[link]}", tracks[link], "B"), times, queue)
    for stop in taps.stops:
        since, until = max(stop.since_ps, taps.from_ps), min(stop.until_ps, taps.until_ps)
        if stop.link in tracks and since < until:
            trace.slice(tracks[stop.link], STOPPED[stop.what], since, until)
    for outcome, name in INSTANTS.items():
        _instants(trace, taps, np.flatnonzero(taps.outcome(outcome) & taps.tapped), name, tracks)


def _instants(
    trace: _Trace, taps: "Taps", places: NDArray[np.intp], name: str, tracks: dict[int, int]
) -> None:
    frames = taps.frames
    for place in places:
        track = tracks.get(int(frames["link"][place]))
        if track is not None and taps.from_ps <= frames["offered_ps"][place] <= taps.until_ps:
            flow = frames["flow"][place]
            notes = {} if flow == NONE else {"flow": flow, "number": frames["number"][place]}
            trace.instant(track, name, frames["offered_ps"][place], **notes)


def _flows(trace: _Trace, taps: "Taps") -> None:
    """For each flow: its lifetime in the span, its retransmissions, and samples of its sender."""
    scenario, frames = taps.scenario, taps.frames
    group, hosts, flows = trace.track("flows"), scenario.graph.host_names, scenario.flows
    lives = (taps.start_ps <= taps.until_ps) & ((taps.finish_ps >= taps.from_ps) | (taps.finish_ps == NEVER))
    chosen = np.flatnonzero(lives & np.isin(np.arange(len(lives)), _chosen(taps)))
    tracks: dict[int, int] = {}
    for flow in chosen.tolist():
        size = f"{int(flows.bytes[flow])} B" if flows.bytes[flow] else "no end"
        ends = f"{hosts[flows.src[flow]]} to {hosts[flows.dst[flow]]}"
        tracks[flow] = trace.track(f"flow {flow}: {ends}, {size}", group)
        since = max(int(taps.start_ps[flow]), taps.from_ps)
        until = min(int(taps.finish_ps[flow]), taps.until_ps, taps.ended_ps)
        trace.slice(tracks[flow], f"flow {flow}", since, until)
    for place in np.flatnonzero(taps.again):
        flow, time_ps = int(frames["flow"][place]), frames["offered_ps"][place]
        if flow in tracks and taps.from_ps <= time_ps <= taps.until_ps:
            trace.instant(tracks[flow], "sent again", time_ps, number=frames["number"][place])
    _samples(trace, taps, tracks)


def _chosen(taps: "Taps") -> Sequence[int] | NDArray[Any]:
    """Flows to draw: the named ones, or all with a frame at a tapped port."""
    return taps.flows if taps.flows is not None else np.unique(taps.frames["flow"][taps.tapped])


def _samples(trace: _Trace, taps: "Taps", tracks: dict[int, int]) -> None:
    probes, names = taps.probes, taps.probe_names
    inside = (probes["time_ps"] >= taps.from_ps) & (probes["time_ps"] <= taps.until_ps)
    for flow, track in tracks.items():
        rows = inside & (probes["flow"] == flow)
        for number, name in enumerate(names):
            named = rows & (probes["name"] == number)
            if named.any():
                counter = trace.track(
                    f"{name} of flow {flow}", track, UNITS.get(name.rpartition("_")[2], "1")
                )
                trace.counter(counter, probes["time_ps"][named], probes["value"][named])
