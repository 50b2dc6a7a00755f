"""Kills of every writing command, at random moments and while it writes."""

import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from attack import state
from shallows.base.version import version
from shallows.sweeps.result import Sweep

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
TRIES = 6
"""The most tries of a kill: a signal may come after the end of a command, or before its beginning."""
COMMANDS = {
    "run": ["run", "small.toml", "--plot", "--out", "out"],
    "compare": ["compare", "small.toml", "--cc", "dctcp", "--cc", "dx", "--out", "compared"],
    "sweep": [
        "sweep",
        "small.toml",
        "--over",
        "network.buffer=90pkt,250pkt",
        "--seeds",
        "2",
        "--workers",
        "1",
        "--plot",
        "--out",
        "swept",
    ],
    "export": ["export", "whole", "--csv", "csv"],
    "why": ["why", "whole", "0", "--figure", "why.png", "--html", "why.html", "--record", "record"],
    "report": ["report", "whole", "--html", "page.html"],
    "draw": ["draw", "whole", "--out", "network.html"],
    "export-pages": ["export", "whole", "--perfetto", "trace.perfetto"],
}
"""The commands; the first and the second are repeated with other seeds."""


def attack(place: Path, dice: random.Random, count: int) -> Iterator[str]:
    """Kill `count` running commands; yield for each its name, the signal and the exit status."""
    known = not version().endswith("+unknown")
    assert known, "a sweep resumes only if the version of the code is known: start this in a checkout"
    (place / "small.toml").write_text(state.SCENARIO)
    assert state.run(place, ["run", "small.toml", "--out", "whole"])[0] == 0
    took_s: dict[str, float] = {}
    rows: list[tuple[object, object]] = []
    for name, words in COMMANDS.items():
        began = time.monotonic()
        status, said = state.run(place, words)
        assert status == 0, said
        took_s[name] = time.monotonic() - began
    rows = _rows(place)
    hits = 0
    for number in range(TRIES * count):
        if hits == count:
            break
        name = list(COMMANDS)[number % len(COMMANDS)]
        seed = ["--seed", str(number)] if name in ("run", "compare") else []
        process = state.start(place, [*COMMANDS[name], *seed])
        _wait(place, process, dice, took_s[name])
        which = dice.choice(SIGNALS)
        if process.poll() is None:
            process.send_signal(which)
        _, said = process.communicate(timeout=600)
        # A signal while Python itself starts ends with Python's own words.
        assert "Traceback" not in said or "    app()\n" not in said, f"{name}: {said}"
        state.check(place)
        assert set(_rows(place)) <= set(rows), "a wrong row in the sweep"
        if process.returncode in (130, -which):  # it was still running
            hits += 1
            yield f"{name} {which.name} {process.returncode}"
    assert hits == count, f"only {hits} kills hit a running command"
    status, said = state.run(place, COMMANDS["sweep"])
    assert (status, _rows(place)) == (0, rows), f"the sweep does not resume: {said}"


def _wait(place: Path, process: object, dice: random.Random, took_s: float) -> None:
    """Wait for a random moment, or for one at which the command has begun to write."""
    ends = time.monotonic() + dice.uniform(0, took_s)
    targeted = dice.random() < 0.5
    while time.monotonic() < (ends if not targeted else ends + took_s):
        if targeted and any(place.glob(".*.partial")):
            time.sleep(dice.uniform(0, 0.02))
            return
        if process.poll() is not None:  # type: ignore[attr-defined]
            return
        time.sleep(0.001)


def _rows(place: Path) -> list[tuple[object, object]]:
    if not (place / "swept" / "table.parquet").exists():
        return []
    return [(row["run"], row["fingerprint"]) for row in Sweep.load(place / "swept").rows]
