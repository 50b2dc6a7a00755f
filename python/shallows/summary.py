"""The numbers of `summary.json`.

All functions work on plain columns (dicts of numpy arrays, one entry per flow or port, NaN for a missing
value), so that every world is summarised by the same code. Quantiles of flows interpolate linearly between
the two nearest flows, as numpy does; those of queues come from the world, weighted by time.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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


def bottleneck(ports: Mapping[str, Any], among: Column) -> dict[str, Any]:
    """The port with the highest mean queue among the indices `among`; if none queued, the busiest.

    `ports` holds `port` (`Names`) and `BOTTLENECK_KEYS`. Without a measurement it is the first of `among`,
    with None for its numbers.
    """
    # lexsort sorts by the last key first; both are negated so that ties keep the network's order
    busiest = np.lexsort((-ports["utilization"][among], -ports["queue_mean_pkt"][among]))[0]
    port = int(among[busiest])
    if np.isnan(ports["utilization"][port]):
        return {"port": ports["port"].names[port]} | dict.fromkeys(BOTTLENECK_KEYS)
    return {"port": ports["port"].names[port]} | {
        key: json_number(ports[key][port]) for key in BOTTLENECK_KEYS
    }


def shared_bottleneck(
    summaries: Sequence[Mapping[str, Any]], queue_means: Sequence[Mapping[str, float | None]]
) -> str | None:
    """The port by which runs are compared: of their bottlenecks, the one that queues most in all runs.

    `queue_means` is `{port: mean queue}` of each run, None without a measurement. None if the runs have no
    port in common.
    """
    candidates = dict.fromkeys(summary["bottleneck"]["port"] for summary in summaries)
    common = [port for port in candidates if all(port in means for means in queue_means)]
    return max(common, key=lambda port: sum(means[port] or 0.0 for means in queue_means), default=None)


def flow_statistics(
    flows: Columns, *, done: Column, measured_s: float, goodput_bytes: Column, not_begun: int
) -> dict[str, Any]:
    """`summary["flows"]`: counts over all flows, completion times over those that `done` marks.

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
        "completed": int(np.sum(done)),
        **completion_statistics(flows, done),
        "retransmits": int(np.sum(flows["retransmits"])),
        "timeouts": int(np.sum(flows["timeouts"])),
    }


PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
"""The percentiles of completion times and slowdowns, by the word in their names."""
FEW = 10
"""A percentile with fewer flows beyond it is uncertain, and marked."""


def completion_statistics(flows: Columns, of: Column) -> dict[str, float | None]:
    """Mean and `PERCENTILES` of the completion times and slowdowns of the flows that `of` marks."""
    fct_us, slowdown = flows["fct_us"][of], flows["slowdown"][of]
    shares = PERCENTILES.items()
    return {
        "fct_mean_us": mean(fct_us),
        **{f"fct_{name}_us": quantile(fct_us, share) for name, share in shares},
        "slowdown_mean": mean(slowdown),
        **{f"slowdown_{name}": quantile(slowdown, share) for name, share in shares},
    }


def is_of_few(metric: str, count: int | None) -> bool:
    """True if `metric`, such as "slowdown_p99", is a percentile that fewer than `FEW` of `count` exceed."""
    words = metric.split("_")
    of_flows = words[0] in ("fct", "slowdown", "exchange")
    share = next((share for name, share in PERCENTILES.items() if of_flows and name in words), None)
    return share is not None and count is not None and round(count * (1 - share), 9) < FEW


TRAFFIC_COLUMNS = ("bytes", "start_us", "fct_us", "exchange_us", "slowdown", "goodput_gbps")
"""Columns of the flow table that `traffic_statistics` reads."""


def traffic_statistics(
    flows: Columns, *, done: Column, measured_s: float, goodput_bytes: Column
) -> dict[str, Any]:
    """A row of `summary["traffic"]`, as in `flow_statistics`, for the flows of one table."""
    exchange_us = flows["exchange_us"][done & np.isfinite(flows["exchange_us"])]
    return {
        "offered": len(done),
        "finished": int(np.sum(np.isfinite(flows["fct_us"]))),
        "goodput_gbps": _gbps(goodput_bytes, measured_s),
        "jain": jain(flows["goodput_gbps"][np.isnan(flows["bytes"])]),
        "completed": int(np.sum(done)),
        **completion_statistics(flows, done),
        "exchanges": len(exchange_us),
        **{f"exchange_{name}_us": value for name, value in mean_p50_p99(exchange_us).items()},
    }


def flows_by_size(flows: Columns, *, done: Column) -> list[dict[str, Any]]:
    """`summary["flows_by_size"]`: a row for each of `SIZE_BINS`, empty ones included."""
    rows: list[dict[str, Any]] = []
    lower = 0
    for below in SIZE_BINS:
        inside = done & (flows["bytes"] >= lower) & (flows["bytes"] < (below or math.inf))
        counted = {"below_bytes": below, "count": int(np.sum(inside))}
        rows.append(counted | completion_statistics(flows, inside))
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


def completed(flows: Columns, warmup_us: float, cooldown_us: float | None) -> NDArray[np.bool_]:
    """Flows whose completion times count: limited, finished, started after the warm-up and before the time
    `cooldown_us` of the cool-down, if there is one.
    """
    within = (flows["start_us"] >= warmup_us) & (flows["start_us"] < (cooldown_us or math.inf))
    return np.isfinite(flows["fct_us"]) & within


def mean_p50_p99(values: Column) -> dict[str, float | None]:
    """Mean, median and 99th percentile of `values`; None each when there are none."""
    return {"mean": mean(values), "p50": quantile(values, 0.50), "p99": quantile(values, 0.99)}


def mean(values: Column) -> float | None:
    """The mean; None without values."""
    return float(np.mean(values)) if len(values) else None


def quantile(values: Column, share: float) -> float | None:
    """The quantile for `share`, interpolated linearly; None without values."""
    return float(np.quantile(values, share)) if len(values) else None


def json_number(value: "np.generic[Any] | float | None") -> Any:
    """A numpy scalar for JSON: int, float, or None for NaN."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
