"""Effects of each fault: goodput before, during and after, recovery time, inflation, stranded flows."""

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shallows.algorithms.defaults import Scale
from shallows.core.contract import F64
from shallows.results.summary import Counted, known
from shallows.results.tables import Names
from shallows.scenario import faults
from shallows.units import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shallows.core.contract import Answer, Flags
    from shallows.results.tables import Block
    from shallows.scenario import Scenario
    from shallows.scenario.faults import Fault
    from shallows.scenario.faults.goodput import Record
    from shallows.topology import Network

ROUND_TRIPS = 10
"""Longest empty round trips over which goodput is averaged."""
RECOVERED = 0.9
"""The share of the goodput before a fault from which on flows have recovered."""
NAMED = 20
"""Stranded flows that a summary names."""
GROUPS = ("affected", "others")
DEAD_PATH = re.compile(
    r"cannot make progress: .*, on the path of flow \d+, (is down|loses all packets|lost \d+ packets?)$"
)
"""A sentence about flows whose packets a link or port loses: all packets are accounted for."""
STARVED = re.compile(r"cannot make progress: timers repeat, .* of flow (\d+)$")
"""The simulator's sentence about flows whose timers repeat, without a link that is broken."""


@dataclass(frozen=True)
class Series:
    """Payload over time: `time_ps` and `total_bytes` from time zero to the end of the run."""

    time_ps: F64
    total_bytes: F64

    @classmethod
    def of(cls, time_ps: "NDArray[np.generic]", total_bytes: "NDArray[np.generic]") -> "Series":
        """The series of samples, of which the last may be two at the same time."""
        time = np.append(0.0, time_ps.astype(float))
        new = np.append(True, np.diff(time) > 0)
        return cls(time[new], np.append(0.0, total_bytes.astype(float))[new])

    def gbps(self, begin_ps: "float | F64", end_ps: "float | F64") -> "F64":
        """The mean in Gbit/s between times, interpolated between samples."""
        at = [np.interp(time, self.time_ps, self.total_bytes) for time in (begin_ps, end_ps)]
        return np.asarray((at[1] - at[0]) * 8e3 / (np.asarray(end_ps, float) - begin_ps))


def of_run(
    scenario: "Scenario",
    network: "Network",
    record: "Record",
    answer: "Answer",
    columns: "Mapping[str, Any]",
    counted: Counted,
) -> list[dict[str, object]]:
    """`summary["faults"]`: a row for each table of `[[faults]]` that breaks something within the run.

    `record` are the flows of each fault; `columns` are those of the table of flows, of which those in
    statistics are `counted`. Of many tables, the first 32 have rows.
    """
    goodput = answer.get("goodput")
    if goodput is None:
        return []
    ended = int(answer["ended_ps"])
    spans = _spans(scenario, network, ended)
    longest = int(np.diff(goodput["time_ps"].astype(np.int64), prepend=0).max(initial=0))
    window = max(ROUND_TRIPS * Scale.of(network, scenario.mtu).rtt_ps, 2 * longest)
    rows: list[dict[str, object]] = []
    for number, (begin, end) in spans.items():
        if 1 + number >= len(record["flows"]):
            break
        fault, uses = scenario.faults[number], np.zeros(len(columns["flow"]), bool)
        uses[record["flows"][1 + number]] = True
        series = Series.of(goodput["time_ps"], goodput["bytes"][1 + number])
        span = _Fault(fault, begin, end, _last_finish(uses, answer, ended), window)
        times = span.recovery(series, _before(scenario, begin, spans))
        over = end if end is not None else ended
        if times["recovery_us"] is not None:
            over = max(end or 0, begin + times["recovery_us"] * 1e6)
        inflation = _inflation(columns, counted, uses, begin / 1e6, over / 1e6)
        rows.append(
            {"fault": number, "name": fault.name, "kind": fault.kind}
            | {"at_us": begin / 1e6, "until_us": None if end is None else end / 1e6}
            | {"links": len(fault.links(network)), "affected": int(uses.sum())}
            | times
            | inflation
            | {"more_than": times["more_than"] | inflation["more_than"]}
            | _stranded(scenario, network, answer, uses, (begin, end))
        )
    return rows


_MEASURED = ("before_gbps", "lowest_gbps", "during_gbps", "after_gbps", "recovery_us")
"""Keys of a row that follow from goodput over time, besides `more_than`."""


@dataclass(frozen=True)
class _Fault:
    """Times of a fault, in picoseconds; `last` is the end of the run, or of the flows that use its links."""

    fault: "Fault"
    begin: int
    end: int | None
    last: int
    window: int

    def recovery(self, series: Series, before_from: int | None) -> dict[str, Any]:
        """Goodput before, at its lowest, during and after the fault, and the recovery time.

        If flows have not recovered, that is more than the time until goodput was last averaged.
        """
        if before_from is None or self.last <= self.begin:
            return {**dict.fromkeys(_MEASURED), "more_than": {}}
        before = float(series.gbps(before_from, self.begin))
        starts = np.append(self.begin, series.time_ps[series.time_ps > self.begin])
        starts = starts[starts + self.window <= self.last]
        means = series.gbps(starts, starts + self.window) if len(starts) else np.empty(0)
        recovery = self._recovery(starts, means >= RECOVERED * before) if before > 0 and len(starts) else None
        over = self.end if recovery is None else max(self.end or 0, self.begin + recovery)
        over = self.last if over is None else min(over, self.last)
        failed = recovery is None and before > 0 and len(starts) > 0
        return {
            "before_gbps": before,
            "lowest_gbps": float(means.min()) if len(means) else None,
            "during_gbps": float(series.gbps(self.begin, over)) if over > self.begin else None,
            "after_gbps": float(series.gbps(over, self.last)) if over < self.last else None,
            "recovery_us": None if recovery is None else recovery / 1e6,
            "more_than": {"recovery_us": float(starts[-1] - self.begin) / 1e6} if failed else {},
        }

    def _recovery(self, starts: F64, fine: "Flags") -> int | None:
        """Picoseconds from the begin of the fault until goodput is back; 0 if it never fell."""
        fell = np.flatnonzero(~fine)
        if not len(fell):
            return 0
        # Links that flap fail again and again.
        least = self.end or 0 if self.fault.kind == "flap" else 0
        back = np.flatnonzero(fine & (starts > starts[fell[0]]) & (starts >= least))
        return int(starts[back[0]]) - self.begin if len(back) else None


def _spans(scenario: "Scenario", network: "Network", ended: int) -> dict[int, tuple[int, int | None]]:
    """(begin, end) of each fault that begins within the run; the end is None if the fault lasts.

    A fault without `until` ends when other tables have repaired all of its links.
    """
    aspects = [faults.ASPECTS[fault.kind] for fault in scenario.faults]
    of_fault: defaultdict[int, list[faults.Change]] = defaultdict(list)
    repaired: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    for one in faults.changes(scenario, network):
        of_fault[one.fault].append(one)
        if one.works:
            repaired[one.link, aspects[one.fault]].append(one.at)
    spans: dict[int, tuple[int, int | None]] = {}
    for number, fault in enumerate(scenario.faults):
        rows = of_fault[number]
        if all(one.works for one in rows) or fault.at >= ended:
            continue
        last = max(one.at for one in rows)
        ends = [
            next((at for at in repaired[link, aspects[number]] if at >= last), NEVER)
            for link in dict.fromkeys(one.link for one in rows)
        ]
        spans[number] = fault.at, max(ends) if max(ends) < ended else None
    return spans


def _before(scenario: "Scenario", begin: int, spans: dict[int, tuple[int, int | None]]) -> int | None:
    """From when on goodput before a fault is measured; None for a fault that begins with the run.

    That is the end of the warm-up, or half of the time before the fault, and not before another fault began
    or ended.
    """
    first = scenario.warmup if 0 < scenario.warmup < begin else begin // 2
    others = [at for span in spans.values() for at in span if at is not None and at < begin]
    at = max([first, *others])
    return at if at < begin else None


def _last_finish(uses: "Flags", answer: "Answer", ended: int) -> int:
    """When the last of these flows finished; the end of the run if one has not."""
    finish = answer["flows"]["finish_ps"][uses]
    return int(finish.max()) if len(finish) and (finish != NEVER).all() else ended


def _inflation(
    columns: "Mapping[str, Any]", counted: Counted, uses: "Flags", begin_us: float, over_us: float
) -> dict[str, Any]:
    """Quantiles of the slowdown of flows that the fault affected, divided by those of all others.

    Where those of the affected flows are unknown, because some are unfinished, `more_than` has a lower bound.
    """
    start, finish = columns["start_us"], columns["start_us"] + columns["fct_us"]
    hit = uses & (start < over_us) & ~(finish <= begin_us)
    found: dict[str, tuple[float | None, float | None]] = {}
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        quantile = partial(np.quantile, q=share)
        value, bound = counted.among(hit).statistic("slowdown", quantile)
        others, _ = counted.among(~hit).statistic("slowdown", quantile)
        found[f"inflation_{name}"] = (
            value and others and value / others,
            bound and others and bound / others,
        )
    return known(found)


def _stranded(
    scenario: "Scenario", network: "Network", answer: "Answer", uses: "Flags", span: tuple[int, int | None]
) -> dict[str, object]:
    """Unfinished flows that received nothing in the second half of the time since the fault.

    All unfinished ones where the run ended because they cannot make progress: nothing more would arrive.
    """
    goodput, columns, flows = answer["goodput"], answer["flows"], scenario.flows
    assert goodput is not None, "it was recorded"
    (begin, end), ended = span, int(answer["ended_ps"])
    middle = begin + (ended - begin) // 2
    unfinished = (
        uses & (columns["finish_ps"] == NEVER) & (flows.stop_ps >= ended) & (columns["start_ps"] <= ended)
    )
    silent = (columns["start_ps"] < middle) & (goodput["last_ps"] <= middle)
    stalled = any(DEAD_PATH.search(problem) for problem in answer["books"]["problems"])
    stranded = np.flatnonzero(unfinished & (stalled | silent)).tolist()
    hosts = network.host_names
    because = "the fault lasts" if end is None else "they wait for their retransmission timers"
    return {
        "stranded": len(stranded),
        "stranded_flows": [
            f"{flow} ({hosts[flows.src[flow]]}->{hosts[flows.dst[flow]]})" for flow in stranded[:NAMED]
        ],
        "stranded_because": because if stranded else None,
    }


def blocks(answer: "Answer") -> "Iterator[Block]":
    """Blocks of the table of goodput: for each fault and sample, that of its flows and of all others."""
    goodput = answer.get("goodput")
    if goodput is None or not len(goodput["time_ps"]):
        return
    everything = Series.of(goodput["time_ps"], goodput["bytes"][0])
    lasts = np.diff(everything.time_ps)
    for fault, counts in enumerate(goodput["bytes"][1:]):
        affected = Series.of(goodput["time_ps"], counts).total_bytes
        for code, total in enumerate((affected, everything.total_bytes - affected)):
            yield {
                "fault": np.full(len(lasts), fault, np.uint32),
                "flows": Names(np.full(len(lasts), code), list(GROUPS)),
                "time_us": everything.time_ps[1:] / 1e6,
                "goodput_gbps": np.diff(total) * 8e3 / lasts,
            }
