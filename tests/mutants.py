"""Mutations of one line, drawn at random: does the fast suite find them?

    python tests/mutants.py [--seed N] [--count cc=12 sim=12 python=6]          (`make mutants`)

Each mutation changes one operator, number or word of one line in a copy of the repository in target/mutants.
There the tests of its crate, those of the workspace and the fast suite in Python run until one fails. One
that does not compile is drawn again. results/mutants-SEED.json keeps what is done, so that an interrupted run
goes on. `"equal": "why"` in an entry there says that no input can show the difference; then another is drawn.
"""

import argparse
import json
import os
import random
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / "target" / "mutants" / "tree"
FOLDERS = {"cc": "crates/cc/src", "sim": "crates/sim/src", "python": "python/shallows"}
COUNTS = {"cc": 12, "sim": 12, "python": 6}
LEAST = 0.9
"""The share of mutations that must be found."""
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
SUITE = ["-m", "pytest", "-x", "-rfE", "--numprocesses", "auto"]
LIMIT = 1800
"""Seconds after which a suite counts as failed: a mutation may loop without end."""
CORE = Path("python/shallows/_core.abi3.so")
"""The core, in either tree; that of ROOT has no mutation."""


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


def draws(kind: str, dice: random.Random) -> Iterator[dict[str, object]]:
    """Mutations without end; each line of code is as likely as each other."""
    folder = COPY / FOLDERS[kind]
    paths = sorted(
        path
        for path in folder.rglob("*.*")
        if path.suffix in (".rs", ".py") and path.name not in GENERATED and not path.stem.endswith("tests")
    )
    places = [(path, index, line) for path in paths for index, line in lines_of(path) if mutations(line)]
    while True:
        path, index, line = dice.choice(places)
        new = dice.choice(mutations(line))
        yield {
            "kind": kind,
            "file": str(path.relative_to(COPY)),
            "line": index + 1,
            "old": line.strip(),
            "new": new.strip(),
        }


def main() -> int:
    asked = argparse.ArgumentParser(prog="mutants", description=__doc__)
    asked.add_argument("--seed", type=int, default=None)
    asked.add_argument("--count", nargs="*", default=[], metavar="KIND=N")
    given = asked.parse_args()
    seed = secrets.randbelow(10**6) if given.seed is None else given.seed
    counts = COUNTS | {kind: int(count) for kind, count in (part.split("=") for part in given.count)}
    print(f"seed {seed}", flush=True)
    results = ROOT / "results" / f"mutants-{seed}.json"
    results.parent.mkdir(exist_ok=True)
    done: list[dict[str, object]] = json.loads(results.read_text()) if results.exists() else []
    copied()
    for kind in ("cc", "sim"):
        if (
            counts[kind]
            and status("cargo", "test", "--locked", "--quiet", "--package", f"shallows-{kind}")[0]
        ):
            sys.exit(f"the tests of crates/{kind} fail without a mutation")
    unfit: list[str] = []
    for kind, count in counts.items():
        drawn = draws(kind, random.Random(f"{seed} {kind}"))
        verdicts = 0
        while verdicts < count:
            mutant = next(drawn)
            entry = next((one for one in done if {**one, **mutant} == one), None)
            if entry is None:
                entry = {**mutant, **judged(mutant, unfit)}
                done.append(entry)
                results.write_text(json.dumps(done, indent=1))
                place = f"{entry['file']}:{entry['line']}"
                by = f" ({entry['by']})" if "by" in entry else ""
                print(f"{entry['verdict']}{by}: {place}: {entry['old']}  ->  {entry['new']}", flush=True)
            verdicts += is_counted(entry)
    counted = [one for one in done if is_counted(one)]
    found = sum(one["verdict"] in ("rust", "python") for one in counted)
    print(f"found {found} of {len(counted)}")
    return found < LEAST * len(counted)


def is_counted(entry: dict[str, object]) -> bool:
    """False for a mutation that does not compile or changes nothing."""
    return entry["verdict"] != "does not compile" and "equal" not in entry


def copied() -> None:
    """Copy what git tracks, and the core, to COPY."""
    shutil.rmtree(COPY, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name, follow_symlinks=False)
    shutil.copy2(ROOT / CORE, COPY / CORE)


def judged(mutant: dict[str, object], unfit: list[str]) -> dict[str, str]:
    """`verdict`, which is "rust", "python", "survived" or "does not compile"; and the test that failed, `by`.

    A test of Python counts only if it passes without the mutation: some fail on a busy machine, or in a copy
    without git. These go to `unfit`, and the suite is repeated without them.
    """
    path = COPY / str(mutant["file"])
    with changed(path, mutant):
        if path.suffix == ".rs" and (verdict := judged_by_rust(path)):
            return verdict
    suites = [tests for tests in (likely(path), ["tests"]) if tests]
    while suites:
        with changed(path, mutant):
            if path.suffix == ".rs":
                built()
            failed, test = suite(suites[0], unfit)
        if path.suffix == ".rs":
            shutil.copy2(ROOT / CORE, COPY / CORE)
        if not failed:
            suites.pop(0)
        elif "::" not in test or not suite([test.partition("[")[0]], [])[0]:
            return {"verdict": "python", "by": test}
        else:
            unfit.append(test.partition("[")[0])
    return {"verdict": "survived"}


@contextmanager
def changed(path: Path, mutant: dict[str, object]) -> Generator[None]:
    """The copy with a mutation of this file."""
    original = path.read_text()
    lines = original.split("\n")
    index = int(str(mutant["line"])) - 1
    lines[index] = lines[index].replace(str(mutant["old"]), str(mutant["new"]))
    path.write_text("\n".join(lines))
    try:
        yield
    finally:
        path.write_text(original)


def judged_by_rust(path: Path) -> dict[str, str] | None:
    """The verdict of the crate's unit tests, then of all its tests, then of all crates; None if they pass."""
    package = f"shallows-{path.relative_to(COPY / 'crates').parts[0]}"
    if status("cargo", "test", "--no-run", "--locked", "--package", package, "--lib")[0]:
        return {"verdict": "does not compile"}
    for scope in (("--package", package, "--lib"), ("--package", package), ("--workspace",)):
        failed, test = status("cargo", "test", "--locked", "--quiet", *scope)
        if failed:
            return {"verdict": "rust", "by": test}
    return None if built() else {"verdict": "does not compile"}


def suite(tests: list[str], unfit: list[str]) -> tuple[bool, str]:
    """Whether these tests of Python fail, `unfit` ones apart, and the first that does."""
    return status(sys.executable, *SUITE, *(f"--deselect={test}" for test in unfit), *tests)


def likely(path: Path) -> list[str]:
    """The tests that run first: they import the module of a Python file, or are named like its folder."""
    if path.suffix == ".rs":
        return ["tests/test_fingerprints.py"]
    module = ".".join(path.relative_to(COPY / "python").with_suffix("").parts).removesuffix(".__init__")
    name = re.compile(rf"{re.escape(module)}\b|\b{path.stem}\b")
    found: list[str] = []
    for test in sorted((COPY / "tests").rglob("test_*.py")):
        place = str(test.relative_to(COPY / "tests"))
        imports = [line for line in test.read_text().split("\n") if re.match(r"from |import ", line)]
        if path.parent.name in place or any(name.search(line) for line in imports):
            found.append(f"tests/{place}")
    return found


def built() -> bool:
    """Build the core of the copy into its package; False if it does not compile."""
    if status("cargo", "build", "--locked", "--profile", "quick", "--package", "shallows-py")[0]:
        return False
    shutil.copy2(COPY.parent / "target/quick/lib_core.so", COPY / CORE)
    return True


def status(*command: str) -> tuple[bool, str]:
    """Whether a command fails in the copy or takes longer than LIMIT, and the test that fails."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(COPY / "python"),
        "CARGO_TARGET_DIR": str(COPY.parent / "target"),
    }
    try:
        done = subprocess.run(
            command, cwd=COPY, env=environment, timeout=LIMIT, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return True, f"longer than {LIMIT} s"
    found = re.search(r"^(?:FAILED|ERROR) (\S+)|^---- (\S+)|^test (\S+) .*FAILED$", done.stdout, re.MULTILINE)
    named = next(filter(None, found.groups()), "") if found else done.stdout[-300:]
    return done.returncode != 0, named


if __name__ == "__main__":
    sys.exit(main())
