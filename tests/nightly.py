"""`make nightly`: the checks that take longer than a landing may, with their results in docs/nightly.md.

    python tests/nightly.py [PART ...]
    python tests/nightly.py --due

All parts run, also after one that fails. A part that did not run keeps its row of an earlier night. A part
may take `MOST_S`: it is then interrupted, and where it keeps its state, the next night goes on from there.
`--due` names the parts that failed, were interrupted, are older than `OLD_DAYS` or never ran.
"""

import os
import re
import signal
import subprocess
import sys
import time
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Timer

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "nightly.md"
PYTHON = ".venv/bin/python"
PARTS = {
    "python": f"SHALLOWS_SOAK=1 {PYTHON} -m pytest --numprocesses auto --ignore tests/test_wire_bands.py"
    " -m 'nightly and not kernel'",
    "wire": f"{PYTHON} -m pytest -m nightly tests/test_wire_bands.py",
    "kernel": f"SHALLOWS_SOAK=1 {PYTHON} -m pytest -m kernel",
    "rust": "SHALLOWS_SOAK=10000 SHALLOWS_DOMAINS=2000 cargo test --release --package shallows-sim soak",
    "driven": "SHALLOWS_DRIVEN=200 cargo test --release --package shallows-sim driven"
    " && SHALLOWS_MESSAGES=1000000 cargo test --release --package shallows-sim memory_follows",
    "oracles": "make soak SOAK_SECONDS=8400 SOAK='--grammar lawful --count 5000 --why"
    " --state ../results/soak/lawful.json'",
    "soak": "make soak SOAK_SECONDS=8400 SOAK='--count 5000 --state ../results/soak/scenarios.json'",
    "soak-schema": "make soak SOAK_SECONDS=8400 SOAK='--count 2000 --grammar schema'",
    "attack": "make attack ATTACK='--kills 500 --seconds 36000 --state ../results/attack.json'",
    "attach": "make soak-attach",
    "new-algorithm": f"{PYTHON} tests/new_algorithm.py --whole",
    "loom": "make loom",
    "oldest-rust": "make oldest-rust",
    "mutants": "make mutants",
    "wheels": "make wheels",
    "mutations": f"{PYTHON} -m validation mutations",
    "seeds": " && ".join(f"{PYTHON} -m validation report --quick --seed-set {other}" for other in (0, 1, 2)),
    "peers": "make peers",
    "advisories": "make --silent --keep-going audit-tools; "
    f"{PYTHON} tests/advisories.py .venv/advisories/bin/pip-audit target/advisories/bin/cargo-audit",
}
"""The command of each part. Random parts draw a new seed and print it."""
SKIPPED, INTERRUPTED = 77, 124
"""The exit status of a part that could not run here, as its last line says; one that was interrupted."""
MOST_S = 150 * 60
"""Seconds that a part may take at a time."""
LAST_S = 60
"""Seconds from its interrupt until a part that has not ended is killed."""
OLD_DAYS = 14
"""Days after which a result on file is old."""
HEAD = """# Nightly checks

After reading this page you know when the checks that take longer than a landing last ran, and what they
found. `make nightly` writes it; `make nightly NIGHTLY="soak attack"` runs some parts. A part is interrupted
after 150 minutes, and goes on the next time where it keeps its state. The last column is the last line that a
part printed. Continuous integration ends with the parts that did not pass, or are older than 14 days, in red.

| part | commit | date | result | minutes | last line |
|---|---|---|---|---|---|
"""
ROW = re.compile(r"^\| ([\w-]+) \| (.*) \|$", re.M)


def main(names: list[str]) -> int:
    """Run parts; return 1 if one failed."""
    unknown = set(names) - set(PARTS)
    if unknown:
        sys.exit(f"no part {', '.join(sorted(unknown))}: expected some of {', '.join(PARTS)}")
    commit = output("git", "rev-parse", "--short=10", "HEAD")
    if output("git", "status", "--porcelain", "--untracked-files=no"):
        sys.exit("the tree has changes: a result is on file for a commit only; commit or stash them")
    rows = dict(ROW.findall(PAGE.read_text())) if PAGE.exists() else {}
    failed = []
    for name in names or PARTS:
        status, seconds, last = ran(PARTS[name])
        failed += [name] if status not in (0, SKIPPED) else []
        result = {0: "passed", SKIPPED: "skipped", INTERRUPTED: "interrupted"}.get(
            status, f"failed ({status})"
        )
        rows[name] = f"{commit} | {datetime.now(UTC).date()} | {result} | {seconds / 60:.0f} | {last}"
        PAGE.write_text(HEAD + "".join(f"| {part} | {rows[part]} |\n" for part in PARTS if part in rows))
        print(f"nightly: {name} {result} after {seconds:.0f} s", flush=True)
    return bool(failed)


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


def ran(command: str, most_s: float = MOST_S) -> tuple[int, float, str]:
    """(status, seconds, the last line that is not empty) of a shell command, whose output is shown.

    After `most_s` it gets SIGINT, as by Ctrl-C, and a minute later SIGKILL; all its processes do.
    """
    started, last = time.monotonic(), ""
    process = subprocess.Popen(
        command, shell=True, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
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
        process.wait()
        raise
    finally:
        for end in ends:
            end.cancel()
    seconds = time.monotonic() - started
    return INTERRUPTED if seconds >= most_s else status, seconds, last.replace("|", "/")[:120]


def output(*command: str) -> str:
    """The output of a command."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    if sys.argv[1:] == ["--due"]:
        for line in due(PAGE.read_text(), datetime.now(UTC).date()):
            print(line)
    else:
        sys.exit(main(sys.argv[1:]))
