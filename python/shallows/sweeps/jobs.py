"""One run of a sweep, in any process, and its row."""

import itertools
import json
import os
import shutil
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shallows.algorithms import user_algorithms
from shallows.errors import ScenarioError
from shallows.results import inputs, store
from shallows.results.address import Address
from shallows.results.contents import Summary
from shallows.results.metrics import RUN_KEYS, number
from shallows.results.summary import bounds
from shallows.runner import in_world
from shallows.runs import Run
from shallows.sweeps.engine import LostProcessError

if TYPE_CHECKING:
    from shallows.sweeps.plans import Job


SET_ASIDE = "set-aside"
"""The folder of a sweep for runs that are damaged or not its own."""


def part_of(place: Path, metrics: "list[str]") -> tuple[dict[str, object], dict[str, float]]:
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


@dataclass(frozen=True)
class Saved:
    """The `engine.Work` of a sweep in `folder`: each run is saved in its `runs`, and its result is a row.

    wrong: `{run: problem}` of the runs that were set aside, being damaged or saved for another address:
    swapped, copied from elsewhere or edited.
    """

    folder: Path
    wrong: dict[str, str] = field(default_factory=dict[str, str])

    def find(self, job: "Job") -> dict[str, object] | None:
        """The row of a run that is in the folder; None, and the run is set aside, if it is not whole."""
        place = place_of(job, self.folder / "runs")
        if not os.path.lexists(place):
            return None
        try:
            return row(job, _load(job.run, place).summary)
        except (ScenarioError, OSError) as error:
            self.wrong[job.run] = str(error)
            set_aside(place, self.folder / SET_ASIDE)
            return None

    def perform(self, job: "Job") -> dict[str, object]:
        """Run `job` unless it is in the folder; return its row, with the error in `failure` if it failed."""
        place = place_of(job, self.folder / "runs")
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
            return row(
                job, failure=f"{type(error).__name__}: {error}, in line {last.lineno} of {last.filename}"
            )

    def lost(self, job: "Job", error: BaseException) -> dict[str, object]:
        """The row of a run whose process or machine was lost."""
        return row(
            job,
            failure=str(error) if isinstance(error, LostProcessError) else f"{type(error).__name__}: {error}",
        )


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


def set_aside(place: Path, folder: Path) -> None:
    """Move what is at `place` into `folder`, under a name that is free."""
    folder.mkdir(exist_ok=True)
    number = next(n for n in itertools.count(1) if not os.path.lexists(folder / f"{place.name}.{n}"))
    os.rename(place, folder / f"{place.name}.{number}")


def place_of(job: "Job", folder: Path) -> Path:
    """The folder of a run, named so that partitioned data sets have a column `run`."""
    return folder / name_of(Address(job.run))


def name_of(address: Address) -> str:
    """The name of the folder of a run."""
    return f"run={address}"


def row(job: "Job", summary: Summary | None = None, failure: str | None = None) -> dict[str, object]:
    """The row of a run in the table of its sweep, independent of when and where it ran."""
    if summary and not summary["books"]["closed"]:
        failure = "the books do not close: " + "; ".join(summary["books"]["problems"])
    metrics = {key: _value(summary, key) for key in RUN_KEYS}
    return {
        "run": str(job.run),
        **job.settings,
        "failure": failure,
        "fingerprint": summary["fingerprint"] if summary else None,
        "port": summary["bottleneck"]["port"] if summary else None,
        **metrics,
        "more_than": bounds(summary["flows"]) if summary else {},
    }


def _value(summary: Summary | None, metric: str) -> object:
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
        inputs.trust_copies(place, run)
    except OSError:
        if not place.exists():
            raise
    finally:
        shutil.rmtree(filling, ignore_errors=True)
