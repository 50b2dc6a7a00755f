"""Figures of runs. `figure(runs)` puts four panels together."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, TypedDict

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from shallows.base.names import figure as escape
from shallows.errors import ScenarioError
from shallows.plot.data import Labelled, excerpts, labelled, unlabelled
from shallows.plot.drawing import Drawing, legend_above, small_print, wrap_title
from shallows.plot.kinds import (
    OF_WORLDS,
    PANELS,
    Panel,
    fct_cdf,
    goodput_by_flow,
    goodput_over_time,
    join_apart,
    queue_cdf,
    queue_close_up,
    queue_cycles,
    queue_over_time,
    queues_by_port,
    rates_over_time,
    slowdown_by_size,
    windows_of_each_flow,
    windows_over_time,
)
from shallows.plot.style import COLOURS, COLUMN_IN, DASHES, MARKERS, STYLE, look
from shallows.printing.report import unfinished_flows
from shallows.results import store
from shallows.results.files import save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shallows.results.run import RunData

__all__ = [
    "COLOURS",
    "DASHES",
    "MARKERS",
    "OF_WORLDS",
    "PANELS",
    "STYLE",
    "Drawing",
    "Panel",
    "Plots",
    "add",
    "fct_cdf",
    "figure",
    "goodput_by_flow",
    "goodput_over_time",
    "look",
    "panels",
    "queue_cdf",
    "queue_close_up",
    "queue_cycles",
    "queue_over_time",
    "queues_by_port",
    "rates_over_time",
    "save",
    "single",
    "slowdown_by_size",
    "small_print",
    "windows_over_time",
]


MOST_PANELS = 4
"""In a figure."""


class FigureOptions(TypedDict, total=False):
    """The options of `figure`."""

    size: float | tuple[float, float] | None
    names: Mapping[str, str] | None
    caption: bool
    since: str | None
    until: str | None


def figure(
    runs: "RunData | Sequence[RunData]",
    labels: Sequence[str] | None = None,
    *,
    size: float | tuple[float, float] | None = None,
    names: Mapping[str, str] | None = None,
    caption: bool = True,
    since: str | None = None,
    until: str | None = None,
) -> Drawing:
    """A matplotlib Figure of the first four `PANELS` for which these runs have data, or of `OF_WORLDS`.

    `runs` is one `Run` or a list; `labels` name them (their algorithms unless given), and `names` replaces
    labels: `{"hpcc": "HPCC"}`. `size` is the width in inches, such as 3.33 for one column, or a pair with the
    height.
    The caption holds what is needed to reproduce the figure. `since` and `until` ("20ms") limit the panels
    over time. Raises `ScenarioError` for a window of time without samples,
    and for a name that no run has.
    """
    given = labelled(runs, labels)
    for name in names or {}:
        if name not in (label for _, label in given):
            raise ScenarioError("names", name, f"one of {', '.join(label for _, label in given)}")
    renamed = [(run, (names or {}).get(label, label)) for run, label in given]
    named = excerpts(renamed, since, until)
    shown = _shown(named)
    width, columns = _width(size, len(shown))
    rows = max(1, -(-len(shown) // columns))
    height = size[1] if isinstance(size, tuple) else 2.35 * rows + 0.6
    drawing = Drawing((width, height))
    with drawing.styled():
        for at, (letter, panel) in enumerate(zip(ascii_lowercase, shown, strict=False), 1):
            ax = drawing.add_subplot(rows, columns, at)
            panel(ax, *unlabelled(named))
            ax.set_title(f"({letter}) {ax.get_title(loc='left')}")
            wrap_title(ax, columns)
        _name_runs(drawing, named)
        if caption:
            small_print(drawing, _small_print(named))
    return drawing


def _shown(runs: Labelled) -> list[Panel]:
    """The panels of a figure. Where flows join one after another, each run has a panel, if it fits."""
    shown = panels(*unlabelled(runs))[:MOST_PANELS]
    if len(runs) > 1 and windows_over_time in shown:
        place = shown.index(windows_over_time)
        if place + len(runs) <= MOST_PANELS and join_apart(runs):
            shown[place : place + 1] = [partial(windows_of_each_flow, of=i) for i in range(len(runs))]
    return shown[:MOST_PANELS]


def _width(size: float | tuple[float, float] | None, panels: int) -> tuple[float, int]:
    """(width in inches, columns of panels) of a figure."""
    columns = min(panels, 2) or 1
    if size is None:
        return 3.6 * columns, columns
    sides: tuple[Any, ...] = size if isinstance(size, tuple) else (size,)
    if not 1 <= len(sides) <= 2 or not all(isinstance(side, int | float) and side > 0 for side in sides):
        raise ScenarioError("size", str(size), "a width in inches such as 3.33, or (width, height)")
    width = size[0] if isinstance(size, tuple) else size
    return width, 1 if width < COLUMN_IN else columns


def panels(runs: "RunData | Sequence[RunData]", labels: Sequence[str] | None = None) -> list[Panel]:
    """The `PANELS` for which these runs have data; of several worlds those of `OF_WORLDS`."""
    named = labelled(runs, labels)
    worlds = {run.summary["world"] for run, _ in named}
    return [panel for panel in (PANELS if len(worlds) == 1 else OF_WORLDS) if _has_data(panel, named)]


def single(panel: Panel, runs: "RunData | Sequence[RunData]", labels: Sequence[str] | None = None) -> Drawing:
    """A matplotlib Figure of one panel alone."""
    drawing = Drawing((4.2, 2.8))
    named = labelled(runs, labels)
    with drawing.styled():
        panel(drawing.add_subplot(), runs, labels)
        _name_runs(drawing, named)
    return drawing


def _name_runs(drawing: Drawing, named: Labelled) -> None:
    """Draw a legend of the runs, if there are several."""
    if len(named) > 1:
        keys = [Line2D([], [], **look(i)) for i in range(len(named))]
        legend_above(drawing, keys, [escape(label) for _, label in named])


class Plots:
    """Figures of a run: `run.plot.queue_cdf()` draws on the given Axes, or on new ones, which it returns."""

    def __init__(self, run: "RunData") -> None:
        self._run = run

    def __getattr__(self, name: str) -> "Callable[..., Axes]":
        """The function of one of `PANELS`, which takes the Axes, or nothing."""
        for panel in PANELS:
            if panel.__name__ == name:
                return partial(self._draw, panel)
        raise AttributeError(f"no figure {name!r}; there are {', '.join(dir(self))}")

    def __dir__(self) -> list[str]:
        return [panel.__name__ for panel in PANELS]

    def _draw(self, panel: Panel, ax: "Axes | None" = None) -> "Axes":
        if ax is None:
            return single(panel, self._run).axes[0]
        with matplotlib.rc_context(STYLE):
            panel(ax, self._run)
        return ax


def save(drawing: Figure, folder: str | Path) -> list[Path]:
    """Write `figure.png` and `figure.pdf` to `folder`; return the two paths.

    The caption is also the title in their metadata.
    """
    paths = [Path(folder, f"figure.{kind}") for kind in ("png", "pdf")]
    for path in paths:
        title = drawing.get_supxlabel().replace("\n", "  ·  ")
        save_figure(drawing, path, path.suffix.removeprefix("."), title)
    return paths


def add(drawing: Figure, folder: str | PathLike[str], name: str, text: str) -> None:
    """Add a figure to `folder`, where a result is saved whose file `name` holds `text`."""
    with store.adding(folder, name, text) as filling:
        save(drawing, filling)


def _has_data(panel: Panel, runs: Labelled) -> bool:
    return panel(Figure().add_subplot(), *unlabelled(runs))


def _small_print(runs: Labelled) -> str:
    first = runs[0][0].summary
    # Runs in real time have no fingerprint.
    prints = ", ".join(f"{label} {run.summary['fingerprint'] or ''}".rstrip() for run, label in runs)
    early = "  ·  interrupted" if any(run.interrupted for run, _ in runs) else ""
    counts = "".join(f"  ·  {label}: {text}" for run, label in runs for text in unfinished_flows(run.summary))
    about = f"{first['name']}  ·  seed {first['seed']}{counts}"
    return f"{about}  ·  shallows {first['version']}  ·  {prints}{early}"
