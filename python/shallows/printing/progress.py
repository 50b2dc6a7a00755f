"""Progress of runs: a bar on a terminal, a line now and then elsewhere.

`Progress.of(scenario)` returns the function that a world calls as `(now_ps, packet_hops, flows_finished)`.
Runs in several threads may share one `Progress`.
"""

import math
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Self

from shallows.base import names
from shallows.units import TIME

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from shallows.scenario import Scenario

Show = Callable[[int, int, int], None]

# Seconds before the first line, and between lines, without a terminal.
FIRST_S, SILENT_S = 2, 10
# Seconds before preparations are reported.
SLOW_S = 2
PREPARING = "preparing: building the network and drawing flows"


def shows_bars() -> bool:
    """Whether bars can be shown: on a terminal, and in a notebook with widgets."""
    return sys.stderr.isatty() or is_notebook()


def is_notebook() -> bool:
    """Whether this program is a cell of a notebook that can show widgets."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell" and find_spec("ipywidgets") is not None


@contextmanager
def report_if_slow(what: str, after_s: float = SLOW_S) -> Generator[None]:
    """Print `what` to stderr if the block takes longer than `after_s`."""
    timer = threading.Timer(after_s, lambda: print(what, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Progress:
    """Progress bars on stderr or in a notebook, one for each run; a context manager.

    If stderr is no terminal, a long run prints lines instead. Setting `stop` ends every run early, like
    Ctrl-C: only the main thread of a process receives the key.
    """

    def __init__(self, *, shown: bool = True) -> None:
        self._bars = _bars() if shown and shows_bars() else None
        self._lines = shown and not self._bars
        self._said = time.monotonic()
        self.stop = threading.Event()

    def __enter__(self) -> Self:
        if self._bars:
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars:
            self._bars.stop()

    def of(self, scenario: "Scenario", label: str | None = None) -> Show:
        """The `on_progress` of one run, shown as `label` (by default the scenario's name)."""
        show = self._show(scenario, names.line(label or scenario.name))

        def on_progress(now_ps: int, packet_hops: int, flows_finished: int) -> None:
            self._interruptible()
            show(now_ps, packet_hops, flows_finished)

        return on_progress

    def _show(self, scenario: "Scenario", label: str) -> Show:
        if self._bars:
            return _bar(self._bars, scenario, label)
        return _line(scenario, label, self._say) if self._lines else _silent

    def _say(self, text: str) -> None:
        self._said = time.monotonic()
        print(text, file=sys.stderr, flush=True)

    @contextmanager
    def steadily(self, label: str) -> Generator[None]:
        """Print a line whenever the block has said nothing for `SILENT_S`, as between runs."""
        over, began = threading.Event(), time.monotonic()
        self._said = began

        def watch() -> None:
            while not over.wait(max(0.0, self._said + SILENT_S - time.monotonic())):
                if time.monotonic() >= self._said + SILENT_S:
                    self._say(f"{label}: working for {duration(time.monotonic() - began)}")

        watcher = threading.Thread(target=watch, daemon=True)
        if self._lines:
            watcher.start()
        try:
            yield
        finally:
            over.set()

    def _interruptible(self) -> None:
        if self.stop.is_set():
            raise KeyboardInterrupt


def duration(seconds: float) -> str:
    """ "40 s", "12 min", "3.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 1 else f"{seconds * 1e3:.0f} ms"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def count(number: float) -> str:
    """A large count in three digits: "950", "12.3 k", "7.20 M"."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= factor * 0.9995:
            digits = max(0, 2 - math.floor(math.log10(abs(number) / factor * 1.0005)))
            return f"{number / factor:.{digits}f} {prefix}"
    return f"{number:.0f}"


def _silent(now_ps: int, packet_hops: int, flows_finished: int) -> None:
    """Shows nothing."""


def _bar(bars: "Bars", scenario: "Scenario", label: str) -> Show:
    task = bars.add_task(label, total=None, speed="", simulated="")
    share, speed = _share_done(scenario), _speed()

    def show(now_ps: int, packet_hops: int, flows_finished: int) -> None:
        bars.update(
            task,
            total=1.0,
            completed=share(now_ps, flows_finished),
            speed=speed(packet_hops),
            simulated=f"{TIME.about(now_ps)} simulated",
        )

    return show


def _line(scenario: "Scenario", label: str, say: Callable[[str], None]) -> Show:
    share, speed = _share_done(scenario), _speed()
    began, reached = time.monotonic(), 0.0
    due = began + min(FIRST_S, SILENT_S)

    def show(now_ps: int, packet_hops: int, flows_finished: int) -> None:
        nonlocal began, due, reached, speed
        now, finished = time.monotonic(), share(now_ps, flows_finished)
        if finished < reached:  # another run of the same scenario
            began, speed = now, _speed()
        reached = finished
        if now < due:
            return
        due = now + SILENT_S
        parts = [
            f"{finished:.1%} done",
            f"{flows_finished} flows finished",
            f"{TIME.about(now_ps)} simulated",
            speed(packet_hops),
        ]
        if 0 < finished < 1:
            parts.append(f"about {duration((now - began) * (1 / finished - 1))} left")
        say(f"{label}: {', '.join(filter(None, parts))}")

    return show


def _speed() -> Callable[[int], str]:
    started = time.monotonic()

    def of(packet_hops: int) -> str:
        elapsed = time.monotonic() - started
        return f"{count(packet_hops / max(elapsed, 1e-9))} hops/s" if packet_hops else ""

    return of


def _share_done(scenario: "Scenario") -> Callable[[int, int], float]:
    """The finished share of a run, by simulated time, or by finished flows if no time ends the run."""
    duration_ps, flows = scenario.duration_ps, scenario.flow_count
    if duration_ps is None:
        return lambda _now_ps, flows_finished: flows_finished / flows
    return lambda now_ps, _flows_finished: now_ps / duration_ps


def _bars() -> "Bars":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[simulated]}"),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
