"""Mutations of one line, drawn at random: does the fast suite find them?

    python tests/mutants.py [--seed N] [--count cc=12 sim=12 python=6]          (`make mutants`)

Each mutation changes one operator, number or word of one line in a copy of the repository in target/mutants.
There the core is built and the fast suite runs until its first failure. One that does not compile is drawn
again. results/mutants-SEED.json keeps what is done, so that an interrupted run goes on. `"equal": "why"` in
an entry there says that no input can show the difference; then another is drawn.
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
from collections.abc import Iterator
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
SUITE = ["-m", "pytest", "-x", "--numprocesses", "auto"]


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
    folder = ROOT / FOLDERS[kind]
    paths = sorted(
        path for path in folder.rglob("*.*") if path.suffix in (".rs", ".py") and path.name not in GENERATED
    )
    places = [(path, index, line) for path in paths for index, line in lines_of(path) if mutations(line)]
    while True:
        path, index, line = dice.choice(places)
        new = dice.choice(mutations(line))
        yield {
            "kind": kind,
            "file": str(path.relative_to(ROOT)),
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
    for kind, count in counts.items():
        drawn = draws(kind, random.Random(f"{seed} {kind}"))
        verdicts = 0
        while verdicts < count:
            mutant = next(drawn)
            entry = next((one for one in done if {**one, **mutant} == one), None)
            if entry is None:
                entry = {**mutant, "verdict": judged(mutant)}
                done.append(entry)
                results.write_text(json.dumps(done, indent=1))
                place = f"{entry['file']}:{entry['line']}"
                print(f"{entry['verdict']}: {place}: {entry['old']}  ->  {entry['new']}", flush=True)
            verdicts += entry["verdict"] != "does not compile" and "equal" not in entry
    counted = [one for one in done if one["verdict"] != "does not compile" and "equal" not in one]
    found = sum(one["verdict"] != "survived" for one in counted)
    print(f"found {found} of {len(counted)}")
    return found < LEAST * len(counted)


def copied() -> None:
    """Copy what git tracks to COPY."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name, follow_symlinks=False)
    built()


def judged(mutant: dict[str, object]) -> str:
    """What finds this mutation: "rust", "python", or "does not compile"; or "survived"."""
    path = COPY / str(mutant["file"])
    original = path.read_text()
    lines = original.split("\n")
    line = lines[int(str(mutant["line"])) - 1]
    lines[int(str(mutant["line"])) - 1] = line.replace(str(mutant["old"]), str(mutant["new"]))
    path.write_text("\n".join(lines))
    try:
        if path.suffix == ".rs":
            if not built():
                return "does not compile"
            if not passes("cargo", "test", "--locked", "--workspace", "--quiet"):
                return "rust"
        return "survived" if passes(sys.executable, *SUITE) else "python"
    finally:
        path.write_text(original)
        if path.suffix == ".rs":
            os.utime(path)


def built() -> bool:
    """Build the core of the copy into its package; False if it does not compile."""
    if not passes("cargo", "build", "--locked", "--profile", "quick", "--package", "shallows-py"):
        return False
    shutil.copy2(COPY.parent / "target/quick/lib_core.so", COPY / "python/shallows/_core.abi3.so")
    return True


def passes(*command: str) -> bool:
    """Whether a command ends with 0 in the copy, within ten minutes."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(COPY / "python"),
        "CARGO_TARGET_DIR": str(COPY.parent / "target"),
    }
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        return subprocess.run(command, cwd=COPY, env=environment, timeout=1200, **quiet).returncode == 0
    except subprocess.TimeoutExpired:
        return False


if __name__ == "__main__":
    sys.exit(main())
