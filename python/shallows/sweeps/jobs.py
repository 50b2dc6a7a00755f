"""One run of a sweep, in whatever process it is asked for, and the row that is left of it."""

import os
import shutil
from pathlib import Path

from shallows.errors import ScenarioError
from shallows.results import Run, store
from shallows.runner import in_world

METRICS = {
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
        "fct_mean_us",
        "fct_p50_us",
        "fct_p99_us",
        "slowdown_p50",
        "slowdown_p99",
        "retransmits",
        "timeouts",
    ),
}
"""What of a summary is in the table of a sweep, by where it stands there."""


def perform(job, folder):
    """Run `job` unless it is in `folder` already; return its row, which says in `failure` why it failed."""
    place = place_of(job, folder)
    try:
        if place.exists():
            return row(job, Run.load(place).summary)
        run = in_world(job.world)(job.make(), None)
        if run.interrupted:
            return row(job, failure="interrupted")
        _keep(run, place)
        return row(job, run.summary)
    except (ScenarioError, OSError, MemoryError, RuntimeError) as error:
        return row(job, failure=f"{type(error).__name__}: {error}")


def perform_all(jobs, folder):
    """The rows of several, one after the other."""
    return [perform(job, folder) for job in jobs]


def place_of(job, folder):
    """The folder of a run; named so that readers of partitioned data sets see a column `run`."""
    return Path(folder, f"run={job.run}")


def row(job, summary=None, failure=None):
    """The row of a run in the table of its sweep: the same whenever and wherever it ran."""
    books = summary["books"] if summary else {"closed": True}
    if not books["closed"]:
        failure = "the books do not close: " + "; ".join(books["problems"])
    metrics = {key: summary[part][key] if summary else None for part, keys in METRICS.items() for key in keys}
    return {
        "run": job.run,
        **job.settings,
        "failure": failure,
        "fingerprint": summary["fingerprint"] if summary else None,
        "packet_hops": summary["packet_hops"] if summary else None,
        "port": summary["bottleneck"]["port"] if summary else None,
        **metrics,
    }


def _keep(run, place):
    """Save `run` to `place`, whole or not at all; whoever was there first stays."""
    filling = place.with_name(f".{place.name}.{os.getpid()}.partial")
    shutil.rmtree(filling, ignore_errors=True)
    filling.mkdir(parents=True)
    try:
        run.write(filling)
        store.sync(filling)
        os.rename(filling, place)
    except OSError:
        if not place.exists():
            raise
    finally:
        shutil.rmtree(filling, ignore_errors=True)
