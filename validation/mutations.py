"""`python -m validation mutations`: whether claims notice that an equation of their algorithm has changed.

The list is mutations.toml. A mutation of Rust needs a core with the feature `mutations`; one of Python a copy of the package
with that line changed. Both run in a process of their own, over a copy of the package in target/mutations, so that nothing
of the repository's own package changes. Measurements are kept there, so that an interrupted command continues.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import shallows as sh
from validation import recorded

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_name("mutations.toml")
FOLDER = ROOT / "target" / "mutations"
PAGE = ROOT / "docs" / "mutations.md"
HEAD = """# Mutations of the papers' equations

After reading this page you know which changes of one equation the claims of the five papers notice.
`python -m validation mutations` applies each in turn and writes this table; `python -m validation mutations dx-cut` runs one.
A claim notices a change if a band that passes on file fails. Of an algorithm's own law two claims should notice, else one: that was
decided before the measurement. Where fewer do, the row says so, and what the claims show instead. After it XP2 and XP12 joined the claims
of expresspass-fall, XP12 those of expresspass-w-min, and ED38 was written, because the claims named before did not notice.

| mutation | equation | change | notice | do not notice | |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Mutation:
    """A change of one line or constant.

    least: how many of `claims` should notice, 0 with a reason in `unseen`. seen: how many do, if they are fewer, and
    `unseen` says why; a measurement with fewer than these is an error.
    """

    name: str
    file: str
    equation: str
    change: str
    claims: tuple[str, ...]
    least: int
    seen: int
    unseen: str
    set: dict[str, Any]
    old: str
    new: str

    @property
    def in_core(self) -> bool:
        """Whether it is a `mutated!` of the compiled core."""
        return not (self.set or self.old)


@dataclass(frozen=True)
class Outcome:
    """The claims that notice a mutation, and those that do not."""

    mutation: Mutation
    notice: tuple[str, ...]
    blind: tuple[str, ...]

    @property
    def caught(self) -> bool:
        """Whether enough claims notice it."""
        return len(self.notice) >= self.mutation.least

    @property
    def as_listed(self) -> bool:
        """Whether no fewer claims notice it than the list says do."""
        return len(self.notice) >= self.mutation.seen

    @property
    def row(self) -> str:
        """The line of the table."""
        one = self.mutation
        missed = "" if self.caught else f"**missed**: {one.least} expected. "
        end = "caught" if one.least and self.caught else (missed + one.unseen).strip()
        cells = (one.name, one.equation, one.change, ", ".join(self.notice), ", ".join(self.blind), end)
        return f"| {' | '.join(cells)} |\n"


def load() -> list[Mutation]:
    """The mutations of the list."""
    tables = tomllib.loads(LIST.read_text("utf-8"))
    return [
        Mutation(
            name, one["file"], one["equation"], one["change"], tuple(one["claims"]), one.get("least", 0),
            one.get("seen", one.get("least", 0)), one.get("unseen", ""), one.get("set", {}), one.get("old", ""), one.get("new", ""),
        )
        for name, one in tables.items()
    ]  # fmt: skip


def choose(names: Sequence[str] | None) -> list[Mutation]:
    """The mutations with these names; all without."""
    every = {one.name: one for one in load()}
    for name in names or ():
        if name not in every:
            raise sh.ScenarioError("NAME", name, f"a table of {LIST.name}")
    return [every[name] for name in names] if names else list(every.values())


def run(chosen: Sequence[Mutation], threads: int | None = None) -> Iterator[Outcome]:
    """Measures the claims of each mutation in quick mode."""
    core = build() if any(one.in_core for one in chosen) else own_core()
    for one in chosen:
        found = measured(one, package(one, core), threads)
        notice = tuple(id_ for id_ in one.claims if _noticed(id_, found[id_]))
        yield Outcome(one, notice, tuple(id_ for id_ in one.claims if id_ not in notice))


def _noticed(id_: str, passed: Sequence[bool]) -> bool:
    before = recorded.load()["claims"][id_]["passed"]
    return any(was and not now for was, now in zip(before, passed, strict=True))


def own_core() -> Path:
    """The compiled core of the repository's package."""
    (core,) = (ROOT / "python" / "shallows").glob("_core.*.so")
    return core


def build() -> Path:
    """The compiled core with the feature `mutations`."""
    command = ["cargo", "build", "--locked", "--profile", "quick", "--package", "shallows-py"]
    subprocess.run(
        [*command, "--features", "mutations", "--target-dir", FOLDER / "build"], cwd=ROOT, check=True
    )
    return FOLDER / "build" / "quick" / "lib_core.so"


def package(mutation: Mutation, core: Path) -> Path:
    """A folder with a copy of the package, with the mutation's line changed."""
    folder = FOLDER / (mutation.name if mutation.old else "package")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "python", folder, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    (folder / "shallows" / "_core.abi3.so").symlink_to(core.resolve())
    if mutation.old:
        path = folder / Path(mutation.file).relative_to("python")
        text = path.read_text("utf-8")
        if text.count(mutation.old) != 1:
            raise sh.ScenarioError(LIST.name, mutation.old, f"a text that {mutation.file} has once")
        path.write_text(text.replace(mutation.old, mutation.new), "utf-8")
    return folder


def measured(mutation: Mutation, folder: Path, threads: int | None) -> dict[str, list[bool]]:
    """Which bands of its claims pass under a mutation: claim id -> one truth value a band."""
    environment = os.environ | {"PYTHONPATH": str(folder), "SHALLOWS_MUTATION": mutation.name}
    perturbed = [word for key, value in mutation.set.items() for word in ("--perturb", f"{key}={value}")]
    command = [sys.executable, "-m", "validation", "run", *mutation.claims, "--quick", "--json", *perturbed]
    # The environment is no part of a measurement's key, so each mutation has a store.
    command += ["--store", str(FOLDER / "measured" / mutation.name)]
    command += ["--threads", str(threads)] if threads else []
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return {id_: one["passed"] for id_, one in json.loads(done.stdout).items()}


def write(outcomes: Sequence[Outcome]) -> None:
    """Updates the rows of these mutations in the page; those of mutations that are no longer listed go."""
    rows: dict[str, str] = {}
    if PAGE.exists():
        lines = PAGE.read_text("utf-8").splitlines(keepends=True)
        rows = {line.split(" | ")[0].removeprefix("| "): line for line in lines if line.startswith("| ")}
    rows |= {one.mutation.name: one.row for one in outcomes}
    PAGE.write_text(HEAD + "".join(rows[one.name] for one in load() if one.name in rows), "utf-8")
