"""A run repeated with taps on some ports: frames, pauses, samples of senders."""

from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from shallows.core.contract import F64, U64, Answer, Flags
from shallows.errors import ScenarioError
from shallows.scenario import addends, faults, needs
from shallows.units import NEVER, TIME
from shallows.why import rerun, selection, stoppages
from shallows.why.snapshot import within
from shallows.why.stoppages import Stoppage

if TYPE_CHECKING:
    from shallows.core.progress import OnProgress
    from shallows.results.run import RunData
    from shallows.scenario import Scenario

MOST_FRAMES = 1_000_000
"""The most frames in a file: viewers open no more."""
MOST_SAMPLES = 2_000_000
"""The most samples of senders."""
FRAME_BYTES, SAMPLE_BYTES = 600, 600
"""Memory of a frame, and of a sender's samples at a time, while they are written."""
MIN_FRAME = 64
"""Bytes of the shortest frame on the wire."""
SAMPLES = 1000
"""Samples of each sender if no interval is given."""


class Taps:
    """Frames that taps on `links` saw from `from_ps` to `until_ps`, with samples of the senders of `flows`.

    `frames` are numpy columns by time of the first bit (docs/timelines.md), `events` what else happened to
    the links, `probes` the samples.
    """

    def __init__(
        self,
        scenario: "Scenario",
        span: tuple[int, int],
        links: list[int],
        flows: list[int] | None,
        answer: Answer,
        seen: dict[str, Any],
    ) -> None:
        self.scenario, self.links, self.flows = scenario, links, flows
        self.from_ps, self.until_ps = span
        self.ended_ps = answer["ended_ps"]
        self.start_ps = addends.from_core(scenario, answer["flows"]["start_ps"])
        self.finish_ps = answer["flows"]["finish_ps"]
        self.probes, self.probe_names = answer["probes"], answer["probe_names"]
        self.kinds, self.outcomes = list(seen["kinds"]), list(seen["outcomes"])
        self.bits, self.link_events = list(seen["bits"]), list(seen["link_events"])
        self.events = seen["links"]
        columns = seen["frames"]
        order = np.lexsort((columns["offered_ps"], columns["begun_ps"]))
        self.frames = {name: column[order] for name, column in columns.items()}
        self.names = scenario.graph.port_names

    def __repr__(self) -> str:
        span = f"{TIME.text(self.from_ps)} to {TIME.text(self.until_ps)}"
        return f"<Taps on {len(self.links)} ports, {span}: {len(self.frames['link'])} frames>"

    @cached_property
    def sent(self) -> NDArray[np.intp]:
        """Indices of the frames whose first bit left in the span, in that order."""
        begun = self.frames["begun_ps"]
        return np.flatnonzero((begun >= self.from_ps) & (begun <= min(self.until_ps, self.ended_ps)))

    @cached_property
    def tapped(self) -> Flags:
        """True for each frame at one of `links`."""
        return np.isin(self.frames["link"], self.links)

    def of_kind(self, kind: str) -> Flags:
        """True for each frame of this kind."""
        return self.frames["kind"] == self.kinds.index(kind)

    def outcome(self, *names: str) -> Flags:
        """True for each frame whose outcome is one of `names`."""
        return np.isin(self.frames["outcome"], [self.outcomes.index(name) for name in names])

    def bit(self, name: str) -> Flags:
        """True for each frame with the bit `name`, one of `bits`."""
        return (self.frames["bits"] >> self.bits.index(name)) & 1 == 1

    @cached_property
    def again(self) -> Flags:
        """True for each data frame that its sender had sent before, seen at the sender's own port."""
        frames = self.frames
        rows = np.flatnonzero(self.of_kind("data") & self.scenario.graph.is_nic[frames["link"]])
        key = (frames["flow"][rows].astype(np.uint64) << np.uint64(32)) | frames["number"][rows]
        order = np.lexsort((frames["offered_ps"][rows], key))
        repeated = np.zeros(len(frames["link"]), bool)
        repeated[rows[order[1:]]] = key[order[1:]] == key[order[:-1]]
        return repeated

    @cached_property
    def stops(self) -> list[Stoppage]:
        """The `Stoppage`s of the ports: pauses and times of a broken link."""
        return stoppages.of_events(self.events, self.link_events, self.ended_ps)

    def queue(self, link: int) -> tuple[U64, F64]:
        """(times in ps, bytes) of the queue at a port after each change.

        Between two times the queue falls linearly, as the frame at its head leaves.
        """
        rows = (self.frames["link"] == link) & ~self.outcome("returned", "dropped", "no_memory")
        offered, begun, ended = (self.frames[name][rows] for name in ("offered_ps", "begun_ps", "ended_ps"))
        stillborn = self.outcome("lost")[rows] & (begun == NEVER)
        begun[stillborn], ended[stillborn] = offered[stillborn], offered[stillborn]
        length = self.frames["length"][rows].astype(np.int64)
        times: U64 = np.unique(np.concatenate([offered, ended[ended < NEVER]]))
        times = times[(times >= self.from_ps) & (times <= min(self.until_ps, self.ended_ps))]
        waiting = _sum_up_to(times, offered, length) - _sum_up_to(times, begun, length)
        order = np.argsort(begun, kind="stable")
        head = np.searchsorted(begun[order], times, side="right") - 1
        last = order[np.maximum(head, 0)] if len(order) else np.zeros(len(times), int)
        leaving = (head >= 0) & (ended[last] > times)
        left: F64 = np.where(leaving, ended[last] - np.minimum(times, ended[last]), 0) / np.maximum(
            ended[last] - begun[last], 1
        )
        return times, waiting + left * length[last] * leaving

    def perfetto(self, file: str | PathLike[str]) -> Path:
        """Write a trace for Perfetto's viewer, with flows and ports as tracks; return its path."""
        from shallows.export import perfetto

        return perfetto.write(self, Path(file))

    def pcap(self, file: str | PathLike[str]) -> Path:
        """Write a capture (pcapng) for Wireshark, an interface for each port; return its path."""
        from shallows.export import pcap

        return pcap.write(self, Path(file))

    def csv(self, folder: str | PathLike[str]) -> Path:
        """Write `frames.csv`, `events.csv`, `flows.csv` and `probes.csv` into `folder`; return its path."""
        from shallows.export import tables

        return tables.write(self, Path(folder))


def _sum_up_to(
    times: NDArray[np.generic], at: NDArray[np.generic], amounts: NDArray[np.generic]
) -> NDArray[Any]:
    """For each time, the sum of the `amounts` up to it."""
    order = np.argsort(at, kind="stable")
    sums = np.concatenate([[0], np.cumsum(amounts[order])])
    return sums[np.searchsorted(at[order], times, side="right")]


class TapOptions(TypedDict, total=False):
    """The options of `of_run`."""

    flows: Sequence[int] | None
    since: str | None
    until: str | None
    every: str | None
    nics: bool
    on_progress: "OnProgress | None"


def of_run(
    run: "RunData",
    ports: Sequence[str] | None = None,
    *,
    flows: Sequence[int] | None = None,
    since: str | None = None,
    until: str | None = None,
    every: str | None = None,
    nics: bool = True,
    on_progress: "OnProgress | None" = None,
) -> "Taps":
    """The `Taps` of a second run of `run`, on the ports with these names or patterns, or on all ports.

    `flows` are the flows whose senders are sampled `every` interval (a thousandth of the span), by default
    the probed flows of the scenario. `since` and `until` are times such as "3ms". Without `nics` the ports of
    senders are not tapped in addition, and retransmissions are unknown. Raises `ScenarioError` for names that
    the run does not have, for too many frames or samples, and where the second run was not the same.
    """
    from shallows import _core

    scenario = rerun.scenario_of(run)
    links, numbers = selection.ports(scenario, ports), selection.flows(scenario, flows)
    ended_ps = round(run.summary["duration_s"] * 1e12)
    span = _span(since, until, ended_ps)
    probed = scenario.probed_flows if numbers is None else np.asarray(numbers, np.uint32)
    request = rerun.request(scenario, _interval(every, span, ended_ps, len(probed)))
    request["record"]["probe_flows"] = probed
    drawn = np.arange(len(scenario.graph.port_names)) if links is None else np.asarray(links)
    tapped = np.union1d(drawn, np.flatnonzero(scenario.graph.is_nic)) if nics else drawn
    tap = {"links": tapped.astype(np.uint32), "from_ps": span[0], "until_ps": span[1], "most": MOST_FRAMES}
    need = FRAME_BYTES * _frames(run, scenario, tapped, span)
    need += SAMPLE_BYTES * (span[1] - span[0]) / request["record"]["probe_interval_ps"] * len(probed)
    needs.check_run(
        scenario, "the export", need, "fewer ports (--port), or a shorter span (--since, --until)"
    )
    answer, seen = _core.tap(request, tap, on_progress)
    if answer["interrupted"]:
        raise KeyboardInterrupt
    rerun.check(run, answer["fingerprint"])
    if seen["full"]:
        expected = f"at most {MOST_FRAMES} frames: fewer ports (--port), or a shorter span (--since, --until)"
        raise ScenarioError("export", "all frames" if ports is None else ", ".join(ports), expected)
    return Taps(scenario, span, drawn.tolist(), numbers, answer, seen)


def _frames(run: "RunData", scenario: "Scenario", links: NDArray[Any], span: tuple[int, int]) -> float:
    """Frames of the taps, at most: those of the run, or what the ports can send in the span."""
    if scenario.warmup:  # its frames are not counted
        return MOST_FRAMES
    sent = np.asarray(run.columns("ports")["sent"], float)
    if len(sent) != len(scenario.graph.rate_bps):
        expected = f"a row for each of the {len(scenario.graph.rate_bps)} ports of the scenario"
        raise ScenarioError("ports", f"{len(sent)} rows", expected, file=run.folder)
    sent = sent[links]
    fastest_bps, _ = faults.extremes(scenario, scenario.graph)
    able = fastest_bps.astype(float)[links] * (span[1] - span[0]) / (8e12 * MIN_FRAME)
    return min(float(np.minimum(sent, able).sum()), MOST_FRAMES)


def _span(since: str | None, until: str | None, ended_ps: int) -> tuple[int, int]:
    """Both times in picoseconds; the whole run by default."""
    begin = 0 if since is None else within(since, ended_ps, "since")
    end = ended_ps if until is None else within(until, ended_ps, "until")
    if begin >= end:
        raise ScenarioError("since", since, f"less than until, {TIME.text(end)}")
    return begin, end


def _interval(every: str | None, span: tuple[int, int], ended_ps: int, flows: int) -> int:
    """Picoseconds between two samples of this many senders."""
    least = max(-(-ended_ps * flows // MOST_SAMPLES), 1)
    if every is None:
        return max((span[1] - span[0]) // SAMPLES, least)
    interval = within(every, ended_ps, "every")
    if interval < least:
        expected = f"at least {TIME.text(least)}, for {MOST_SAMPLES} samples, or fewer flows (--flow)"
        raise ScenarioError("every", every, expected)
    return interval
