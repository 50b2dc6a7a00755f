"""Style of the figures, and drawing that panels share.

Runs differ by colour (the palette of Okabe and Ito, safe for colour-blind readers) and by marker or dash.
"""

from typing import TYPE_CHECKING, Any

import matplotlib.markers
import matplotlib.ticker
import numpy as np

from shallows.base import names
from shallows.plot.data import RATE_BINS, Labelled, thresholds_pkt, window_ms

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from numpy.typing import NDArray

    from shallows.core.contract import F64

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
CYCLES = 8  # of a queue, in a close-up
SAMPLES_IN_CYCLE = 6  # the fewest that show its form
MARKERS_IN_LINE = 6
MOST_FLOWS = 6  # flows with a line each; more are drawn as mean and range
FLOWS_PER_SIZE_BIN = 100
CHARACTERS_IN = 23  # characters per inch of a caption
COLUMN_IN = 5.0
"""Figures narrower than this are for one column of a paper: panels stand below each other."""


def look(i: int) -> dict[str, Any]:
    """Colour, dash and marker of the `i`-th run: the 8th has the first colour with other dashes."""
    again = i // 7
    dash, marker = DASHES[(i + 3 * again) % 7], MARKERS[(i + 2 * again) % 7]
    return {"color": COLOURS[i % 7], "linestyle": dash, "marker": marker}


def marked_line(i: int, name: str, points: int) -> dict[str, Any]:
    """The style of a line with a few markers, which tell runs apart also without colour."""
    every = max(1, points // MARKERS_IN_LINE)
    return look(i) | {"gid": name, "markevery": (i * every // 3, every)}


def line_style(i: int, name: str) -> dict[str, Any]:
    """The style of a line, and its name at the pointer (pages/chart.py)."""
    return {key: value for key, value in look(i).items() if key != "marker"} | {"gid": name}


def shade_warmup(ax: "Axes", runs: Labelled) -> None:
    """Shade the warm-up, which the statistics exclude. Both axes start at 0."""
    ax.margins(x=0)
    ax.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(5))
    ax.set_xlim(*(window_ms(runs) or (0, None)))
    ax.set_ylim(bottom=0)
    ends_ms = min(run.summary["warmup_s"] for run, _ in runs) * 1e3
    if ends_ms > ax.get_xlim()[0]:
        ax.axvspan(0, ends_ms, color="#eeeeee", linewidth=0, zorder=0)
        at = ax.get_xaxis_transform()  # x in data, y in fractions of the height
        ax.text(0, 0.98, " warm-up", transform=at, ha="left", va="top", fontsize=6, color="#777777")


def band_title(dense: bool) -> str:
    return ": mean, range" if dense else ""


def draw_series(
    ax: "Axes",
    x: "NDArray[np.generic]",
    y: "NDArray[np.generic]",
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
    shape = marked_line(i, name, len(x)) if marks or legend else line_style(i, name)
    ax.plot(x, y, label=names.figure(name) if legend else None, **shape | {"linewidth": 1.0})
    return dense


def hidden_cycle(queue: "F64") -> int | None:
    """The samples of one cycle of a queue whose cycles are shorter than two time bins; None if it has none.

    The second half of the samples is judged, by the highest peak of its autocorrelation: 1 for equal cycles.
    """
    if len(queue) <= 2 * TIME_BINS:
        return None
    later = queue[len(queue) // 2 :][: 1 << 14]
    centred = later - later.mean()
    if not centred.any():
        return None
    spectrum = np.fft.rfft(centred, 2 * len(centred))
    likeness = np.fft.irfft(np.abs(spectrum) ** 2)[: len(centred) // 2]
    likeness /= likeness[0] * (1 - np.arange(len(likeness)) / len(centred))
    unlike = np.flatnonzero(likeness < 0)
    if not len(unlike):
        return None
    peak = int(unlike[0] + np.argmax(likeness[unlike[0] :]))
    if likeness[peak] <= 0.5:
        return None
    close = np.flatnonzero(likeness[unlike[0] : peak + 1] > 0.9 * likeness[peak])
    cycle = int(unlike[0] + close[0])  # the first peak, not a multiple of it
    return cycle if SAMPLES_IN_CYCLE <= cycle < 2 * len(queue) / TIME_BINS else None


def draw_thresholds(ax: "Axes", runs: Labelled) -> None:
    """Draw the marking thresholds that all runs share, within the range of the data, and name them."""
    shared = [thresholds_pkt(run) for run, _ in runs]
    for value in shared[0] if all(one == shared[0] for one in shared) else ():
        if value <= 1.5 * ax.dataLim.y1:
            ax.axhline(value, color="#555555", linewidth=0.7, linestyle=(0, (1, 2)), zorder=1)
            ax.annotate(
                f"marking\n{value:.3g}", (1, value), xycoords=("axes fraction", "data"), xytext=(2, 0),
                textcoords="offset points", ha="left", va="center", fontsize=6, color="#555555",
            )  # fmt: skip


def bin_means(line: "NDArray[Any]", time_ms: "F64", value: "F64", width_ms: float) -> "F64":
    """[lines, RATE_BINS]: mean of `value` in each time bin; NaN where there is none."""
    place = line * RATE_BINS + np.minimum((time_ms / width_ms).astype(int), RATE_BINS - 1)
    size = (int(line.max()) + 1) * RATE_BINS
    counts = np.bincount(place, minlength=size)
    sums = np.bincount(place, value, minlength=size)
    return np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0).reshape(-1, RATE_BINS)


def draw_bundle(ax: "Axes", x: "NDArray[np.generic]", lines: "F64", i: int, name: str) -> None:
    """Draw lines [lines, x] of run `i`, or, if they are many, their mean and their range as a band."""
    shape = {**line_style(i, name), "linewidth": 1.0}
    if len(lines) <= MOST_FLOWS:
        ax.plot(x, lines.T, **shape)
        return
    known = np.isfinite(lines).any(axis=0)
    low, mean, high = (function(lines[:, known], axis=0) for function in (np.nanmin, np.nanmean, np.nanmax))
    ax.fill_between(x[known], low, high, color=shape["color"], alpha=0.18, linewidth=0)
    ax.plot(x[known], mean, **shape)


def label_axes(ax: "Axes", title: str, x: str, y: str) -> None:
    ax.set_title(title, loc="left")
    ax.set_xlabel(x)
    ax.set_ylabel(y)


def legend_beside(ax: "Axes", **options: object) -> None:
    """Draw a legend at the right of a panel, or inside it where the figure is as narrow as a column."""
    figure = ax.get_figure()
    if figure is not None and figure.get_figwidth() < COLUMN_IN:
        ax.legend(loc="best", handlelength=2.8, fontsize=7, **options)
    else:
        ax.legend(
            loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=2.8, borderaxespad=0.2, **options
        )


def bytes_text(size: float, _: int = 0) -> str:
    """A number of bytes as a label such as "12.5 KB", also of a tick."""
    scale, unit = next((one for one in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")) if size >= one[0]), (1, "B"))
    return f"{size / scale:.4g} {unit}"


def logarithmic(axis: "Axis", text: "Callable[[float, int], str] | None" = None) -> None:
    """A log axis with labels such as 1 and 10 instead of powers, if the data span a decade.

    `text(value, place)` replaces these labels. Fewer than two decades are labelled at 1, 2 and 5.
    """
    low, high = axis.get_data_interval()
    if low <= 0 or high < 10 * low:
        return
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    if high < 100 * low:
        axis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(text or matplotlib.ticker.StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(matplotlib.ticker.NullFormatter())
