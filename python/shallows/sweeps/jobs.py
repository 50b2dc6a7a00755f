"""One run of a sweep, in any process, and its row."""

import itertools
import json
import os
import re
import shutil
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.algorithms import user_algorithms
from shallows.errors import ScenarioError
from shallows.results import jobs, store
from shallows.results.summary import PERCENTILES, bounds
from shallows.runs import Run
from shallows.worlds.runner import in_world

if TYPE_CHECKING:
    from shallows.sweeps.plans import Job


COMPLETION = (
    "fct_mean_us",
    *(f"fct_{name}_us" for name in PERCENTILES),
    "slowdown_mean",
    *(f"slowdown_{name}" for name in PERCENTILES),
)
METRICS = {
    "": ("drain_s", "drain_share"),
    "bottleneck": (
        "utilization",
        "queue_mean_pkt",
        "queue_p50_pkt",
        "queue_p99_pkt",
        "queue_max_pkt",
        "delay_mean_us",
        "backlog_p99_us",
    ),
    "network": ("marked", "dropped", "pauses"),
    "flows": (
        "goodput_gbps",
        "jain",
        "offered",
        "finished",
        "completed",
        "unfinished",
        *COMPLETION,
        "retransmits",
        "timeouts",
    ),
}
"""The metrics of a sweep's table, by their place in the summary; "" is the summary itself."""
SET_ASIDE = "set-aside"
"""The folder of a sweep for runs that are damaged or not its own."""
NUMBERS = (*(key for keys in METRICS.values() for key in keys), "packet_hops")
"""The numeric columns of that table."""
SIZES = {"10KB": 10_000, "100KB": 100_000, "1MB": 1_000_000, "10MB": 10_000_000, "more": None}
"""The size classes of `flows_by_size` by their names in metrics."""
OF_FLOWS = ("completed", "unfinished", *COMPLETION)
"""Metrics of the flows of one traffic table or size class."""
OF_JOBS = ("completion_us", "ideal_us", "slowdown", "algbw_gb_per_s", "busbw_gb_per_s", "exposed_us")
"""Metrics of a collective or a task, by its traffic table; see `shallows.results.jobs`."""
OF_FAULTS = ("recovery_us", "before_gbps", "lowest_gbps", "during_gbps", "after_gbps", "stranded")
"""Metrics of one table of faults."""
PART = re.compile(
    rf"traffic\.(\d+)\.({'|'.join((*OF_FLOWS, *OF_JOBS))})"
    rf"|size\.({'|'.join(SIZES)})\.({'|'.join(OF_FLOWS)})"
    rf"|faults\.(\d+)\.({'|'.join(OF_FAULTS)})"
)
"""A metric of one traffic table, of one size class, or of one fault."""


def is_metric(name: str) -> bool:
    """True for a number of all flows, of a traffic table, of a size class or of a fault."""
    return name in NUMBERS or PART.fullmatch(name) is not None


def part_of(place: Path, metrics: "list[str]") -> tuple[dict[str, Any], dict[str, float]]:
    """Such metrics of the run in `place`, from its summary, and lower bounds of those that are unknown."""
    summary = json.loads((place / "summary.json").read_text("utf-8"))
    values: dict[str, Any] = {}
    least: dict[str, float] = {}
    for metric in metrics:
        row, key = _of_part(summary, metric)
        values[metric] = row.get(key)
        if key in bounds(row):
            least[metric] = bounds(row)[key]
    return values, least


def _of_part(summary: dict[str, Any], metric: str) -> tuple[dict[str, Any], str]:
    """The row of a summary that has a metric of a part, and its key there."""
    part, number, key = metric.split(".")
    rows: list[dict[str, Any]] = summary[
        {"traffic": "traffic", "size": "flows_by_size", "faults": "faults"}[part]
    ]
    if part == "size":
        row = next(row for row in rows if row["below_bytes"] == SIZES[number])
        return row, "count" if key == "completed" else key
    if key in OF_JOBS:
        return jobs.of_table(summary, int(number)), key
    where = "fault" if part == "faults" else part
    none: dict[str, Any] = {}
    return next((row for row in rows if row[where] == int(number)), none), key


def perform(job: "Job", folder: Path) -> dict[str, Any]:
    """Run `job` unless it is in `folder`; return its row, with the error in `failure` if it failed."""
    place = place_of(job, folder)
    try:
        if place.exists():
            return row(job, _load(job, place).summary)
        run = in_world(job.world)(job.make(), None)
        if run.interrupted:
            return row(job, failure="interrupted")
        _keep(run, place, job.run)
        return row(job, run.summary)
    except (ScenarioError, OSError, MemoryError, RuntimeError) as error:
        return row(job, failure=f"{type(error).__name__}: {error}")
    except Exception as error:
        if not user_algorithms.frames(error):
            raise
        *_, last = traceback.extract_tb(error.__traceback__)
        return row(job, failure=f"{type(error).__name__}: {error}, in line {last.lineno} of {last.filename}")


def perform_all(several: "list[Job]", folder: Path) -> list[dict[str, Any]]:
    """The rows of several jobs, one after the other."""
    return [perform(job, folder) for job in several]


def verified(wanted: "list[Job]", folder: Path) -> "tuple[list[Job], dict[str, str]]":
    """The jobs whose runs are in the sweep's `folder`, and `{run: problem}` of those that were set aside.

    A run is damaged, or was saved for another address: swapped, copied from elsewhere or edited.
    """
    present: list[Job] = []
    wrong: dict[str, str] = {}
    for job in wanted:
        place = place_of(job, folder / "runs")
        if not os.path.lexists(place):
            continue
        try:
            _load(job, place)
            present.append(job)
        except (ScenarioError, OSError) as error:
            wrong[job.run] = str(error)
            _set_aside(place, folder / SET_ASIDE)
    return present, wrong


def _load(job: "Job", place: Path) -> Run:
    """The run at `place`. Raises `ScenarioError` unless it is whole and that of `job`."""
    expected = f"the run with the address {job.run}"
    if not store.is_ours(place):
        raise ScenarioError("it holds something else", file=place, expected=expected)
    run = Run.load(place)
    if run.address != job.run or run.interrupted:
        found = f"it has the address {run.address or 'of no sweep'}"
        raise ScenarioError("interrupted" if run.interrupted else found, file=place, expected=expected)
    return run


def _set_aside(place: Path, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    number = next(n for n in itertools.count(1) if not os.path.lexists(folder / f"{place.name}.{n}"))
    os.rename(place, folder / f"{place.name}.{number}")


def place_of(job: "Job", folder: Path) -> Path:
    """The folder of a run, named so that partitioned data sets have a column `run`."""
    return Path(folder, f"run={job.run}")


def row(job: "Job", summary: dict[str, Any] | None = None, failure: str | None = None) -> dict[str, Any]:
    """The row of a run in the table of its sweep, independent of when and where it ran."""
    books: dict[str, Any] = summary["books"] if summary else {"closed": True}
    if not books["closed"]:
        failure = "the books do not close: " + "; ".join(books["problems"])
    metrics = {key: _number(summary, part, key) for part, keys in METRICS.items() for key in keys}
    return {
        "run": job.run,
        **job.settings,
        "failure": failure,
        "fingerprint": summary["fingerprint"] if summary else None,
        "packet_hops": summary["packet_hops"] if summary else None,
        "port": summary["bottleneck"]["port"] if summary else None,
        **metrics,
        "more_than": bounds(summary["flows"]) if summary else {},
    }


def _number(summary: dict[str, Any] | None, part: str, key: str) -> Any:
    """A number of a summary; None without a summary."""
    if summary is None:
        return None
    place: dict[str, Any] = summary[part] if part else summary
    return place[key]


def _keep(run: Run, place: Path, address: str) -> None:
    """Save `run` to `place`, completely or not at all, unless it exists."""
    filling = place.with_name(f".{place.name}.{os.getpid()}.partial")
    shutil.rmtree(filling, ignore_errors=True)
    filling.mkdir(parents=True)
    try:
        run.write(filling, address)
        store.sync(filling)
        os.rename(filling, place)
    except OSError:
        if not place.exists():
            raise
    finally:
        shutil.rmtree(filling, ignore_errors=True)
