"""Figures of runs. `figure(runs)` puts four panels together."""

from collections.abc import Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from shallows import names
from shallows.plot.data import Labelled, labelled, unlabelled
from shallows.plot.kinds import (
    OF_WORLDS,
    PANELS,
    Panel,
    fct_cdf,
    goodput_by_flow,
    goodput_over_time,
    queue_cdf,
    queue_close_up,
    queue_over_time,
    queues_by_port,
    rates_over_time,
    slowdown_by_size,
    windows_over_time,
)
from shallows.plot.style import CHARACTERS_IN, COLOURS, DASHES, MARKERS, STYLE, look
from shallows.report import unfinished_flows
from shallows.results.files import save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shallows.results.run import Run

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
    "fct_cdf",
    "figure",
    "goodput_by_flow",
    "goodput_over_time",
    "look",
    "panels",
    "queue_cdf",
    "queue_close_up",
    "queue_over_time",
    "queues_by_port",
    "rates_over_time",
    "save",
    "single",
    "slowdown_by_size",
    "small_print",
    "windows_over_time",
]


class Drawing(Figure):
    """A figure that a notebook displays, with or without pyplot."""

    def _repr_png_(self) -> bytes:
        image = BytesIO()
        self.savefig(image, format="png", dpi=110)
        return image.getvalue()


def figure(runs: "Run | Sequence[Run]", labels: Sequence[str] | None = None) -> Figure:
    """A matplotlib Figure of the first four `PANELS` for which these runs have data, or of `OF_WORLDS`.

    `runs` is one `Run` or a list; `labels` name them (their algorithms unless given). The caption holds what
    is needed to reproduce the figure.
    """
    named = labelled(runs, labels)
    with matplotlib.rc_context(STYLE):
        shown = panels(*unlabelled(named))[:4]
        rows = 1 if len(shown) <= 2 else 2
        columns = max(1, -(-len(shown) // rows))
        drawing = Drawing(figsize=(3.6 * columns, 2.35 * rows + 0.6), dpi=200, layout="constrained")
        for letter, panel, at in zip("abcd", shown, range(1, 5), strict=False):
            ax = drawing.add_subplot(rows, columns, at)
            panel(ax, *unlabelled(named))
            ax.set_title(f"({letter}) {ax.get_title(loc='left')}")
        if len(named) > 1:
            drawing.legend(handles=_keys(named), loc="outside upper center", ncols=min(len(named), 7))
        small_print(drawing, _small_print(named))
    return drawing


def panels(runs: "Run | Sequence[Run]", labels: Sequence[str] | None = None) -> list[Panel]:
    """The `PANELS` for which these runs have data; of several worlds those of `OF_WORLDS`."""
    named = labelled(runs, labels)
    worlds = {run.summary["world"] for run, _ in named}
    return [panel for panel in (PANELS if len(worlds) == 1 else OF_WORLDS) if _has_data(panel, named)]


def single(panel: Panel, runs: "Run | Sequence[Run]", labels: Sequence[str] | None = None) -> Figure:
    """A matplotlib Figure of one panel alone."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.2, 2.8), dpi=200, layout="constrained")
        panel(figure.add_subplot(), runs, labels)
    return figure


class Plots:
    """Figures of a run: `run.plot.queue_cdf()` draws on the given Axes, or on new ones, which it returns."""

    def __init__(self, run: "Run") -> None:
        for panel in PANELS:
            setattr(self, panel.__name__, partial(self._draw, panel, run))

    def _draw(self, panel: Panel, run: "Run", ax: "Axes | None" = None) -> "Axes":
        if ax is None:
            return single(panel, run).axes[0]
        with matplotlib.rc_context(STYLE):
            panel(ax, run)
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


def small_print(drawing: Figure, text: str) -> None:
    """Write a caption below a figure, at the right, in as many lines as needed."""
    most = int(drawing.get_figwidth() * CHARACTERS_IN)
    lines = [""]
    for part in names.figure(text).split("  ·  "):
        joined = f"{lines[-1]}  ·  {part}" if lines[-1] else part
        if len(joined) > most and lines[-1]:
            lines.append(part)
        else:
            lines[-1] = joined
    drawing.supxlabel("\n".join(lines), fontsize=5.5, color="#555555", x=0.995, ha="right")


def _has_data(panel: Panel, runs: Labelled) -> bool:
    return panel(Figure().add_subplot(), *unlabelled(runs))


def _keys(runs: Labelled) -> list[Line2D]:
    """Legend entries: the colour, dash and marker of each run."""
    return [Line2D([], [], **look(i), label=names.figure(label)) for i, (_, label) in enumerate(runs)]


def _small_print(runs: Labelled) -> str:
    first = runs[0][0].summary
    # Runs in real time have no fingerprint.
    prints = ", ".join(f"{label} {run.summary['fingerprint'] or ''}".rstrip() for run, label in runs)
    early = "  ·  interrupted" if any(run.interrupted for run, _ in runs) else ""
    counts = "".join(f"  ·  {label}: {of}" for run, label in runs for of in unfinished_flows(run.summary))
    about = f"{first['name']}  ·  seed {first['seed']}{counts}"
    return f"{about}  ·  shallows {first['version']}  ·  {prints}{early}"
