"""How far a run is: a bar on a terminal, silence anywhere else.

`Progress.of(scenario)` gives the function that a world calls as `(now_ps, packet_hops,
flows_finished)`. Several runs of several threads may share one `Progress`.
"""

import sys
import threading
import time


class Progress:
    """A block of progress bars on stderr, one a run; a context manager.

    Setting `stop` makes every run of the block end early, as if its user had pressed Ctrl-C: only the
    main thread of a process hears the key.
    """

    def __init__(self, *, shown=True):
        self._bars = _bars() if shown and sys.stderr.isatty() else None
        self.stop = threading.Event()

    def __enter__(self):
        if self._bars:
            self._bars.start()
        return self

    def __exit__(self, *_):
        if self._bars:
            self._bars.stop()

    def of(self, scenario, label=None):
        """The `on_progress` of one run, shown as `label` (the scenario's name unless given)."""
        if not self._bars:
            return self._interruptible
        task = self._bars.add_task(label or scenario.name, total=None, speed="", simulated="")
        share, started = _share_done(scenario), time.monotonic()

        def on_progress(now_ps, packet_hops, flows_finished):
            self._interruptible()
            elapsed = time.monotonic() - started
            self._bars.update(
                task,
                total=1.0,
                completed=share(now_ps, flows_finished),
                speed=f"{packet_hops / max(elapsed, 1e-9) / 1e6:.1f} M hops/s" if packet_hops else "",
                simulated=f"{now_ps / 1e9:.1f} ms simulated",
            )

        return on_progress

    def _interruptible(self, *_):
        if self.stop.is_set():
            raise KeyboardInterrupt


def _share_done(scenario):
    """How much of the run is over, from simulated time, or from flows finished where no time ends it."""
    if scenario.duration_ps is None:
        flows = scenario.flow_count
        return lambda _now_ps, flows_finished: flows_finished / flows
    return lambda now_ps, _flows_finished: now_ps / scenario.duration_ps


def _bars():
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[simulated]}"),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
