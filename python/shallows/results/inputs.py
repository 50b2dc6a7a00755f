"""The files that a scenario names, saved with its run: traces, distributions of sizes, classes in Python.

A run describes each in `summary["inputs"]` by its digest. Its folder has a copy, compressed if it is data and
as it is if it is code, which the saved scenario names by a relative path. Of data above `LIMIT` bytes, and of
code in other folders, it has the digest alone. A copy of a class is text: whether it may run is a question of
`algorithms.trust`.
"""

import gzip
import hashlib
import os
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from shallows.algorithms import trust
from shallows.base import texts
from shallows.base.toml import is_list, is_table
from shallows.errors import ScenarioError
from shallows.traffic import KINDS

if TYPE_CHECKING:
    from shallows.results.contents import Input
    from shallows.results.run import RunData
    from shallows.scenario import Scenario

LIMIT = 64 * 2**20
"""The most bytes of data of which a copy is saved."""
LIMIT_IN_SWEEP = 2**20
"""The same for each run of a sweep, which can have thousands."""


@dataclass(frozen=True)
class _File:
    """A file that a scenario names, or that its code loads: its path, and its name in the result."""

    path: Path
    name: str
    is_code: bool
    is_beside: bool

    @property
    def copy(self) -> str | None:
        """The name of its copy; of code in another folder there is none."""
        return (self.name if self.is_beside else None) if self.is_code else f"{self.name}.gz"


def of(scenario: "Scenario") -> "list[Input]":
    """A row for each file that `scenario` names."""
    of_traffic = (
        getattr(table, key, None) for table in scenario.traffic for key in KINDS[table.kind].keys_of_files()
    )
    if any(used.user_class for used in scenario.flows.ccs) or any(isinstance(one, str) for one in of_traffic):
        return described(scenario.to_toml())
    return []


def described(scenario_toml: str, folder: Path = Path()) -> "list[Input]":
    """A row for each file that a scenario in `folder` names."""
    found: list[Input] = []
    for file in _files(tomllib.loads(scenario_toml), folder):
        content = texts.content(file.path)
        size = len(content)
        copy = file.copy if file.is_code or size <= LIMIT else None
        digest = hashlib.sha256(content).hexdigest()
        found.append({"name": file.name, "bytes": size, "sha256": digest, "copy": copy})
    return found


def changed(run: "RunData") -> str | None:
    """The name of a file that is not as the run read it, or is not there; None if all are."""
    now = {row["name"]: row["sha256"] for row in described(run.scenario_toml, run.folder or Path())}
    rows = run.summary.get("inputs", [])
    return next((row["name"] for row in rows if now.get(row["name"]) != row["sha256"]), None)


def relative(run: "RunData", folder: Path, limit: int) -> tuple[str, "list[Input]", dict[str, bytes]]:
    """(scenario as TOML with relative paths, rows of `summary["inputs"]`, contents of copies) for a folder.

    A file that has changed since the run read it has no copy.
    """
    rows = {row["name"]: row for row in run.summary.get("inputs", [])}
    if not rows:
        return run.scenario_toml, [], {}
    base, tables = run.folder or Path(), tomllib.loads(run.scenario_toml)
    copies: dict[str, bytes] = {}
    names: dict[Path, str] = {}
    files = list(_files(tables, base))
    for name in rows.keys() - {file.name for file in files}:
        rows[name] = {**rows[name], "copy": None}
    for file in files:
        row = rows[file.name]
        content = texts.content(file.path) if row["copy"] and row["bytes"] <= limit else b""
        name = row["copy"]
        if name and hashlib.sha256(content).hexdigest() == row["sha256"]:
            copies[name] = content if file.is_code else gzip.compress(content, mtime=0)
            names[file.path] = name
        else:
            rows[file.name] = {**row, "copy": None}
    for table, key in _slots(tables):
        path, mark, word = _parts(table[key])
        found = _found(base, path)
        if found in names or os.path.isabs(path) or found.is_file():
            path = names.get(found) or os.path.relpath(found, folder.resolve())
        table[key] = f"{path}{mark}{word}"
    return tomli_w.dumps(tables), list(rows.values()), copies


def trust_copies(folder: Path, run: "RunData") -> None:
    """Record the copies of code that this process ran, so that its user can run them again."""
    for table, key in _slots(tomllib.loads(run.scenario_toml)):
        path, mark, _ = _parts(table[key])
        copy = folder / Path(path).name
        if mark and run.answer is not None and copy.is_file():
            trust.record(copy.resolve())


def copies_in(folder: Path, rows: object) -> set[str]:
    """The names of files in a folder that are copies as `rows`, of a summary, describe them."""
    found: set[str] = set()
    for row in rows if is_list(rows) else ():
        name = row.get("copy") if is_table(row) else None
        if not isinstance(name, str) or Path(name).name != name:
            continue
        path = folder / name
        try:
            digest = None if path.is_symlink() else hashlib.sha256(texts.content(path)).hexdigest()
        except (OSError, ValueError):
            continue
        if digest == row.get("sha256"):
            found.add(name)
    return found


def refuse_changed(run: "RunData") -> None:
    """Raise `ScenarioError` for a file that is not as the run read it."""
    name = changed(run)
    if name:
        expected = "the file with which the run was made; it has changed, or is gone. Run the scenario again"
        raise ScenarioError("input", name, expected)


def _slots(tables: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """The tables and keys of a saved scenario that name a file; values that no scenario has are left out."""
    given = tables.get("traffic")
    traffic = [table for table in given if is_table(table)] if is_list(given) else []
    for table in traffic:
        kind = table.get("kind")
        for key in KINDS[kind].keys_of_files() if isinstance(kind, str) and kind in KINDS else ():
            if isinstance(table.get(key), str) and ("/" in table[key] or "." in table[key]):
                yield table, key
    for table in (tables, *traffic):
        used = table.get("cc")
        if is_table(used) and isinstance(used.get("name"), str) and trust.MARK in used["name"]:
            yield used, "name"


def _parts(text: str) -> tuple[str, str, str]:
    """(path, ":", class) of the location of a class; (path, "", "") of data."""
    path, mark, word = text.rpartition(":") if trust.MARK in text else (text, "", "")
    return path, mark, word


def _found(folder: Path, text: str) -> Path:
    """The file of a text, searched in `folder` first as scenarios do."""
    return next((at for at in (folder / text, Path(text)) if at.is_file()), Path(text)).resolve()


def _files(tables: dict[str, Any], folder: Path) -> Iterator[_File]:
    """The files that exist, each once."""
    seen: set[Path] = set()
    used: set[str] = set()
    for table, key in _slots(tables):
        path, mark, _ = _parts(table[key])
        first = _found(folder, path)
        sources: Sequence[Path] = trust.sources(first) if mark and first.is_file() else [first]
        for source in sources:
            if source in seen or not source.is_file():
                continue
            seen.add(source)
            name = source.name if mark else source.name.removesuffix(".gz")
            number = 2
            while name in used:
                name, number = f"{source.stem}-{number}{source.suffix}", number + 1
            used.add(name)
            yield _File(source, name, bool(mark), source.parent == first.parent)
