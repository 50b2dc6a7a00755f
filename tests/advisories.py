"""`make advisories`: known vulnerabilities in the locked dependencies of Rust and Python.

    python tests/advisories.py PIP_AUDIT CARGO_AUDIT

Prints a line for each advisory, and one for both tools. The exit status is 1 if there is an advisory, 77 if a
tool could not ask its database, and 0 otherwise. A tool that looks up nothing finds nothing, so a dependency
that the database does not know counts as not asked.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SKIPPED = 77
"""The exit status of a check that could not be made, as in Automake."""


@dataclass
class Found:
    """What a tool said: how many dependencies it looked up, its advisories, and why it lacks others."""

    asked: int = 0
    advisories: set[str] = field(default_factory=set[str])
    missing: list[str] = field(default_factory=list[str])


def main(pip_audit: str, cargo_audit: str) -> int:
    """Ask both databases, print what they say, and return the exit status."""
    python = [of_python(pip_audit, lock) for lock in sorted(ROOT.glob("requirements*.lock"))]
    every = [("Python", one) for one in python] + [("Rust", of_rust(cargo_audit))]
    for line in sorted({line for _, one in every for line in one.advisories}):
        print(line)
    parts: list[str] = []
    for language in ("Python", "Rust"):
        found = [one for of, one in every if of == language]
        missing = [reason for one in found for reason in one.missing]
        count = len({line for one in found for line in one.advisories})
        text = f"{language}: {count} advisories for {sum(one.asked for one in found)} locked dependencies"
        parts.append(f"{text}, {len(missing)} skipped ({missing[0]})" if missing else text)
    print("; ".join(parts))
    if any(one.advisories for _, one in every):
        return 1
    return SKIPPED if any(one.missing for _, one in every) else 0


def of_python(tool: str, lock: Path) -> Found:
    """The advisories of PyPI for one lock file."""

    def read(table: Any) -> Iterator[tuple[str, str | None, list[str]]]:
        for one in table["dependencies"]:
            name = f"{one['name']} {one.get('version', '')}"
            known: list[str] = [f"{name}: {it['id']}" for it in one.get("vulns", ())]
            yield name, one.get("skip_reason"), known

    words = ["--progress-spinner", "off", "--require-hashes", "--disable-pip", "--format", "json"]
    return _asked([tool, *words, "--requirement", str(lock)], read)


def of_rust(tool: str) -> Found:
    """The advisories of RustSec for Cargo.lock; a crate that was yanked or is unmaintained is none."""

    def read(table: Any) -> Iterator[tuple[str, str | None, list[str]]]:
        for number in range(table["lockfile"]["dependency-count"]):
            yield str(number), None, []
        for one in table["vulnerabilities"]["list"]:
            yield "", None, [f"{one['package']['name']} {one['package']['version']}: {one['advisory']['id']}"]

    return _asked([tool, "audit", "--json", "--file", str(ROOT / "Cargo.lock")], read)


def _asked(words: list[str], read: Callable[[Any], Iterator[tuple[str, str | None, list[str]]]]) -> Found:
    """What a tool says: (dependency, why it was skipped or None, its advisories) of its JSON."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Found(missing=[str(error)])
    try:
        rows = list(read(json.loads(done.stdout)))
    except (ValueError, KeyError, TypeError):
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        return Found(missing=[said[-1] if said else f"{words[0]} printed no JSON, status {done.returncode}"])
    return Found(
        asked=sum(bool(name) and reason is None for name, reason, _ in rows),
        advisories={line for _, _, known in rows for line in known},
        missing=[reason for _, reason, _ in rows if reason is not None],
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
