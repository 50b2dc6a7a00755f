"""Measurements of figures and their store: one file a figure, seed and mode, named by a digest of all that decides it.

That is Shallows with its compiled core, the figure's paper and what all papers share, its scenarios, and the
changes. An edit of any of these files, also of a band, measures the figure anew.
"""

import hashlib
import inspect
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import shallows as sh
from validation.lab import SCENARIOS, Lab

if TYPE_CHECKING:
    from validation.claim import Measured

Sample = dict[str, Any]
"""One seed of a figure: values, series and the commands that give the same runs."""
SHARED = ("lab.py", "reach.py", "runs.py")
"""The files beside this one that measure; the others judge and show."""


@dataclass(frozen=True)
class Measurement:
    """A figure or reach with one seed: a job of `shallows.sweeps.engine`, which leaves a sample.

    run: its address, a digest of all that decides it. It is found once, so that an edit during a survey mislabels nothing.
    """

    run: str
    id: str
    seed: int
    quick: bool
    change: Mapping[str, Any] | None

    @classmethod
    def of(
        cls, row: "Measured", seed: int, quick: bool, change: Mapping[str, Any] | None = None
    ) -> "Measurement":
        """The job with its address."""
        mode = "quick" if quick else "full"
        return cls(f"{row.id}-{mode}-{seed}-{key(row, change)}", row.id, seed, quick, change)


@dataclass(frozen=True)
class Store:
    """A folder with a file for each measurement: their `Work` in `shallows.sweeps.engine`."""

    folder: Path

    def find(self, job: Measurement) -> Sample | None:
        """The stored sample, or None."""
        try:
            return json.loads(self._path(job).read_text("utf-8"))
        except (OSError, ValueError):
            return None

    def perform(self, job: Measurement) -> Sample:
        """Measures, and stores the sample, atomically."""
        sample = measure(measured(job.id), job.seed, job.quick, job.change)
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = self._path(job).with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(sample), "utf-8")
        os.replace(partial, self._path(job))
        return sample

    def lost(self, job: Measurement, error: BaseException) -> Sample:
        """Ends the survey."""
        raise error

    def _path(self, job: Measurement) -> Path:
        return self.folder / f"{job.run}.json"


def measured(id_: str) -> "Measured":
    """The figure or reach with this id."""
    from validation import PAPERS

    every: list[Measured] = [one for paper in PAPERS for one in (*paper.figures, *paper.reaches)]
    return next(one for one in every if one.id == id_)


def measure(row: "Measured", seed: int, quick: bool, change: Mapping[str, Any] | None = None) -> Sample:
    """One seed of a figure. used: the keys of `change` that had an effect."""
    lab = Lab(row, seed, quick, change)
    if row.measure is None:
        raise ValueError(f"{row.id} cannot be measured")
    row.measure(lab)
    return {"values": lab.values, "series": lab.series, "ran": lab.ran, "used": sorted(lab.used)}


def key(row: "Measured", change: Mapping[str, Any] | None = None) -> str:
    """The content that a measurement depends on, as 16 hexadecimal digits."""
    names = json.dumps([row.id, dict(row.runs), dict(change or {})], sort_keys=True)
    return hashlib.sha256((names + _content(*sources(row))).encode()).hexdigest()[:16]


def sources(row: "Measured") -> tuple[Path, ...]:
    """The folders and files that decide a measurement."""
    here = Path(__file__).parent
    its_own = [SCENARIOS / f"{name}.toml" for name in sorted(row.runs)]
    paper = Path(inspect.getfile(row.measure)).parent if row.measure else here
    return Path(sh.__file__).parent, paper, *(here / name for name in SHARED), *its_own


@cache
def _content(*places: Path) -> str:
    """A digest of what is in these places. It is read once, so that an edit during a survey mislabels nothing."""
    digest = hashlib.sha256()
    for place in places:
        files = [place] if place.is_file() else sorted(place.rglob("*"))
        for path in (path for path in files if path.suffix in (".py", ".csv", ".so", ".pyd", ".toml")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
