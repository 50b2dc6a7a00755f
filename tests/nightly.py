"""`make nightly`: the checks that take longer than a landing may, with their results in docs/nightly.md.

    python tests/nightly.py [PART ...]
    python tests/nightly.py --due

Without names all parts run that have no pass or skip on this commit, also after one that fails. A part is
a list of steps. A step that passed on this commit is not repeated, so that a part that was interrupted
goes on where it ended; a part that is named and has passed begins anew. `--due` names the parts that
failed, were interrupted, are older than `OLD_DAYS` or never ran.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Timer

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "nightly.md"
STATES = ROOT / "results" / "nightly"
"""The folder of what is done of each commit."""
WRITTEN = ("docs/nightly.md", "docs/mutations.md", "docs/peers.md", "bench/peers/results.json")
"""What parts write: a change of these makes no other commit."""
PYTHON = ".venv/bin/python"
NIGHT_MINUTES = 8 * 60
"""What all parts may take together."""


@dataclass(frozen=True)
class Part:
    """Steps, commands of a shell, and the minutes that they may take together at a time."""

    minutes: int
    steps: tuple[str, ...]


def pytest(files: str, options: str = "--numprocesses auto") -> str:
    """A step of the dearest tests of files."""
    return f"SHALLOWS_SOAK=1 {PYTHON} -m pytest {files} {options} -m 'nightly and not kernel'"


def soak(grammar: str, count: int, more: str = "") -> str:
    """A step of random scenarios."""
    return (
        f"cd tests && ../{PYTHON} -m soak --grammar {grammar} --seed {{seed}} --count {count} {more}"
        f" --seconds {{seconds}} --state {{state}}.json --out ../results/soak"
    )


PARTS = {
    "python": Part(
        60,
        (
            pytest("tests/test_[a-e]*.py"),
            pytest("tests/test_[f-m]*.py"),
            pytest("tests/test_[n-r]*.py"),
            pytest("tests/test_[s-v]*.py tests/test_w[!i]*.py tests/test_wi[!r]*.py"),
            pytest("tests/fluid tests/test_wire.py tests/test_wire_[!b]*.py"),
        ),
    ),
    "wire": Part(25, (pytest("tests/test_wire_bands.py", ""),)),
    "kernel": Part(25, (f"SHALLOWS_SOAK=1 {PYTHON} -m pytest -m kernel",)),
    "left-out": Part(15, ("CI_BASE=$(git rev-parse HEAD) .ci/run rust live counts",)),
    "rust": Part(
        30,
        tuple(
            f"SHALLOWS_SOAK_FROM={first} SHALLOWS_SOAK=2500 SHALLOWS_DOMAINS=500"
            " cargo test --locked --release --package shallows-sim soak"
            for first in range(0, 10000, 2500)
        ),
    ),
    "driven": Part(
        15,
        (
            "SHALLOWS_DRIVEN=200 cargo test --locked --release --package shallows-sim driven",
            "SHALLOWS_MESSAGES=1000000 cargo test --locked --release --package shallows-sim memory_follows",
            "SHALLOWS_ROUNDS=12 cargo test --locked --release --package shallows-sim slices_take",
            "SHALLOWS_COPIES=10000 cargo test --locked --release --package shallows-sim copies_take",
        ),
    ),
    "oracles": Part(50, (soak("lawful", 5000, "--why"),)),
    "soak": Part(15, (soak("scenarios", 5000),)),
    "soak-schema": Part(15, (soak("schema", 2000),)),
    "attack": Part(
        30,
        (f"cd tests && ../{PYTHON} -m attack --seed {{seed}} --seconds {{seconds}} --state {{state}}.json",),
    ),
    "attach": Part(5, ("make soak-attach",)),
    "new-algorithm": Part(10, (f"{PYTHON} tests/new_algorithm.py --whole",)),
    "loom": Part(5, ("make loom",)),
    "oldest-rust": Part(10, ("make oldest-rust",)),
    "mutants": Part(45, (f"{PYTHON} tests/mutants.py --seed {{seed}} --count cc=4 sim=4 python=4",)),
    "wheels": Part(30, ("make wheels", "make wheel")),
    "mutations": Part(
        20, tuple(f"{PYTHON} -m validation mutations --draw 3 --seed {{seed}}{step}" for step in range(4))
    ),
    "seeds": Part(
        40,
        (
            f"{PYTHON} -m validation report --quick",
            f"{PYTHON} -m validation report --quick --seed-set $(({{seed}} % 2 + 1))",
        ),
    ),
    "peers": Part(25, ("make peers PEERS=cases", "make peers PEERS=speeds")),
    "advisories": Part(
        10,
        (
            "make --silent --keep-going audit-tools; "
            f"{PYTHON} tests/advisories.py .venv/advisories/bin/pip-audit target/advisories/bin/cargo-audit",
        ),
    ),
}
"""In steps, `{seed}` is a number that follows from the commit, so that an interrupted part goes on with the
same seed; `{state}` begins the name of a file that a step may keep; `{seconds}` is the time that it has."""
SKIPPED, INTERRUPTED = 77, 124
"""The exit status of a step that could not run here, as its last line says; of one with work left."""
SAYS_SKIPPED = re.compile(r"skipped: |not compared: |=* ?\d+ skipped[^,]*$")
"""The last line of a step that ends with status 0 without a check."""
LAST_S = 60
"""Seconds from its interrupt until a step that has not ended is killed."""
OLD_DAYS = 14
"""Days after which a result on file is old."""
HEAD = f"""# Nightly checks

After reading this page you know when the checks that take longer than a landing last ran, and what they
found. `make nightly` writes it; `make nightly NIGHTLY="soak attack"` runs some parts. A part is
interrupted after the minutes that it may take, {NIGHT_MINUTES // 60} hours for all parts, and the next
`make nightly` on the same commit continues it. The last column is the last line that a part printed.
Continuous integration ends with the parts that did not pass, or are older than {OLD_DAYS} days, in red.

| part | commit | date | result | minutes | last line |
|---|---|---|---|---|---|
"""
ROW = re.compile(r"^\| ([\w-]+) \| (.*) \|$", re.M)


def main(names: list[str]) -> int:
    """Run parts; return 1 if one did not pass."""
    unknown = set(names) - set(PARTS)
    if unknown:
        sys.exit(f"no part {', '.join(sorted(unknown))}: expected some of {', '.join(PARTS)}")
    own = [f":!{path}" for path in WRITTEN]
    if output("git", "status", "--porcelain", "--untracked-files=no", "--", ".", *own):
        sys.exit("the tree has changes: a result is on file for a commit only; commit or stash them")
    commit = output("git", "log", "-1", "--format=%h", "--abbrev=10", "--", ".", *own)
    night = Night(commit)
    chosen = names or night.left()
    minutes = sum(PARTS[name].minutes for name in chosen)
    print(f"nightly: {len(chosen)} parts on {commit}, at most {minutes} minutes", flush=True)
    for name in chosen:
        night.run(name)
    print(night.summary(), flush=True)
    return bool(set(names or PARTS) & set(night.left()))


class Night:
    """The rows on file, and what is done of a commit."""

    def __init__(self, commit: str) -> None:
        self.commit = commit
        self.file = STATES / f"{commit}.json"
        self.rows = dict(ROW.findall(PAGE.read_text())) if PAGE.exists() else {}
        self.done: dict[str, dict[str, float]] = (
            json.loads(self.file.read_text()) if self.file.exists() else {}
        )
        """For each part the seconds of its steps that have passed, and under "" those of unfinished ones."""

    def left(self) -> list[str]:
        """The parts without a pass or skip on this commit."""
        return [part for part in PARTS if not self._has(part)]

    def _has(self, part: str) -> bool:
        commit, _, result, *_ = [*self.rows.get(part, "").split(" | "), "", ""]
        return commit == self.commit and result in ("passed", "skipped")

    def run(self, name: str) -> None:
        """Run the steps of a part that have not passed, and put its row on file."""
        part, done = PARTS[name], {} if self._has(name) else self.done.get(name, {})
        seed, statuses, last = int(self.commit, 16) % 10**6, set[int](), ""
        until = time.monotonic() + 60 * part.minutes
        for step in (step for step in part.steps if step not in done):
            state, left_s = STATES / f"{self.commit}-{name}", until - time.monotonic()
            command = step.format(seed=seed, state=state, seconds=max(0, round(left_s - LAST_S)))
            status, seconds, last = ran(command, left_s)
            statuses.add(status)
            key = step if status in (0, SKIPPED) else ""
            done[key] = done.get(key, 0.0) + seconds
            self._keep(name, done)
            if status == INTERRUPTED:
                break
        result, seconds = result_of(statuses), sum(done.values())
        row = [self.commit, str(datetime.now(UTC).date()), result, f"{seconds / 60:.0f}", last]
        self.rows[name] = " | ".join(row)
        table = "".join(f"| {part} | {self.rows[part]} |\n" for part in PARTS if part in self.rows)
        PAGE.write_text(f"{HEAD}{table}\n{self.summary()}\n")
        print(f"nightly: {name} {result} after {seconds:.0f} s", flush=True)

    def _keep(self, name: str, done: dict[str, float]) -> None:
        self.done[name] = done
        STATES.mkdir(parents=True, exist_ok=True)
        filling = self.file.with_suffix(".partial")
        filling.write_text(json.dumps(self.done, indent=1))
        filling.replace(self.file)

    def summary(self) -> str:
        """How much of all parts has passed on this commit, and in which time."""
        has = [self.rows[part].split(" | ") for part in PARTS if self._has(part)]
        minutes = sum(float(row[3]) for row in has)
        skipped = sum(row[2] == "skipped" for row in has)
        return (
            f"On {self.commit} {len(has) - skipped} of {len(PARTS)} parts passed and {skipped} were skipped,"
            f" in {minutes:.0f} minutes."
        )


def result_of(statuses: set[int]) -> str:
    """The result of a part by the statuses of the steps that ran: the worst of them."""
    if failed := statuses - {0, SKIPPED, INTERRUPTED}:
        return f"failed ({max(failed)})"
    if INTERRUPTED in statuses:
        return "interrupted"
    return "skipped" if statuses == {SKIPPED} else "passed"


def due(page: str, today: date) -> list[str]:
    """A line for each part whose result on `page` is not a recent pass or skip, with the reason."""
    rows, lines = dict(ROW.findall(page)), list[str]()
    for part in PARTS:
        if part not in rows:
            lines.append(f"{part}: never ran")
            continue
        commit, day, result, *_ = rows[part].split(" | ")
        age = (today - date.fromisoformat(day)).days
        if result not in ("passed", "skipped"):
            lines.append(f"{part}: {result} on {day} at {commit}")
        elif age > OLD_DAYS:
            lines.append(f"{part}: {result} {age} days ago at {commit}")
    return lines


def ran(command: str, most_s: float) -> tuple[int, float, str]:
    """(status, seconds, the last line that is not empty) of a shell command, whose output is shown.

    After `most_s` it gets SIGINT, as by Ctrl-C, and a minute later SIGKILL; all its processes do.
    """
    started, last = time.monotonic(), ""
    # Else the last line is that of a make within make, which says in which folder it was.
    quiet = os.environ | {"MAKEFLAGS": "--no-print-directory"}
    process = subprocess.Popen(
        command, shell=True, cwd=ROOT, env=quiet, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    ends = [
        Timer(most_s, os.killpg, (process.pid, signal.SIGINT)),
        Timer(most_s + LAST_S, os.killpg, (process.pid, signal.SIGKILL)),
    ]
    try:
        for end in ends:
            end.start()
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
        status = process.wait()
    except KeyboardInterrupt:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(LAST_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        for end in ends:
            end.cancel()
    seconds = time.monotonic() - started
    if seconds >= most_s:
        status = INTERRUPTED
    elif status == 0 and SAYS_SKIPPED.match(last):
        status = SKIPPED
    return status, seconds, last.replace("|", "/")[:120]


def output(*command: str) -> str:
    """The output of a command."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    if sys.argv[1:] == ["--due"]:
        for line in due(PAGE.read_text(), datetime.now(UTC).date()):
            print(line)
    else:
        sys.exit(main(sys.argv[1:]))
