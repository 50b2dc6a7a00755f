"""`python -m validation mutations`: whether claims and tests notice that an equation of their algorithm has changed.

The list is mutations.toml. All of it is put into one copy of the sources, in target/mutations/tree, as switches that the environment
variable SHALLOWS_MUTATION sets: one build serves every mutation, and nothing of it stands in the sources.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import shallows as sh
from validation import recorded
from validation.documentation import ROOT
from validation.survey import claims

LIST = Path(__file__).with_name("mutations.toml")
FOLDER = ROOT / "target" / "mutations"
TREE, BUILT = FOLDER / "tree", FOLDER / "build"
PAGE = ROOT / "docs" / "mutations.md"
HEAD = """# Mutations of the papers' equations

After reading this page you know which changes of one equation, constant, order or clamp of the five papers the claims and the tests
notice. `python -m validation mutations` measures each and writes this table; `python -m validation mutations dx-cut` measures one, and
`python -m validation mutations --draw 20 --seed 7` twenty of the papers' that the seed draws. The list is `validation/mutations.toml`: the equations and
constants, each once, as a text of the source and the text in its place.

A claim notices a change if a band that passes on file fails, unless seeds leave that band open. Of an algorithm's own law two claims should notice, else one; the claims of a
row are measured in the order of the list until enough do. Where fewer do, the row says so, and why. Tests are those of `make test` that the list names: all of `crates/cc`, or the file of the fluid model or
port. A row that has not been measured on this list is left out. No claim is about BBRv3: the test cases of its draft notice.
"""
COLUMNS = """
| mutation | equation | change | claims that notice | that do not | tests | |
|---|---|---|---|---|---|---|
"""
SWITCH = """//! Switches of `python -m validation mutations`.

/// Whether the mutation with this number acts in this process.
#[inline]
pub fn acts(number: u32) -> bool {
    static CHOSEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let chosen = || std::env::var("SHALLOWS_MUTATION").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    *CHOSEN.get_or_init(chosen) == number
}
"""


@dataclass(frozen=True)
class Mutation:
    """A change of one text of the sources, with the fields that mutations.toml explains.

    number: its place in the list, from 1, which the switch compares.
    """

    number: int
    name: str
    file: str
    equation: str
    change: str
    printed: str
    changed: str
    claims: tuple[str, ...]
    least: int
    seen: int
    unseen: str
    test: str

    def span(self, text: str) -> tuple[int, int]:
        """First and last position of the replaced part in the file's `text`, which has the printed text once."""
        before, begins, rest = self.printed.partition("«")
        part, _, after = rest.partition("»") if begins else (before, "", "")
        whole = before + part + after if begins else part
        if text.count(whole) != 1:
            raise sh.ScenarioError(
                LIST.name, whole, f"a text that {self.file} has exactly once ({self.name})"
            )
        start = text.index(whole) + (len(before) if begins else 0)
        return start, start + len(part)


class Outcome(NamedTuple):
    """The claims that notice a mutation, those that do not, and whether its tests fail (None: not run)."""

    mutation: Mutation
    notice: tuple[str, ...]
    blind: tuple[str, ...]
    tested: bool | None

    @property
    def caught(self) -> bool:
        """Whether enough claims notice it."""
        return len(self.notice) >= self.mutation.least

    @property
    def as_listed(self) -> bool:
        """Whether the tests and no fewer claims than the list says notice it."""
        return len(self.notice) >= self.mutation.seen and self.tested is not False

    @property
    def row(self) -> str:
        """The line of the table."""
        one = self.mutation
        missed = "" if self.caught else f"**missed**: {one.least} expected. "
        end = "caught" if self.notice and self.caught else (missed + one.unseen).strip()
        tested = {None: "", True: "notice", False: "**do not**"}[self.tested]
        lists = (", ".join(self.notice), ", ".join(self.blind))
        return f"| {' | '.join((one.name, one.equation, one.change, *lists, tested, end))} |\n"


def load() -> list[Mutation]:
    """The mutations of the list."""
    tables = tomllib.loads(LIST.read_text("utf-8"))
    return [
        Mutation(
            number, name, one["file"], one["equation"], one["change"], one["printed"], one["changed"], tuple(one["claims"]),
            one.get("least", 0), one.get("seen", one.get("least", 0)), one.get("unseen", ""), one.get("test", "cc"),
        )
        for number, (name, one) in enumerate(tables.items(), 1)
    ]  # fmt: skip


def choose(names: Sequence[str] | None, draw: int = 0, seed: int = 0) -> list[Mutation]:
    """The mutations with these names; without any `draw` of those that claims are about, by the seed; all if that is 0."""
    every = {one.name: one for one in load()}
    for name in names or ():
        if name not in every:
            raise sh.ScenarioError("NAME", name, f"a table of {LIST.name}")
    if not names and draw:
        judged = [one.name for one in every.values() if one.claims]
        names = random.Random(seed).sample(judged, min(draw, len(judged)))
    return [every[name] for name in names] if names else list(every.values())


def run(
    chosen: Sequence[Mutation], threads: int | None = None, *, measures: bool = True, tests: bool = True
) -> Iterator[Outcome]:
    """Runs the tests of each mutation, and measures its claims in quick mode, in their order, until enough notice it."""
    programs = build(tests)
    for one in chosen:
        tested = fails(one, programs) if tests else None
        notice: list[str] = []
        blind: list[str] = []
        for id_ in one.claims if measures else ():
            if len(notice) >= max(one.least, 1):
                break
            (notice if _noticed(id_, measured(one, id_, threads)) else blind).append(id_)
        yield Outcome(one, tuple(notice), tuple(blind), tested)


def _noticed(id_: str, passed: Sequence[bool]) -> bool:
    """Whether a band that passes on file fails, and other seeds would not make it fail without the mutation."""
    (claim,), entry = claims([id_]), recorded.load()["claims"][id_]
    unsure = {*claim.undecided, *entry.get("open", {})}
    sides = zip(claim.bands, entry["passed"], passed, strict=True)
    return any(was and not now and band.metric not in unsure for band, was, now in sides)


def switched(file: str, text: str, mutations: Sequence[Mutation]) -> str:
    """The text of a file with switches for `mutations`, all of which are about it."""
    spans = sorted(((*one.span(text), one) for one in mutations), key=lambda one: (one[0], -one[1]))
    python = file.endswith(".py")
    body = _within(
        text, 0, len(text), spans, python, "shallows_cc" if file.startswith("crates/sim/") else "crate"
    )
    if not python:
        return body
    names = "".join(
        f'_ACTS_{one.number} = _environ.get("SHALLOWS_MUTATION") == "{one.number}"\n' for one in mutations
    )
    at = min(body.index(f"\n{word} ") for word in ("from", "import") if f"\n{word} " in body) + 1
    return f"{body[:at]}from os import environ as _environ\n{names}{body[at:]}"


def _within(
    text: str, begin: int, end: int, spans: Sequence[tuple[int, int, Mutation]], python: bool, root: str
) -> str:
    """`text[begin:end]` with the switches of `spans`, which are disjoint or one within the other, outer ones first."""
    parts: list[str] = []
    while spans:
        (start, stop, one), *rest = spans
        if start < begin or stop > end:
            raise sh.ScenarioError(
                LIST.name, one.name, "a text that lies within or apart from those of the others"
            )
        inner = [span for span in rest if span[0] < stop]
        spans = rest[len(inner) :]
        printed = _within(text, start, stop, inner, python, root)
        parts += [text[begin:start], _switch(one, printed, python, root)]
        begin = stop
    return "".join([*parts, text[begin:end]])


def _switch(one: Mutation, printed: str, python: bool, root: str) -> str:
    if python:
        return f"(({one.changed}) if _ACTS_{one.number} else ({printed}))"
    acts = f"if {root}::mutation::acts({one.number})"
    if printed.startswith("{"):
        return f"{{ {acts} {one.changed} else {printed} }}"
    either = f"{acts} {{ {one.changed} }} else {{ {printed} }}"
    return either if printed.endswith(";") else f"({either})"


def write_tree() -> None:
    """Makes the copy of the sources with all switches. Files that have not changed keep their times, so that less is built."""
    places = ("Cargo.toml", "Cargo.lock", ".cargo", "crates", "bpf", "python", "scenarios", "data")
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", *places], cwd=ROOT, check=True, capture_output=True, text=True
    )  # fmt: skip
    every = load()
    for file in filter(lambda name: (ROOT / name).is_file(), listed.stdout.splitlines()):
        content, about = (ROOT / file).read_bytes(), [one for one in every if one.file == file]
        if about:
            content = switched(file, content.decode(), about).encode()
        if file in ("crates/cc/src/lib.rs", "crates/sim/src/lib.rs"):
            content = b"#![allow(unused_parens)]\n" + content
        if file == "crates/cc/src/lib.rs":
            content += b"\n#[allow(missing_docs)]\npub mod mutation;\n"
        _put(TREE / file, content)
    _put(TREE / "crates" / "cc" / "src" / "mutation.rs", SWITCH.encode())


def _put(path: Path, content: bytes) -> None:
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def build(tests: bool) -> Mapping[str, Sequence[Path]]:
    """Builds the core of the copy, and with `tests` the test programs of crates/cc ("cc") and of crates/sim's units ("sim")."""
    write_tree()
    _cargo("build", "--package", "shallows-py")
    core = TREE / "python" / "shallows" / "_core.abi3.so"
    shutil.copyfile(BUILT / "quick" / "lib_core.so", core)
    if not tests:
        return {}
    programs = {
        "cc": _programs("--package", "shallows-cc"),
        "sim": _programs("--package", "shallows-sim", "--lib"),
    }
    for program in (*programs["cc"], *programs["sim"]):
        subprocess.run([program, "--quiet"], cwd=TREE / "crates" / "cc", env=_environment(None), check=True)
    return programs


def _cargo(*words: str) -> str:
    command = ["cargo", words[0], "--locked", "--profile", "quick", "--target-dir", BUILT, *words[1:]]
    return subprocess.run(command, cwd=TREE, check=True, stdout=subprocess.PIPE, text=True).stdout


def _programs(*words: str) -> list[Path]:
    lines = map(json.loads, _cargo("test", "--no-run", "--message-format", "json", *words).splitlines())
    return [Path(line["executable"]) for line in lines if line.get("executable")]


def fails(one: Mutation, programs: Mapping[str, Sequence[Path]]) -> bool:
    """Whether the tests that the list names fail under a mutation; a test that does not end in five minutes fails."""
    kind, _, word = one.test.partition(" ")
    if kind in programs:
        commands = [[str(program), "--quiet", *([word] if word else [])] for program in programs[kind]]
    else:
        commands = [
            [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-x",
                "-n",
                "0",
                "-p",
                "no:cacheprovider",
                *one.test.split(),
            ]
        ]
    place = TREE / "crates" / "cc" if kind in programs else ROOT
    return not all(_passes(command, place, one) for command in commands)


def _passes(command: Sequence[str], place: Path, one: Mutation) -> bool:
    quiet, environment = subprocess.DEVNULL, _environment(one)
    try:
        status = subprocess.run(
            command, cwd=place, env=environment, timeout=300, stdout=quiet, stderr=quiet
        ).returncode
    except subprocess.TimeoutExpired:
        return False
    if status > 1 and "pytest" in command:
        raise sh.ScenarioError(f"test of {one.name}", one.test, "words for pytest that select a test")
    return status == 0


def _environment(one: Mutation | None) -> dict[str, str]:
    """The environment of a process under a mutation. Numba's cache does not know of it, so equations have one each."""
    own = one.name if one and one.file.endswith(".py") else "all"
    return os.environ | {
        "PYTHONPATH": str(TREE / "python"),
        "SHALLOWS_MUTATION": str(one.number if one else 0),
        "NUMBA_CACHE_DIR": str(FOLDER / "numba" / own),
    }


def measured(one: Mutation, id_: str, threads: int | None = None) -> list[bool]:
    """Which bands of a claim pass under a mutation. None passes where the measurement fails."""
    command = [sys.executable, "-m", "validation", "run", id_, "--quick", "--witness", "--json"]
    # The environment is no part of a measurement's key, so each mutation has a store.
    command += ["--store", str(FOLDER / "measured" / one.name)]
    command += ["--threads", str(threads)] if threads else []
    done = subprocess.run(command, cwd=ROOT, env=_environment(one), stdout=subprocess.PIPE, text=True)
    if done.returncode:
        return [False] * len(recorded.load()["claims"][id_]["passed"])
    return json.loads(done.stdout)[id_]["passed"]


def write(outcomes: Sequence[Outcome]) -> None:
    """Updates the rows of these mutations in the page; those of mutations that are no longer listed go."""
    rows: dict[str, str] = {}
    if PAGE.exists():
        lines = PAGE.read_text("utf-8").splitlines(keepends=True)
        rows = {line.split(" | ")[0].removeprefix("| "): line for line in lines if line.startswith("| ")}
    rows |= {one.mutation.name: one.row for one in outcomes}
    every = load()
    listed = [rows[one.name] for one in every if one.name in rows]
    count = f"Of {len(every)} mutations {len(listed)} are measured.\n"
    PAGE.write_text(f"{HEAD}{count}{COLUMNS}{''.join(listed)}", "utf-8")
