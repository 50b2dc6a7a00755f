"""The numbers of `summary.json`.

All functions work on plain columns (dicts of numpy arrays, one entry per flow or port, NaN for a missing
value), so that every world is summarised by the same code. Quantiles of flows interpolate linearly between
the two nearest flows, as numpy does; those of queues come from the world, weighted by time.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shallows.base.toml import is_list, is_table

if TYPE_CHECKING:
    from shallows.results.contents import Summary

Column = NDArray[Any]
Columns = Mapping[str, Column]
"""Columns of flows, one entry a flow."""

SIZE_BINS = (10_000, 100_000, 1_000_000, 10_000_000, None)
"""Upper ends (bytes, exclusive) of the bins of `flows_by_size`; None has no end."""

BOTTLENECK_KEYS = (
    "utilization",
    "queue_mean_pkt",
    "queue_p50_pkt",
    "queue_p99_pkt",
    "queue_max_pkt",
    "delay_mean_us",
    "backlog_p99_us",
    "marked",
    "dropped",
    "paused_us",
)


def jain(goodput: ArrayLike) -> float | None:
    """Jain's fairness index, (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one has all.

    None when no value is finite or all are zero.
    """
    x = np.asarray(goodput, float)
    x = x[np.isfinite(x)]
    squares = float(np.sum(x * x))
    return float(np.sum(x)) ** 2 / (len(x) * squares) if squares > 0 else None


def bottleneck(ports: Mapping[str, Any], among: Column) -> dict[str, object]:
    """The port with the highest mean queue among the indices `among`; if none queued, the busiest.

    `ports` holds `port` (`Names`) and `BOTTLENECK_KEYS`. Without a measurement it is the first of `among`,
    with None for its numbers.
    """
    # lexsort sorts by the last key first; both are negated so that ties keep the network's order
    busiest = np.lexsort((-ports["utilization"][among], -ports["queue_mean_pkt"][among]))[0]
    port = int(among[busiest])
    if np.isnan(ports["utilization"][port]):
        return {"port": ports["port"].names[port], **dict.fromkeys(BOTTLENECK_KEYS)}
    return {
        "port": ports["port"].names[port],
        **{key: json_number(ports[key][port]) for key in BOTTLENECK_KEYS},
    }


def shared_bottleneck(
    summaries: "Sequence[Summary]", queue_means: Sequence[Mapping[str, float | None]]
) -> str | None:
    """The port by which runs are compared: of their bottlenecks, the one that queues most in all runs.

    `queue_means` is `{port: mean queue}` of each run, None without a measurement. None if the runs have no
    port in common.
    """
    candidates = dict.fromkeys(summary["bottleneck"]["port"] for summary in summaries)
    common = [port for port in candidates if all(port in means for means in queue_means)]
    return max(common, key=lambda port: sum(means[port] or 0.0 for means in queue_means), default=None)


PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
"""The percentiles of completion times and slowdowns, by the word in their names."""
FEW = 10
"""A percentile with fewer flows beyond it is uncertain, and marked."""
RESOLUTION = 0.01
"""A statistic is known if unfinished flows can move it by at most this share."""
ENDLESS = 1e300
"""The largest time of an unfinished flow; finite, because interpolation yields NaN beside infinity."""


@dataclass(frozen=True)
class Counted:
    """The flows that statistics of completion times are over: two masks, and the least time of each flow.

    These are flows with an end that began after the warm-up, before the cool-down and before the end of the
    run. `done` marks those that finished, `unfinished` the others. `least` has the columns `fct_us` and
    `slowdown`, and for unfinished flows lower bounds: their time from the start to the end of the run.
    """

    done: NDArray[np.bool_]
    unfinished: NDArray[np.bool_]
    least: Columns

    @classmethod
    def of(cls, flows: Columns, warmup_us: float, cooldown_us: float | None, ended_us: float) -> "Counted":
        """Those of a flow table, `flows`, of a run with these times."""
        began, finished = flows["start_us"], np.isfinite(flows["fct_us"])
        within = (began >= warmup_us) & (began < (cooldown_us or math.inf))
        fct_us = np.where(finished, flows["fct_us"], np.fmax(ended_us - began, 0.0))
        slowdown = np.where(finished, flows["slowdown"], fct_us / flows["ideal_us"])
        unfinished = within & ~finished & np.isfinite(flows["bytes"]) & (began < ended_us)
        return cls(finished & within, unfinished, {"fct_us": fct_us, "slowdown": slowdown})

    def among(self, selected: Column) -> "Counted":
        """Those of the flows that `its` marks."""
        return Counted(self.done & selected, self.unfinished & selected, self.least)

    def statistic(self, key: str, function: Callable[[Column], float]) -> tuple[float | None, float | None]:
        """A statistic of the column `key` of `least`; see `statistic`."""
        return statistic(
            self.least[key][relevant := self.done | self.unfinished], self.done[relevant], function
        )


def statistic(
    least: Column, finished: Column, function: Callable[[Column], float]
) -> tuple[float | None, float | None]:
    """A mean or quantile of completion times: (value, None), or (None, lower bound) if it is unknown.

    `least` holds completion times, and lower bounds for flows that have not `finished`. The true statistic
    is at least `of(least)`, and at most that with arbitrarily long times of unfinished flows. It is known if
    the two differ by at most `RESOLUTION`. (None, None) without flows.
    """
    if not len(least):
        return None, None
    low = float(function(least))
    if finished.all():
        return low, None
    high = float(function(np.where(finished, least, ENDLESS)))
    return ((low + high) / 2, None) if high <= low * (1 + RESOLUTION) else (None, low)


def known(statistics: Mapping[str, tuple[float | None, float | None]]) -> dict[str, Any]:
    """Keys of a summary for `{key: statistic}`: the values, and in `more_than` bounds of unknown ones."""
    least = {key: bound for key, (_, bound) in statistics.items() if bound is not None}
    return {key: value for key, (value, _) in statistics.items()} | {"more_than": least}


def bounds(row: Mapping[str, object]) -> dict[str, float]:
    """The lower bounds of the unknown numbers of a row of a summary; that of a port has none."""
    least = row.get("more_than")
    return least if is_table(least) else {}


def value(row: Mapping[str, object], key: str) -> float | None:
    """A number of a row of a summary; None if the row does not have it."""
    number = row.get(key)
    return number if isinstance(number, int | float) else None


def flow_statistics(
    flows: Columns, *, counted: Counted, measured_s: float, goodput_bytes: Column, not_begun: int
) -> dict[str, object]:
    """`summary["flows"]`: counts over all flows, completion times over those that are `counted`.

    `flows` holds the columns of the flow table (NaN for a missing value; `bytes` NaN is unlimited);
    `goodput_bytes` the payload that each flow delivered in the `measured_s` after the warm-up; `not_begun`
    the number of flows that never began.
    """
    finished = np.isfinite(flows["fct_us"])
    return {
        "offered": len(finished),
        "finished": int(np.sum(finished)),
        "cut_off": int(np.sum(~finished)),
        "not_begun": not_begun,
        "lost": 0,  # a flow is never given up: the transport retries for ever
        "goodput_gbps": _gbps(goodput_bytes, measured_s),
        "jain": jain(flows["goodput_gbps"][np.isnan(flows["bytes"])]),
        "completed": int(np.sum(counted.done)),
        "unfinished": int(np.sum(counted.unfinished)),
        **completion_statistics(counted),
        "retransmits": int(np.sum(flows["retransmits"])),
        "timeouts": int(np.sum(flows["timeouts"])),
    }


def completion_statistics(counted: Counted) -> dict[str, Any]:
    """Mean and `PERCENTILES` of completion times and slowdowns, as in `known`."""
    found: dict[str, tuple[float | None, float | None]] = {}
    for key, form in (("fct_us", "fct_{}_us"), ("slowdown", "slowdown_{}")):
        found[form.format("mean")] = counted.statistic(key, np.mean)
        for name, share in PERCENTILES.items():
            found[form.format(name)] = counted.statistic(key, partial(np.quantile, q=share))
    return known(found)


def is_of_few(metric: str, count: int | None) -> bool:
    """True if `metric`, such as "slowdown_p99", is a percentile that fewer than `FEW` of `count` exceed."""
    words = metric.split("_")
    of_flows = words[0] in ("fct", "slowdown", "exchange")
    share = next((share for name, share in PERCENTILES.items() if of_flows and name in words), None)
    return share is not None and count is not None and round(count * (1 - share), 9) < FEW


def traffic_statistics(
    flows: Columns,
    *,
    selected: Column,
    counted: Counted,
    exchanges: Counted,
    measured_s: float,
    goodput_bytes: Column,
) -> dict[str, object]:
    """A row of `summary["traffic"]`, as in `flow_statistics`, for the flows that are `selected`.

    `exchanges` are the responses that count, with `exchange_us` in its `least`.
    """
    endless = selected & np.isnan(flows["bytes"])
    completion = known({"completion_us": _completion(flows, counted, selected)})
    counted, exchanges = counted.among(selected), exchanges.among(selected)
    of_flows, of_exchanges = completion_statistics(counted), known(_exchanges(exchanges))
    least = completion.pop("more_than") | of_flows.pop("more_than") | of_exchanges.pop("more_than")
    return {
        "offered": int(np.sum(selected)),
        "finished": int(np.sum(np.isfinite(flows["fct_us"][selected]))),
        **completion,
        "goodput_gbps": _gbps(goodput_bytes[selected], measured_s),
        **{
            f"goodput_{name}_gbps": value for name, value in _extremes(flows["goodput_gbps"][endless]).items()
        },
        "jain": jain(flows["goodput_gbps"][endless]),
        "completed": int(np.sum(counted.done)),
        "unfinished": int(np.sum(counted.unfinished)),
        **of_flows,
        "exchanges": int(np.sum(exchanges.done)),
        "exchanges_unfinished": int(np.sum(exchanges.unfinished)),
        **of_exchanges,
        "more_than": least,
    }


def _completion(flows: Columns, counted: Counted, selected: Column) -> tuple[float | None, float | None]:
    """Time from the first start to the last end of flows, as in `statistic`; (None, None) without an end."""
    began = selected & np.isfinite(flows["start_us"])
    if not began.any() or np.isnan(flows["bytes"][selected]).any():
        return None, None
    ends = flows["start_us"][began] + counted.least["fct_us"][began]
    took_us = float(np.max(ends) - np.min(flows["start_us"][began]))
    return (took_us, None) if np.isfinite(flows["fct_us"][selected]).all() else (None, took_us)


def _extremes(goodput: Column) -> dict[str, float | None]:
    """The least and the most goodput; None without any."""
    known = goodput[np.isfinite(goodput)]
    return {
        name: float(function(known)) if len(known) else None
        for name, function in (("least", np.min), ("most", np.max))
    }


def _exchanges(counted: Counted) -> dict[str, tuple[float | None, float | None]]:
    shares = {"p50": 0.50, "p99": 0.99}
    return {"exchange_mean_us": counted.statistic("exchange_us", np.mean)} | {
        f"exchange_{name}_us": counted.statistic("exchange_us", partial(np.quantile, q=share))
        for name, share in shares.items()
    }


def flows_by_size(flows: Columns, counted: Counted) -> list[dict[str, object]]:
    """`summary["flows_by_size"]`: a row for each of `SIZE_BINS`, empty ones included."""
    rows: list[dict[str, object]] = []
    lower = 0
    for below in SIZE_BINS:
        inside = counted.among((flows["bytes"] >= lower) & (flows["bytes"] < (below or math.inf)))
        counts = {"count": int(np.sum(inside.done)), "unfinished": int(np.sum(inside.unfinished))}
        rows.append({"below_bytes": below, **counts, **completion_statistics(inside)})
        lower = below
    return rows


def flow_problems(flows: Columns, delivered_bytes: Column, one_way: bool = True) -> list[str]:
    """Problems in the accounts of the flows: a list of sentences, empty if the books close.

    A flow is finished (it has a size, and all of it arrived) or cut off (some of it did not); any other state
    is unaccounted for. No flow can beat its empty path if it keeps to `one_way`.
    """
    limited, ended = np.isfinite(flows["bytes"]), np.isfinite(flows["fct_us"])
    complete = limited & (delivered_bytes == np.nan_to_num(flows["bytes"]))
    cut_off = ~limited | (delivered_bytes < np.nan_to_num(flows["bytes"]))
    checks = [
        (ended & ~complete, "finished without having delivered exactly its bytes"),
        (~ended & ~cut_off, "delivered all its bytes, or more, and yet did not finish"),
        (ended & ~(flows["fct_us"] > 0), "finished before it started"),
        (one_way & (flows["slowdown"] < 1), "beat its empty path (slowdown below 1)"),
    ]
    return [_sentence(np.flatnonzero(wrong), what) for wrong, what in checks if wrong.any()]


MOST_BUSY = 1 + 1e-6
"""The largest utilization of a port; a larger one is not explained by rounding."""


def capacity_problems(
    ports: Mapping[str, Any], flows: Columns, delivered_bytes: Column, rate_bps: Column, ended_us: float
) -> list[str]:
    """Violations of link capacities: a list of sentences, empty if there are none.

    `rate_bps` is that of the link to each flow's receiver, `ended_us` the end of the run.
    """
    busy = np.flatnonzero(ports["utilization"] > MOST_BUSY)
    problems = [f"port {ports['port'].names[port]} sent for longer than it was measured" for port in busy[:1]]
    began_us = np.minimum(np.nan_to_num(flows["start_us"], nan=ended_us), ended_us)
    lived_us = np.where(np.isfinite(flows["fct_us"]), flows["fct_us"], ended_us - began_us)
    wrong = delivered_bytes * 8.0 > MOST_BUSY * rate_bps * lived_us / 1e6
    if wrong.any():
        problems.append(_sentence(np.flatnonzero(wrong), "delivered more than its receiver's link can carry"))
    return problems


def _sentence(flows: Column, what: str) -> str:
    others = f" (and {len(flows) - 1} more)" if len(flows) > 1 else ""
    return f"flow {flows[0]}{others} {what}"


def _gbps(payload_bytes: Column, over_s: float) -> float | None:
    return float(np.sum(payload_bytes)) * 8e-9 / over_s if over_s > 0 else None


def json_number(value: np.generic | float | None) -> float | None:
    """A numpy scalar for JSON: int, float, or None for NaN."""
    number: float | None = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(number, float) and not math.isfinite(number) else number


def finite(value: object) -> object:
    """`value` for JSON: its tables and lists with None instead of NaN and infinities."""
    if is_table(value):
        return {key: finite(item) for key, item in value.items()}
    if is_list(value):
        return [finite(item) for item in value]
    return json_number(value) if isinstance(value, float) else value
