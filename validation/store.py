"""The store of measurements: one file a figure, seed and mode, named by all that the measurement depends on.

The key covers the figure's function and the functions of this package that it calls, its scenarios, the Python that makes
flows and tables of them, the distributions of sizes, the compiled core, seed, mode and changes. Claims and bands are not in
it: they judge, and change no number.
"""

import hashlib
import inspect
import json
import os
from collections.abc import Callable, Mapping
from fnmatch import fnmatch
from functools import cache
from os import PathLike
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, cast

import shallows as sh
from validation import lab
from validation.lab import SCENARIOS

if TYPE_CHECKING:
    from validation.claim import Measured
    from validation.survey import Sample

_PACKAGE = Path(sh.__file__).parent
_APART = (
    "cli*",
    "__main__.py",
    "plot",
    "progress.py",
    "report.py",
    "export",
    "pages",
    "sweeps",
    "why",
)
"""Modules that only show results, or that no paper's figure uses."""


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
    digest = hashlib.sha256(_core().encode())
    digest.update(_source(row.measure).encode())
    digest.update(json.dumps(dict(row.runs), sort_keys=True).encode())
    for name in sorted(row.runs):
        digest.update((SCENARIOS / f"{name}.toml").read_bytes())
    digest.update(json.dumps(change or {}, sort_keys=True).encode())
    return digest.hexdigest()[:16]


@cache
def _core() -> str:
    """The compiled core and the package's Python, without the modules of `_APART`."""
    digest = hashlib.sha256()
    for file in [*_sources(), Path(lab.__file__)]:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _sources() -> list[Path]:
    """The package's Python that makes flows and tables of them, and the distributions of sizes."""
    return [
        path
        for path in sorted(_PACKAGE.rglob("*"))
        if path.suffix in (".py", ".csv", ".so", ".pyd")
        and not any(fnmatch(path.relative_to(_PACKAGE).parts[0], one) for one in _APART)
    ]


@cache
def _source(measure: Callable[..., Any] | None) -> str:
    """Reads the source once, so that an edit during a survey does not mislabel its results."""
    return _text(cast(FunctionType, measure), set())


def _text(function: FunctionType, seen: set[str]) -> str:
    """The source of a function, of the functions of this package that it names, and the constants that they name."""
    if function.__name__ in seen:
        return ""
    seen.add(function.__name__)
    parts = [_body(function)]
    for name in sorted(_names(function.__code__)):
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType) and value.__module__.startswith("validation"):
            parts.append(_text(value, seen))
        elif isinstance(value, int | float | str | tuple | dict):
            parts.append(f"{name} = {cast(Any, value)!r}")
    return "\n".join(parts)


def _names(code: CodeType) -> set[str]:
    """The globals that code names, its lambdas and comprehensions included."""
    inner = [const for const in code.co_consts if inspect.iscode(const)]
    return set(code.co_names).union(*(_names(one) for one in inner))


def _body(function: FunctionType) -> str:
    """The source from `def` on; the decorator only judges."""
    lines = inspect.getsource(function).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("def "))
    return "\n".join(lines[start:])
