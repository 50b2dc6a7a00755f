"""Results below a folder, differences of their scenarios, and what may be removed."""

import json
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TypedDict

from shallows.base.toml import is_list, is_table
from shallows.base.version import version
from shallows.errors import ScenarioError
from shallows.results import shape, store
from shallows.results.paths import LATEST


class Head(TypedDict):
    """The keys of every run's summary, also of one that another version saved."""

    name: str
    world: str
    cc: list[str]
    seed: int
    version: str


@dataclass(frozen=True)
class Found:
    """A saved run: folder, summary, scenario as `{dotted key: value}` with digests of its files, and time.

    `whole` is the folder that was saved at once: its own, or that of its comparison.
    """

    folder: Path
    summary: dict[str, object]
    scenario: dict[str, object]
    saved: float

    @property
    def whole(self) -> Path:
        parent = self.folder.parent
        return parent if (parent / "comparison.csv").exists() else self.folder

    @property
    def latest(self) -> bool:
        """True if `latest` points to it."""
        link = self.whole.parent / LATEST
        return link.exists() and link.resolve() == self.whole.resolve()


def found(root: str | PathLike[str]) -> list[Found]:
    """Every run below `root`, the oldest first, without runs of sweeps."""
    root = Path(root)
    runs = [_found(path.parent) for path in sorted(root.rglob("summary.json")) if _stands_alone(path, root)]
    return sorted((run for run in runs if run), key=lambda run: (run.summary["name"], run.saved))


def sweeps(root: str | PathLike[str]) -> list[Path]:
    """The folders of sweeps below `root`."""
    return sorted(
        path.parent for path in Path(root).rglob("table.parquet") if (path.parent / "runs").is_dir()
    )


def of_folder(folder: str | PathLike[str]) -> Found:
    """The run in `folder`. Raises `ScenarioError` if there is none."""
    run = _found(Path(folder))
    if run is None:
        raise ScenarioError("no run", file=folder, expected="a folder saved by a run")
    return run


def differences(runs: Sequence[Found]) -> dict[str, list[object]]:
    """The keys in which `runs` differ: `{key: [value, …]}`, None for an absent key."""
    keys = dict.fromkeys(key for run in runs for key in run.scenario)
    values = {key: [run.scenario.get(key) for run in runs] for key in keys}
    return {key: pair for key, pair in values.items() if any(one != pair[0] for one in pair)}


def removable(root: Path, everything: bool = False) -> list[Path]:
    """Folders to remove: leftovers of killed saves, interrupted runs, runs of other code; or `everything`.

    The target of `latest` stays, and so do sweeps, folders that hold anything else, and those in use.
    """
    old = [
        run.whole
        for run in found(root)
        if not run.latest
        and store.is_ours(run.whole)
        and not store.is_used(run.whole)
        and (everything or run.summary.get("interrupted") or run.summary["version"] != version())
    ]
    return [*dict.fromkeys([*store.leftovers(root), *old])]


def size(folder: str | PathLike[str]) -> int:
    """Bytes of everything in `folder`."""
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def remove(folders: Iterable[Path]) -> None:
    """Remove these folders, except those that have changed and are no longer ours."""
    for folder in folders:
        with store.locked(folder):
            if store.is_ours(folder):
                shutil.rmtree(folder)


def _stands_alone(path: Path, root: Path) -> bool:
    below = path.relative_to(root).parts
    linked = any(parent.is_symlink() for parent in path.parents if parent != root and root in parent.parents)
    return not linked and not any(part.startswith((".", "run=")) for part in below)


def _found(folder: Path) -> Found | None:
    try:
        summary = json.loads((folder / "summary.json").read_text("utf-8"))
        scenario = dict(_flat(tomllib.loads((folder / "scenario.toml").read_text("utf-8"))))
        shape.check(summary, Head)
    except (OSError, ValueError, RecursionError):
        return None
    rows = summary.get("inputs")
    for row in rows if is_list(rows) and all(map(is_table, rows)) else ():
        scenario[f"inputs.{row.get('name')}"] = str(row.get("sha256"))[:16]
    return Found(folder, summary, scenario, (folder / "summary.json").stat().st_mtime)


def _flat(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    if is_table(value):
        for word, item in value.items():
            yield from _flat(item, f"{key}.{word}" if key else word)
    elif is_list(value) and value and is_table(value[0]):
        for place, item in enumerate(value):
            yield from _flat(item, f"{key}.{place}")
    else:
        yield key, value
