"""The store of measurements: one file a figure, seed and mode, named by a digest of all that decides it.

That is Shallows with its compiled core, the figure's paper and what all papers share, its scenarios, and the
changes. An edit of any of these files, also of a band, measures the figure anew.
"""

import hashlib
import inspect
import json
import os
from collections.abc import Mapping
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import shallows as sh
from validation.lab import SCENARIOS

if TYPE_CHECKING:
    from validation.claim import Measured
    from validation.survey import Sample

SHARED = ("lab.py", "reach.py", "runs.py")
"""The files beside this one that measure; the others judge and show."""


class Store:
    """A folder with a file for each figure, seed and mode."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)

    def _path(self, row: "Measured", seed: int, quick: bool, change: Mapping[str, Any] | None) -> Path:
        mode = "quick" if quick else "full"
        return self.folder / f"{row.id}-{mode}-{seed}-{key(row, change)}.json"

    def get(
        self, row: "Measured", seed: int, quick: bool, change: Mapping[str, Any] | None = None
    ) -> "Sample | None":
        """The stored sample, or None."""
        try:
            return json.loads(self._path(row, seed, quick, change).read_text("utf-8"))
        except (OSError, ValueError):
            return None

    def put(
        self, row: "Measured", seed: int, quick: bool, change: Mapping[str, Any] | None, sample: "Sample"
    ) -> None:
        """Stores `sample`, atomically."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(row, seed, quick, change)
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(sample), "utf-8")
        os.replace(partial, path)


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
