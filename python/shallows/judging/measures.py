"""Numbers of a run by name, of which families make their checks.

Each function takes a run and the arguments of a family's file. A number that a run does not have is NaN;
that of unfinished flows is its lower bound. Goodput is in Gbit/s, queues in full frames, times in
microseconds.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shallows.errors import ScenarioError
from shallows.results.recovery import Series
from shallows.results.summary import bounds
from shallows.results.tables import Names
from shallows.units import TIME, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.core.contract import F64
    from shallows.results.run import RunData


def of_run(run: "RunData", measure: str, arguments: Mapping[str, Any]) -> float:
    """A number of `run`."""
    found = MEASURES[measure](run, **arguments)
    return math.nan if found is None else float(found)


def check(at: str, measure: str, arguments: Mapping[str, Any]) -> None:
    """Raise `ScenarioError` unless there is such a measure with these arguments."""
    if measure not in MEASURES:
        expected = f"one of {', '.join(MEASURES)}{did_you_mean(measure, MEASURES)}"
        raise ScenarioError(f"{at}.of", measure, expected)
    try:
        inspect.signature(MEASURES[measure]).bind(None, **arguments)
    except TypeError as error:
        expected = [*inspect.signature(MEASURES[measure]).parameters][1:]
        raise ScenarioError(at, str(error), f"the arguments {', '.join(expected)} of {measure}") from None


def port(run: "RunData", port: str, column: str) -> float:
    """A column of a row of the table of ports."""
    table = run.columns("ports")
    return float(np.asarray(table[column], float)[_row(run, port)])


def drop_share(run: "RunData", port: str) -> float:
    """The share of the packets that came to a port, after the warm-up, that it dropped."""
    table, row = run.columns("ports"), _row(run, port)
    dropped, sent = (float(np.asarray(table[name], float)[row]) for name in ("dropped", "sent"))
    return dropped / (dropped + sent) if dropped + sent else 0.0


def threshold(run: "RunData") -> float | None:
    """Full frames of the largest queue that ports do not mark; None without such a threshold."""
    marking = run.scenario.network.marking
    if isinstance(marking, str) or not marking.thresholds:
        return None
    return marking.largest_threshold(run.scenario.graph.rate_bps) / run.scenario.mtu


def queue_below(run: "RunData", port: str, percentile: float) -> float:
    """Full frames that a recorded queue did not exceed for this share of the time after the warm-up.

    The upper end of a bin of its histogram.
    """
    table = run.columns("queue_histograms")
    inside = _ports(table["port"]) == port
    time, below = (np.asarray(table[name], float)[inside] for name in ("time_us", "below_pkt"))
    if not time.sum():
        return math.nan
    return float(below[np.searchsorted(np.cumsum(time), percentile * time.sum())])


def of_class(run: "RunData", port: str, queue: str, column: str) -> float | None:
    """A column of the table of classes, of a queue of a port; None for a port without such a queue."""
    table = run.columns("classes")
    found = np.flatnonzero((_ports(table["port"]) == port) & (_ports(table["class"]) == queue))
    return float(np.asarray(table[column], float)[found[0]]) if len(found) else None


def goodput(run: "RunData", traffic: int) -> float:
    """Mean goodput of the flows of a table."""
    return float(np.nan_to_num(_of_table(run, traffic, "goodput_gbps")).mean())


def jain(run: "RunData", traffic: int) -> float:
    """Jain's index of the goodputs of the flows of a table."""
    rates = np.nan_to_num(_of_table(run, traffic, "goodput_gbps"))
    squares = float((rates**2).sum())
    return float(rates.sum()) ** 2 / (len(rates) * squares) if squares else 0.0


def summary(run: "RunData", key: str, part: str = "flows") -> float | None:
    """A number of the summary's `flows`, `network` or `bottleneck`, or its lower bound."""
    numbers = cast("dict[str, Any]", run.summary[part])
    value: float | None = numbers[key]
    return bounds(numbers).get(key) if value is None else value


def timeouts_per_flow(run: "RunData") -> float:
    """Timeouts, per flow that was offered."""
    flows = run.summary["flows"]
    return flows["timeouts"] / flows["offered"]


def slowdown(
    run: "RunData", percentile: float | None = None, least: int = 0, below: float = math.inf
) -> float:
    """The mean of the slowdowns of flows of `least` bytes or more and less than `below`, or a percentile.

    Infinite if so many have not finished.
    """
    table = run.columns("flows")
    size, value = (np.asarray(table[name], float) for name in ("bytes", "slowdown"))
    of_size = value[(size >= least) & (size < below)]
    return _over(np.where(np.isfinite(of_size), of_size, np.inf), percentile)


def exchange(run: "RunData", traffic: int, percentile: float | None = None) -> float:
    """The mean of the times of the exchanges of a table, or a percentile; of those that finished."""
    times = _of_table(run, traffic, "exchange_us")
    return _over(times[np.isfinite(times)], percentile)


def queue(run: "RunData", port: str, since: str, until: str) -> float:
    """The mean of the recorded samples of a queue between two times."""
    table = run.columns("queues")
    time, length = (np.asarray(table[name], float) for name in ("time_us", "queue_pkt"))
    inside = (_ports(table["port"]) == port) & (time >= _us(since)) & (time < _us(until))
    return float(length[inside].mean()) if inside.any() else math.nan


def lost(run: "RunData") -> float:
    """Packets that faults lost after the warm-up."""
    return run.summary["network"]["lost"]


def share(run: "RunData", fault: int, port: str, since: str, until: str) -> float:
    """Goodput of the flows of a fault between two times, as a share of what a port's link carries."""
    rate = float(_series(run, fault).gbps(_us(since) * 1e6, _us(until) * 1e6))
    return rate / _payload_gbps(run, port)


def least_share(run: "RunData", fault: int, flows: int, port: str, window: str, since: str) -> float:
    """The least goodput of a fault's flows over windows, as a share of one of `flows` equal parts."""
    series, step = _series(run, fault), _us(window) * 1e6
    begins = np.arange(_us(since) * 1e6, float(series.time_ps[-1]) - step + 1, step)
    if not len(begins):
        return math.nan
    return float(series.gbps(begins, begins + step).min()) / _payload_gbps(run, port) * flows


def time_to(run: "RunData", fault: int, port: str, share: float, since: str, rate: float = 1.0) -> float:
    """Microseconds from a time until the goodput of a fault's flows reaches a share of `rate` of the port.

    Goodput is that of a four-hundredth of the run, and the time that of its end. Infinite if it never does.
    """
    series = _series(run, fault)
    end, start = float(series.time_ps[-1]), _us(since) * 1e6
    step = end / 400
    ends = np.arange(start + step, end + 1, step / 2)
    reached = series.gbps(ends - step, ends) >= share * rate * _payload_gbps(run, port)
    return float(ends[reached][0] - start) / 1e6 if reached.any() else math.inf


MEASURES: dict[str, Callable[..., float | None]] = {
    one.__name__: one
    for one in (
        port,
        drop_share,
        threshold,
        queue_below,
        of_class,
        goodput,
        jain,
        summary,
        timeouts_per_flow,
        slowdown,
        exchange,
        queue,
        lost,
        share,
        least_share,
        time_to,
    )
}
"""Every measure by its name in a family's file."""


def _row(run: "RunData", port: str) -> int:
    found = np.flatnonzero(_ports(run.columns("ports")["port"]) == port)
    if not len(found):
        raise ScenarioError("port", port, "a port of the scenario of this family")
    return int(found[0])


def _ports(column: "NDArray[Any] | Names") -> "NDArray[Any]":
    return column.texts() if isinstance(column, Names) else column


def _of_table(run: "RunData", traffic: int, column: str) -> "F64":
    table = run.columns("flows")
    return np.asarray(table[column], float)[np.asarray(table["traffic"]) == traffic]


def _over(values: "F64", percentile: float | None) -> float:
    if not len(values):
        return math.nan
    return float(values.mean() if percentile is None else np.quantile(values, percentile, method="higher"))


def _us(time: str) -> float:
    return TIME.parse(time) / 1e6


def _series(run: "RunData", fault: int) -> Series:
    """Payload of the flows that a fault affects, over time."""
    assert run.answer is not None  # a new run
    record = run.answer.answer.get("goodput")
    if record is None or fault + 1 >= len(record["bytes"]):
        raise ScenarioError("fault", fault, "a fault of the scenario of this family")
    return Series.of(record["time_ps"], record["bytes"][fault + 1])


def _payload_gbps(run: "RunData", port: str) -> float:
    """The payload that a port's link carries in full frames."""
    rate = float(run.scenario.graph.rate_bps[run.scenario.graph.port_names.index(port)])
    frame = run.scenario.frame
    return rate * frame.payload / frame.wire / 1e9
