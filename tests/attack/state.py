"""What a user finds in a folder: every file whole, and of one run."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import PIL.Image

import shallows as sh
from shallows.results import TABLES
from shallows.results.files import CREATOR, GENERATOR

COMMAND = [sys.executable, "-c", "from shallows.cli import main; main()"]
SCENARIO = """
name = "small"
duration = "2ms"
cc = "dctcp"
[topology]
kind = "dumbbell"
hosts = 4
[[traffic]]
kind = "incast"
senders = 4
size = "60KB"
[record]
queues = "2us"
probes = "20us"
"""
EVIL = """
open({mark!r}, "w").write("executed")
class Aimd:
    def __init__(self, initial_window, line_rate): self.window = initial_window
    def on_ack(self, now, ack): self.window += 1 / self.window
    def on_loss(self, now, loss): self.window = max(self.window / 2, 1)
    def decision(self): return self.window
"""


def begin(place: Path, scenario: str) -> None:
    """Write a scenario, and a class in Python that leaves the file `mark` if it runs."""
    (place / "small.toml").write_text(scenario)
    (place / "evil.py").write_text(EVIL.format(mark=str(place / "mark")))


def start(place: Path, words: list[str], first: Callable[[], object] = int) -> "subprocess.Popen[str]":
    """A command of Shallows in `place`, which hears Ctrl-C; its process calls `first`."""

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        first()

    return subprocess.Popen(
        [*COMMAND, *words],
        cwd=place,
        env={**os.environ, "XDG_STATE_HOME": str(place / "state")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=prepare,
    )


def run(place: Path, words: list[str]) -> tuple[int, str]:
    """(status, stderr) of a command that ends by itself."""
    process = start(place, words)
    _, said = process.communicate(timeout=600)
    return process.returncode, said


def check(place: Path) -> None:
    """Raise `AssertionError` unless every result, page, figure and table below `place` is whole."""
    for summary in place.rglob("summary.json"):
        if not any(part.startswith(".") or part == "set-aside" for part in summary.relative_to(place).parts):
            run = sh.Run.load(summary.parent)
            assert not run.interrupted or summary.parent.name.endswith("-interrupted"), f"a part in {summary}"
            for name in TABLES:
                run.columns(name)
    for folder in (place / "csv",):
        if folder.exists():
            assert {path.name for path in folder.iterdir()} == {
                "frames.csv", "events.csv", "flows.csv", "probes.csv"
            }, folder  # fmt: skip
            for path in folder.iterdir():
                assert path.read_bytes().endswith(b"\n"), f"{path} is truncated"
    for path in place.rglob("*"):
        if path.name.startswith(".") or any(part.startswith(".") for part in path.relative_to(place).parts):
            continue
        if path.suffix == ".html":
            text = path.read_text("utf-8")
            assert GENERATOR in text, f"{path} has no beginning"
            assert text.rstrip().endswith("</html>"), f"{path} is truncated"
        elif path.suffix == ".png":
            with PIL.Image.open(path) as figure:
                figure.load()
                assert figure.text["Software"] == CREATOR, path
        elif path.suffix == ".pdf":
            assert path.read_bytes().rstrip().endswith(b"%%EOF"), f"{path} is truncated"
