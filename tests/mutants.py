"""Mutations of one line, drawn at random: which suite finds them?

    python tests/mutants.py [--seed N] [--commit C] [--table FILE] [--count cc=12 ...]      (`make mutants`)

Each mutation changes one operator, number or word of one line in a clone of the repository at a commit, in
target/mutants. There the tests of its crate run, then those of all crates, then the fast suite in Python,
which begins with the files that import its module, until one fails. A mutation that does not compile is
drawn again. The table on file keeps what is done, so that an interrupted run goes on. `equal = "why"` in a
row says that no input can show the difference; then another mutation is drawn.

    python tests/mutants.py --again --commit C --table FILE

judges the mutations of a table on another commit. A row whose line is gone there needs
`moved = [file, old, new]`. tests/mutants.toml has those of seed 20261128, to which a change of the suite is
held.
"""

import argparse
import os
import random
import re
import resource
import secrets
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from math import comb
from pathlib import Path

import tomli_w

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {
    "cc": "crates/cc/src",
    "sim": "crates/sim/src",
    "python": "python/shallows",
    "exporter": "python/shallows/export",
    "report": "python/shallows/printing",
    "importer": "python/shallows/importers",
    "figure": "python/shallows/plot",
}
COUNTS = dict.fromkeys(FOLDERS, 0) | {"cc": 12, "sim": 12, "python": 6}
LEAST = 0.9
"""The share of mutations that a suite must find."""
CHANCE = 0.05
"""The share of draws in which one that finds just `LEAST` is said to find fewer: with twelve mutations, 8."""
NOT_COMPILED = "does not compile"
SURVIVED = "survived"
GENERATED = {"contract.py"}
SWAPS = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "),
    (r" != ", " == "), (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "),
    (r" \+= ", " -= "), (r" -= ", " += "), (r" && ", " || "), (r" \|\| ", " && "), (r" and ", " or "),
    (r" or ", " and "), (r"\bnot ", ""), (r"!(?=[a-z(])", ""),
    (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"\bTrue\b", "False"), (r"\bFalse\b", "True"),
    (r"\bmin\b", "max"), (r"\bmax\b", "min"),
]  # fmt: skip
NUMBER = re.compile(r"(?<![\w.])(\d+)(?![\w.])")
PROCESSOR_S = 1800
"""Processor time after which a process counts as failed: a mutation may loop without end."""
PATIENCE_S = 4 * 3600
"""Time after which a suite counts as failed: a mutation may wait without end."""
CORE = "python/shallows/_core.abi3.so"


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """(index, line) of code: no comments, attributes, imports, texts, or tests."""
    text = path.read_text()
    if path.suffix == ".py":
        text = re.sub(r'"""(?s:.*?)"""', lambda found: re.sub(r"[^\n]", "", found[0]), text)
    for index, line in enumerate(text.split("\n")):
        if "#[cfg(test)]" in line:
            return
        code = line.strip()
        if code and not re.match(r'//|#|use |import |from |pub mod|mod |assert|debug_assert|f?"', code):
            yield index, line


def mutations(line: str) -> list[str]:
    """What the line can become. Texts in quotes stay as they are."""
    spans = [found.span() for found in re.finditer(r'"(?:[^"\\]|\\.)*"|//.*|#.*', line)]
    found = [(match, new) for old, new in SWAPS for match in re.finditer(old, line)]
    found += [(match, str(int(match[1]) + 1)) for match in NUMBER.finditer(line)]
    return [
        line[: match.start()] + new + line[match.end() :]
        for match, new in found
        if not any(start <= match.start() < end for start, end in spans)
    ]


@dataclass
class Row:
    """A mutation of one line, and what found it."""

    kind: str
    file: str
    line: int
    old: str
    new: str
    equal: str = ""
    """Why no input can show the difference."""
    moved: list[str] = field(default_factory=list[str])
    """File, old and new line on later commits."""
    found: dict[str, str] = field(default_factory=dict[str, str])
    """For each commit the suite and the test that failed, `SURVIVED`, or `NOT_COMPILED`."""

    def counts(self) -> bool:
        """False for a mutation that does not compile, on any commit, or changes nothing."""
        return NOT_COMPILED not in self.found.values() and not self.equal


def draws(tree: Path, kind: str, dice: random.Random) -> Iterator[Row]:
    """Mutations without end; each line of code is as likely as each other."""
    paths = sorted(
        path
        for path in (tree / FOLDERS[kind]).rglob("*.*")
        if path.suffix in (".rs", ".py") and path.name not in GENERATED and not _tests(path.relative_to(tree))
    )
    places = [(path, index, line) for path in paths for index, line in lines_of(path) if mutations(line)]
    while True:
        path, index, line = dice.choice(places)
        new = dice.choice(mutations(line))
        name = str(path.relative_to(tree))
        yield Row(kind, name, index + 1, line.strip(), new.strip())


def _tests(path: Path) -> bool:
    """Whether a file has tests alone, by its name or a folder's."""
    return any(part.endswith(("tests", "_cases")) for part in path.with_suffix("").parts)


class Table:
    """The file of mutations and of what found them."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        kept = tomllib.loads(path.read_text()) if path.exists() else {}
        self.seed: int = kept.get("seed", seed)
        self.rows = [Row(**row) for row in kept.get("mutation", [])]

    def save(self) -> None:
        """Write the file at once or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        rows = [{key: value for key, value in vars(row).items() if value} for row in self.rows]
        filling = self.path.with_suffix(".partial")
        filling.write_text(tomli_w.dumps({"seed": self.seed, "mutation": rows}))
        filling.replace(self.path)

    def row(self, drawn: Row) -> Row:
        """The row of a mutation, which is added if it is new."""
        wanted = (drawn.file, drawn.line, drawn.new)
        for row in self.rows:
            if (row.file, row.line, row.new) == wanted:
                return row
        self.rows.append(drawn)
        return drawn

    def summary(self, commit: str) -> tuple[int, int]:
        """How many mutations were found on a commit, and of how many."""
        judged = [row.found[commit] for row in self.rows if row.counts() and commit in row.found]
        return sum(verdict != SURVIVED for verdict in judged), len(judged)


def main() -> int:
    """Judge mutations; return 1 if so few are found that the suite finds fewer than `LEAST`."""
    asked = argparse.ArgumentParser(prog="mutants", description=__doc__)
    asked.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    asked.add_argument("--commit", default="HEAD")
    asked.add_argument("--folder", type=Path, default=ROOT / "target" / "mutants", help="where the clone is")
    asked.add_argument("--table", type=Path, help="results/mutants-SEED.toml if absent")
    asked.add_argument("--again", action="store_true", help="judge the mutations of the table")
    asked.add_argument("--count", nargs="*", default=[], metavar="KIND=N")
    given = asked.parse_args()
    table = Table(given.table or ROOT / "results" / f"mutants-{given.seed}.toml", given.seed)
    print(f"seed {table.seed}", flush=True)
    clone = Clone(given.folder / "tree", given.commit)
    if given.again:
        for row in table.rows:
            if row.counts():
                judge(clone, table, row)
    else:
        wanted = COUNTS | {kind: int(count) for kind, count in (part.split("=") for part in given.count)}
        for kind, count in wanted.items():
            drawn, judged = draws(clone.tree, kind, random.Random(f"{table.seed} {kind}")), 0
            while judged < count:
                row = table.row(next(drawn))
                judge(clone, table, row)
                judged += row.counts()
    found, judged = table.summary(clone.commit)
    print(f"found {found} of {judged}")
    return too_few(found, judged)


def too_few(found: int, judged: int) -> bool:
    """Whether a suite that finds `LEAST` of all mutations finds so few of those drawn in `CHANCE` or less."""
    missed = 1 - LEAST
    ways = (comb(judged, count) * LEAST**count * missed ** (judged - count) for count in range(found + 1))
    return sum(ways) <= CHANCE


def judge(clone: "Clone", table: Table, row: Row) -> None:
    """Put what finds a mutation into its row, unless it is known."""
    if clone.commit in row.found or row.equal:
        return
    row.found[clone.commit] = clone.verdict(row)
    table.save()
    print(f"{row.found[clone.commit]}: {row.file}:{row.line}: {row.old}  ->  {row.new}", flush=True)


class Clone:
    """A clone of the repository at a commit, with a core and an environment of its own."""

    def __init__(self, tree: Path, commit: str) -> None:
        self.tree = tree.absolute()
        if not self.tree.exists():
            subprocess.run(["git", "clone", "--quiet", "--shared", ROOT, self.tree], check=True)
        for command in (["fetch", "--quiet"], ["checkout", "--quiet", "--force", self._hash(ROOT, commit)]):
            subprocess.run(["git", *command], cwd=self.tree, check=True)
        self.commit = self._hash(self.tree, "HEAD")[:8]
        subprocess.run(["make", "--silent", "build", ".venv/test-ready"], cwd=self.tree, check=True)
        self.core = self.tree.parent / "core.so"
        """A core without a mutation."""
        shutil.copy2(self.tree / CORE, self.core)
        self.unfit: list[str] = []
        """Tests that fail without a mutation too: on a busy machine, or by chance."""

    @staticmethod
    def _hash(tree: Path, commit: str) -> str:
        command = ["git", "rev-parse", commit]
        return subprocess.run(command, cwd=tree, check=True, capture_output=True, text=True).stdout.strip()

    def verdict(self, row: Row) -> str:
        """The first suite that finds a mutation and its test, or `SURVIVED`, or `NOT_COMPILED`."""
        name, old, new = row.moved or (row.file, row.old, row.new)
        path = self.tree / name
        original = path.read_text()
        lines = original.split("\n")
        places = [index for index, line in enumerate(lines) if line.strip() == old]
        if not places:
            sys.exit(f"{name} has no line {old!r}: expected `moved = [file, old, new]` in its row")
        index = min(places, key=lambda index: abs(index + 1 - row.line))
        lines[index] = lines[index].replace(old, new)

        @contextmanager
        def changed() -> Generator[None]:
            path.write_text("\n".join(lines))
            try:
                yield
            finally:
                path.write_text(original)

        if path.suffix == ".rs":
            with changed():
                found = self._by_rust(path)
            return found or self._by_python(path, changed)
        return self._by_python(path, changed)

    def _by_rust(self, path: Path) -> str | None:
        """The verdict of the tests of the crate, then of all crates; None if they pass."""
        package = f"shallows-{path.relative_to(self.tree / 'crates').parts[0]}"
        if self.status("cargo", "test", "--no-run", "--locked", "--package", package, "--lib")[0]:
            return NOT_COMPILED
        for suite, scope in (
            ("crate", ("--package", package, "--lib")),
            ("crate", ("--package", package)),
            ("crates", ("--workspace",)),
        ):
            failed, test = self.status("cargo", "test", "--locked", "--quiet", *scope)
            if failed:
                return f"{suite}: {test}"
        return None

    def _by_python(self, path: Path, changed: Callable[[], AbstractContextManager[None]]) -> str:
        """The verdict of the fast suite, which ends at the first test that fails only with the mutation."""
        rust, left = path.suffix == ".rs", self.files(path)
        if rust:
            build = ("cargo", "build", "--locked", "--profile", "quick", "--package", "shallows-py")
            with changed():
                if self.status(*build)[0]:
                    return NOT_COMPILED
            shutil.copy2(self.tree / "target/quick/lib_core.so", self.tree.parent / "mutated.so")

        def failing(*tests: str) -> tuple[bool, str]:
            if not rust:
                with changed():
                    return self.pytest(*tests)
            shutil.copy2(self.tree.parent / "mutated.so", self.tree / CORE)
            try:
                return self.pytest(*tests)
            finally:
                shutil.copy2(self.core, self.tree / CORE)

        while True:
            failed, test = failing(*left)
            if not failed:
                return SURVIVED
            if "::" not in test:
                return f"python: {test}"
            name = test.partition("[")[0]
            if not self.pytest(name)[0] and failing(name)[0]:
                return f"python: {test}"
            self.unfit.append(name)
            print(f"unfit: {name}", flush=True)
            left = left[left.index(name.partition("::")[0]) :]

    def files(self, path: Path) -> list[str]:
        """The files of tests: those first that import the module or are named like it or its folder."""
        tests = sorted((self.tree / "tests").rglob("test_*.py"))
        if path.suffix == ".rs":
            first = {"test_fingerprints.py": 0}
        else:
            module = ".".join(path.relative_to(self.tree / "python").with_suffix("").parts)
            whole = re.compile(rf"{re.escape(module.removesuffix('.__init__'))}\b")
            stem = re.compile(rf"\b{path.stem}\b")
            first = {}
            for test in tests:
                text = test.read_text()
                imports = "\n".join(re.findall(r"^(?:from|import) .*|^\)|^    \w+,$", text, re.MULTILINE))
                near = path.stem in test.stem or path.parent.name in test.parts[-2:]
                if whole.search(imports) or stem.search(imports) or near:
                    first[test.name] = 0
                elif path.parent.name in text:
                    first[test.name] = 1
        order = sorted(tests, key=lambda test: first.get(test.name, 2))
        return [str(test.relative_to(self.tree)) for test in order]

    def pytest(self, *tests: str) -> tuple[bool, str]:
        """Whether these tests of Python fail, unfit ones apart, and the first that does."""
        options = ["-x", "-rfE", "--numprocesses", "0", *(f"--deselect={test}" for test in self.unfit)]
        return self.status(str(self.tree / ".venv/bin/python"), "-m", "pytest", *options, *tests)

    def status(self, *command: str) -> tuple[bool, str]:
        """Whether a command fails in the clone, or takes too long, and the test that fails."""
        environment = {
            **os.environ,
            "VIRTUAL_ENV": str(self.tree / ".venv"),
            "CARGO_BUILD_JOBS": "1",
            "RUST_TEST_THREADS": "1",
        }
        limit = resource.getrlimit(resource.RLIMIT_CPU)[1]
        try:
            done = subprocess.run(
                command, cwd=self.tree, env=environment, timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, limit)),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return True, f"longer than {PATIENCE_S} s"
        # Status 5 of pytest: no test was selected.
        pattern = r"^(?:FAILED|ERROR) (\S+)|^---- (\S+)|^test (\S+) .*FAILED$"
        found = re.search(pattern, done.stdout, re.MULTILINE)
        named = next(filter(None, found.groups()), "") if found else done.stdout.strip().rpartition("\n")[2]
        return done.returncode not in (0, 5), named.strip().replace(f"{self.tree}/", "")


if __name__ == "__main__":
    sys.exit(main())
