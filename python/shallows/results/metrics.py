"""The names of the numbers of a summary, for reports, comparisons, sweeps and figures.

A metric of a whole run has its key as its name, such as `queue_mean_pkt`. One of a part has the part before
it: `traffic.0.slowdown_p99`, `size.10KB.slowdown_p99`, `faults.0.recovery_us`, `bottleneck.marked`.
"""

import re
from collections.abc import Mapping, Sequence

from shallows.base.toml import is_list
from shallows.errors import ScenarioError
from shallows.results import jobs
from shallows.results.contents import METRICS, Metric, Summary
from shallows.units import did_you_mean

BY_KEY = {one.key: one for one in METRICS}
OF_RUN = ("", "bottleneck", "network", "flows")
"""Parts of a summary that every run has once. Of a key in several, the name without a part means the last."""
SIZES = {"10KB": 10_000, "100KB": 100_000, "1MB": 1_000_000, "10MB": 10_000_000, "more": None}
"""The size classes of `flows_by_size` by their names in metrics."""
COMPLETION = tuple(key for key in BY_KEY if key.startswith("fct_") or key.startswith("slowdown_"))
"""Metrics of completion times of flows."""
OF_JOBS = tuple(one.key for one in METRICS if "job" in one.parts)
"""Metrics of a collective or a task."""


def part_of(key: str) -> str | None:
    """The part of a summary that has a number of the whole run; None if no such part has it."""
    parts = BY_KEY[key].parts if key in BY_KEY else ()
    return next((part for part in reversed(OF_RUN) if part in parts), None)


RUN_KEYS = tuple(one.key for one in METRICS if part_of(one.key) is not None)
"""The numbers of a whole run, in the order of reports."""


def _keys(part: str) -> str:
    kinds = ("traffic", "job") if part == "traffic" else (part,)
    return "|".join(one.key for one in METRICS if set(kinds) & set(one.parts))


PART = re.compile(
    rf"traffic\.(\d+)\.({_keys('traffic')})"
    rf"|size\.({'|'.join(SIZES)})\.({_keys('size')})"
    rf"|faults\.(\d+)\.({_keys('faults')})"
    rf"|bottleneck\.({_keys('bottleneck')})|network\.({_keys('network')})|flows\.({_keys('flows')})"
)
"""A metric of a part of a summary."""


def is_metric(name: str) -> bool:
    """True for a number of a whole run, or of a part of its summary."""
    return name in RUN_KEYS or PART.fullmatch(name) is not None


def label(name: str) -> str:
    """The title of a metric, with the part of the summary that it is of."""
    part, _, key = name.rpartition(".")
    title = BY_KEY[key].title if key in BY_KEY else key
    return f"{title}, {part}" if part else title


_NONE: Mapping[str, object] = {}


def number(summary: Summary, name: str) -> tuple[Mapping[str, object], str]:
    """The row of a summary that has a metric, and its key there; the row is empty if there is none."""
    part, _, key = name.rpartition(".")
    if part.startswith("size."):
        below = SIZES[part.removeprefix("size.")]
        row = next(row for row in summary["flows_by_size"] if row["below_bytes"] == below)
        return row, "count" if key == "completed" else key
    kind, _, at = part.partition(".")
    if kind == "traffic" and key in OF_JOBS and (job := jobs.of_table(summary, int(at))):
        return job, key
    if kind in ("traffic", "faults"):
        named = "fault" if kind == "faults" else kind
        rows: Sequence[Mapping[str, object]] = summary.get(kind) or ()
        return next((row for row in rows if row[named] == int(at)), _NONE), key
    where = part or part_of(key) or ""
    return (summary.get(where) or _NONE) if where else summary, key


def known(summary: Summary, name: str) -> float:
    """A metric of a summary. Raises `ScenarioError` if the run does not have it."""
    row, key = number(summary, name)
    value = row.get(key)
    if not isinstance(value, int | float):
        raise ScenarioError(
            "number", name, "one that this run has: in its summary it is None, or its table is missing"
        )
    return value


def resolved(name: str, tables: Mapping[str, object]) -> str:
    """The full name of a metric that is written as reports print it: "busbw", "recovery" or "queue_mean".

    tables: those of the scenario. A number of a collective, a task or a fault needs no part if there is one
    such table. Raises `ScenarioError`.
    """
    if is_metric(name):
        return name
    part, _, key = name.rpartition(".")
    known = [one for one in METRICS if key in (one.key, one.word)]
    if part:
        full = [f"{part}.{one.key}" for one in known if PART.fullmatch(f"{part}.{one.key}")]
    else:
        full = [one for metric in known for one in _full(metric, tables)]
    if len(full) == 1:
        return full[0]
    if full:
        raise ScenarioError("metric", name, f"one of {', '.join(full)}")
    near = (*RUN_KEYS, *(one.word for one in METRICS))
    parts = (
        "a part before it, such as size.10KB.slowdown_p99, traffic.0.slowdown_p99 and faults.0.recovery_us"
    )
    expected = f"one of {', '.join(RUN_KEYS)}, {', '.join(OF_JOBS)}, or {parts}{did_you_mean(name, near)}"
    raise ScenarioError("metric", name, expected)


def _full(metric: Metric, tables: Mapping[str, object]) -> list[str]:
    """The names of a metric in a scenario with these tables."""
    if metric.key in RUN_KEYS:
        return [metric.key]
    traffic = _of(tables, "traffic")
    if "job" in metric.parts:
        batches = jobs.BATCHES if "traffic" in metric.parts else ()
        kinds = [table.get("kind") for table in traffic]
        at = [i for i, kind in enumerate(kinds) if jobs.is_job(kind) or kind in batches]
        return [f"traffic.{i}.{metric.key}" for i in at]
    if "faults" in metric.parts:
        return [f"faults.{i}.{metric.key}" for i in range(len(_of(tables, "faults")))]
    return [f"traffic.{i}.{metric.key}" for i in range(len(traffic))] if "traffic" in metric.parts else []


def _of(tables: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    """The tables of a list of tables, such as `[[traffic]]`."""
    found = tables.get(key)
    return found if is_list(found) else []


def of_every_job(tables: Mapping[str, object]) -> list[str]:
    """The metrics of every collective and task of a scenario."""
    at = [i for i, table in enumerate(_of(tables, "traffic")) if jobs.is_job(table.get("kind"))]
    return [f"traffic.{i}.{key}" for i in at for key in OF_JOBS]


def of_jobs(tables: Mapping[str, object]) -> list[str]:
    """The metrics of the only collective or task of a scenario, as nccl-tests print them; else empty."""
    kinds = [table.get("kind") for table in _of(tables, "traffic")]
    numbers = [i for i, kind in enumerate(kinds) if jobs.is_job(kind)]
    if len(numbers) != 1 or len(kinds) != 1:
        return []
    rates = ("exposed_us",) if kinds[0] in jobs.TASKS else ("algbw_gb_per_s", "busbw_gb_per_s")
    return [f"traffic.{numbers[0]}.{key}" for key in ("completion_us", *rates)]
