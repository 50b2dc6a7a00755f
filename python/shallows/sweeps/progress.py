"""Progress of jobs: finished and failed ones, time left, packet-hops per second."""

import sys
import time
from typing import TYPE_CHECKING, Self

from shallows.base.toml import is_table
from shallows.printing.progress import count, duration, shows_bars

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

SILENT_S = 10
SAMPLE = 5
"""Jobs whose pace tells the time left."""


class Progress:
    """A bar on a terminal or in a notebook, a line now and then anywhere else; a context manager."""

    def __init__(self, *, shown: bool = True, unit: str = "runs") -> None:
        self.unit = unit
        self._bar = _bar() if shown and shows_bars() else None
        self._lines = shown and not self._bar
        self._task = None
        self.printed_at = time.monotonic()

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def begin(self, total: int, done: int) -> None:
        """Start with `total` jobs, of which `done` have stored results."""
        self.total, self.done, self.failed, self.hops, self.first = total, done, 0, 0, done
        self.began = time.monotonic()
        if self._bar:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(self.unit, total=total, completed=done, state="")

    def row(self, row: object) -> None:
        """Count one more finished job."""
        row = row if is_table(row) else {}
        self.done += 1
        self.failed += row.get("failure") is not None
        self.hops += row.get("packet_hops") or 0
        state = f"{self.failed} failed"
        if self.hops:
            state += f", {count(self.hops / (time.monotonic() - self.began))} hops/s"
        if self._bar and self._task is not None:
            self._bar.update(self._task, completed=self.done, state=state)
        elif self._lines and time.monotonic() - self.printed_at > SILENT_S:
            self.printed_at = time.monotonic()
            text = f"{self.done} of {self.total} {self.unit}, {state}{self._remaining()}"
            print(text, file=sys.stderr, flush=True)

    def _remaining(self) -> str:
        """The time left at the pace of `SAMPLE` jobs or more: the first ones also start the workers."""
        if self.done - self.first < SAMPLE:
            return ""
        passed = time.monotonic() - self.began
        return f", {duration(passed * (self.total - self.done) / (self.done - self.first))} left"


def _bar() -> "Bar":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        MofNCompleteColumn(),
        BarColumn(),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=Console(stderr=True),
    )
