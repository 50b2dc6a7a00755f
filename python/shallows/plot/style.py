"""Style of the figures, and drawing that panels share.

Runs differ by colour (the palette of Okabe and Ito, safe for colour-blind readers) and by marker or dash.
"""

from typing import TYPE_CHECKING, Any

import matplotlib.markers
import matplotlib.ticker
import numpy as np

from shallows import names
from shallows.plot.data import RATE_BINS, Labelled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from numpy.typing import NDArray

    from shallows.contract import F64

STYLE = {
    "font.family": "sans-serif",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "axes.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.5,
    "text.parse_math": False,  # names are no formulas
    "text.usetex": False,
    "pdf.fonttype": 42,  # embed fonts as text: journals refuse the default
}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)), (0, (3, 1)), (0, (8, 2)), "-")
MARKERS = ("o", "s", "^", "D", "v", "P", "x")
MORE_THAN = matplotlib.markers.CARETUP  # of a lower bound: a statistic that unfinished flows could move
TIME_BINS = 240
CLOSE_UP = 500  # samples of the queue
MOST_FLOWS = 6  # flows with a line each; more are drawn as mean and range
FLOWS_PER_SIZE_BIN = 100
CHARACTERS_IN = 23  # characters per inch of a caption


def look(i: int) -> dict[str, Any]:
    """Colour, dash and marker of the `i`-th run: the 8th has the first colour with other dashes."""
    again = i // 7
    dash, marker = DASHES[(i + 3 * again) % 7], MARKERS[(i + 2 * again) % 7]
    return {"color": COLOURS[i % 7], "linestyle": dash, "marker": marker}


def line_style(i: int, name: str) -> dict[str, Any]:
    """The style of a line, and its name at the pointer (pages/chart.py)."""
    return {key: value for key, value in look(i).items() if key != "marker"} | {"gid": name}


def shade_warmup(ax: "Axes", runs: Labelled) -> None:
    """Shade the warm-up, which the statistics exclude. Both axes start at 0."""
    ax.margins(x=0)
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    ends_ms = min(run.summary["warmup_s"] for run, _ in runs) * 1e3
    if ends_ms > 0:
        ax.axvspan(0, ends_ms, color="#eeeeee", linewidth=0, zorder=0)
        at = ax.get_xaxis_transform()  # x in data, y in fractions of the height
        ax.text(0, 0.98, " warm-up", transform=at, ha="left", va="top", fontsize=6, color="#777777")


def band_title(dense: bool) -> str:
    return ": mean, range" if dense else ""


def draw_series(
    ax: "Axes",
    x: "NDArray[Any]",
    y: "NDArray[Any]",
    i: int,
    name: str,
    marks: bool = True,
    *,
    legend: bool = False,
) -> bool:
    """Draw a line with sparse markers; dense samples become their mean and their range as a band.

    `name` is shown at the pointer, and in a legend if `legend`. Returns True if the samples are dense.
    """
    colour = look(i)["color"]
    edges: F64 = np.linspace(float(x.min()), float(x.max()), TIME_BINS + 1)
    dense = len(x) > 2 * TIME_BINS
    if dense:
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
        starts = np.unique(np.searchsorted(x, edges[:-1]))
        low, high = np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)
        counts = np.diff(np.append(starts, len(x)))
        x, y = np.add.reduceat(x, starts) / counts, np.add.reduceat(y, starts) / counts
        ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    # shift markers of different lines
    every = max(1, len(x) // 8)
    marker = {"marker": look(i)["marker"], "markevery": (i * every // 3, every)} if marks else {}
    ax.plot(
        x, y, color=colour, label=names.figure(name) if legend else None, gid=name, linewidth=1.0, **marker
    )
    return dense


def bin_means(line: "NDArray[Any]", time_ms: "F64", value: "F64", width_ms: float) -> "F64":
    """[lines, RATE_BINS]: mean of `value` in each time bin; NaN where there is none."""
    place = line * RATE_BINS + np.minimum((time_ms / width_ms).astype(int), RATE_BINS - 1)
    size = (int(line.max()) + 1) * RATE_BINS
    counts = np.bincount(place, minlength=size)
    sums = np.bincount(place, value, minlength=size)
    return np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0).reshape(-1, RATE_BINS)


def draw_bundle(ax: "Axes", x: "NDArray[Any]", lines: "F64", i: int, name: str) -> None:
    """Draw lines [lines, x] of run `i`, or, if they are many, their mean and their range as a band."""
    shape = {**line_style(i, name), "linewidth": 1.0}
    if len(lines) <= MOST_FLOWS:
        ax.plot(x, lines.T, **shape)
        return
    there = np.isfinite(lines).any(axis=0)
    low, mean, high = (of(lines[:, there], axis=0) for of in (np.nanmin, np.nanmean, np.nanmax))
    ax.fill_between(x[there], low, high, color=shape["color"], alpha=0.18, linewidth=0)
    ax.plot(x[there], mean, **shape)


def label_axes(ax: "Axes", title: str, x: str, y: str) -> None:
    ax.set_title(title, loc="left")
    ax.set_xlabel(x)
    ax.set_ylabel(y)


def legend_beside(ax: "Axes", **of: Any) -> None:
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=2, borderaxespad=0.2, **of)


def logarithmic(axis: "Axis") -> None:
    """A log axis with labels such as 1 and 10 instead of powers, if the data span a decade."""
    low, high = axis.get_data_interval()
    if low <= 0 or high < 10 * low:
        return
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(matplotlib.ticker.NullFormatter())
