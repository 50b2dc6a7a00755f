"""One run of a sweep, in any process, and its row."""

import itertools
import json
import os
import shutil
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.algorithms import user_algorithms
from shallows.errors import ScenarioError
from shallows.results import store
from shallows.results.metrics import RUN_KEYS, number
from shallows.results.summary import bounds
from shallows.runs import Run
from shallows.worlds.runner import in_world

if TYPE_CHECKING:
    from shallows.sweeps.plans import Job


SET_ASIDE = "set-aside"
"""The folder of a sweep for runs that are damaged or not its own."""


def part_of(place: Path, metrics: "list[str]") -> tuple[dict[str, Any], dict[str, float]]:
    """Metrics of parts of the run in `place`, and lower bounds of those that are unknown."""
    summary = json.loads((place / "summary.json").read_text("utf-8"))
    values: dict[str, object] = {}
    least: dict[str, float] = {}
    for metric in metrics:
        row, key = number(summary, metric)
        values[metric] = row.get(key)
        if key in bounds(row):
            least[metric] = bounds(row)[key]
    return values, least


def perform(job: "Job", folder: Path) -> dict[str, Any]:
    """Run `job` unless it is in `folder`; return its row, with the error in `failure` if it failed."""
    place = place_of(job, folder)
    try:
        if place.exists():
            return row(job, _load(job.run, place).summary)
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
        problem = wrong_run(job.run, place)
        if problem is None:
            present.append(job)
        else:
            wrong[job.run] = problem
            _set_aside(place, folder / SET_ASIDE)
    return present, wrong


def wrong_run(address: str, place: Path) -> str | None:
    """What is wrong with the run at `place`; None if it is whole and has this address."""
    try:
        _load(address, place)
    except (ScenarioError, OSError) as error:
        return str(error)
    return None


def _load(address: str, place: Path) -> Run:
    """The run at `place`. Raises `ScenarioError` unless it is whole and has this address."""
    expected = f"the run with the address {address}"
    if not store.is_ours(place):
        raise ScenarioError("it holds something else", file=place, expected=expected)
    run = Run.load(place)
    if run.address != address or run.interrupted:
        found = f"it has the address {run.address or 'of no sweep'}"
        raise ScenarioError("interrupted" if run.interrupted else found, file=place, expected=expected)
    return run


def _set_aside(place: Path, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    number = next(n for n in itertools.count(1) if not os.path.lexists(folder / f"{place.name}.{n}"))
    os.rename(place, folder / f"{place.name}.{number}")


def place_of(job: "Job", folder: Path) -> Path:
    """The folder of a run, named so that partitioned data sets have a column `run`."""
    return place_of_run(job.run, folder)


def place_of_run(address: str, folder: Path) -> Path:
    """The folder of the run with this address."""
    return Path(folder, f"run={address}")


def row(job: "Job", summary: dict[str, Any] | None = None, failure: str | None = None) -> dict[str, Any]:
    """The row of a run in the table of its sweep, independent of when and where it ran."""
    books: dict[str, Any] = summary["books"] if summary else {"closed": True}
    if not books["closed"]:
        failure = "the books do not close: " + "; ".join(books["problems"])
    metrics = {key: _value(summary, key) for key in RUN_KEYS}
    return {
        "run": job.run,
        **job.settings,
        "failure": failure,
        "fingerprint": summary["fingerprint"] if summary else None,
        "port": summary["bottleneck"]["port"] if summary else None,
        **metrics,
        "more_than": bounds(summary["flows"]) if summary else {},
    }


def _value(summary: dict[str, object] | None, metric: str) -> Any:
    """A number of a summary; None without one."""
    if summary is None:
        return None
    row, key = number(summary, metric)
    return row.get(key)


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
