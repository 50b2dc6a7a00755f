"""`make nightly`: the checks that take longer than a landing may, with their results in docs/nightly.md.

    python tests/nightly.py [PART ...]

All parts run, also after one that fails. A part that did not run keeps its row of an earlier night.
"""

import re
import subprocess
import sys
import time
from pathlib import Path

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
    "oracles": "make soak SOAK_SECONDS=9000 SOAK='--grammar lawful --count 5000 --why"
    " --state ../results/soak/lawful.json'",
    "soak": "make soak SOAK_SECONDS=9000 SOAK='--count 5000 --state ../results/soak/scenarios.json'",
    "soak-schema": "make soak SOAK_SECONDS=9000 SOAK='--count 2000 --grammar schema'",
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
SKIPPED = 77
"""The exit status of a part that could not run here; its last line says why."""
HEAD = """# Nightly checks

After reading this page you know when the checks that take longer than a landing last ran, and what they
found. `make nightly` writes it; `make nightly NIGHTLY="soak attack"` runs some parts. The last column is the
last line that a part printed.

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
        result = {0: "passed", SKIPPED: "skipped"}.get(status, f"failed ({status})")
        date = time.strftime("%Y-%m-%d", time.gmtime())
        rows[name] = f"{commit} | {date} | {result} | {seconds / 60:.0f} | {last}"
        PAGE.write_text(HEAD + "".join(f"| {part} | {rows[part]} |\n" for part in PARTS if part in rows))
        print(f"nightly: {name} {result} after {seconds:.0f} s", flush=True)
    return bool(failed)


def ran(command: str) -> tuple[int, float, str]:
    """(status, seconds, the last line that is not empty) of a shell command, whose output is shown."""
    started, last = time.monotonic(), ""
    process = subprocess.Popen(command, shell=True, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        print(line, end="", flush=True)
        last = line.strip() or last
    return process.wait(), time.monotonic() - started, last.replace("|", "/")[:120]


def output(*command: str) -> str:
    """The output of a command."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
