"""Draws a figure's curves in the form of the paper's figure, with the paper's points as hollow marks."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.plot import COLOURS, MARKERS, Drawing
from validation.runs import F64

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from validation.claim import Band, Plot
    from validation.claim import Figure as Measured
    from validation.reach import Axis, Extent, Point
    from validation.store import Sample


def draw(row: "Measured", samples: "Sequence[Sample]") -> Drawing | None:
    """The figure from the first seed's curves, two panels beside each other; None where it has none."""
    if not row.plots or not samples or not samples[0]["series"]:
        return None
    lines, columns = (1, 1) if len(row.plots) == 1 else ((len(row.plots) + 1) // 2, 2)
    figure = Drawing((5.2, 3.3) if columns == 1 else (7.6, 2.6 * lines))
    with figure.styled():
        compared = all(plot.kind == "cdf" for plot in row.plots)
        grid = figure.subplots(lines, columns, squeeze=False, sharex=compared)
        for axes, plot in zip(grid.flat, row.plots, strict=False):
            draw_on(axes, plot, _of_panel(plot, samples[0]["series"]))
        for axes in grid.flat[len(row.plots) :]:
            axes.set_visible(False)
    return figure


def _of_panel(plot: "Plot", series: Mapping[str, Any]) -> Mapping[str, Any]:
    """The curves of a panel, by their labels in its legend."""
    begin = f"{plot.panel}: " if plot.panel else ""
    return {label.removeprefix(begin): curve for label, curve in series.items() if label.startswith(begin)}


def draw_reach(found: "Extent") -> Drawing:
    """The figure of an `Extent`: a column an axis, a row a band; filled marks pass, hollow ones do not."""
    bands = found.row.bands
    figure = Drawing((2.1 * len(found.axes) + 0.6, 1.6 * len(bands) + 0.5))
    with figure.styled():
        grid = figure.subplots(len(bands), len(found.axes), squeeze=False, sharey="row", sharex="col")
        for line, band in zip(grid, bands, strict=True):
            for axes, (axis, points) in zip(line, found.axes.items(), strict=True):
                _reach_on(axes, axis, points, band)
            line[0].set_ylabel("\n".join(textwrap.wrap(band.metric, 18)))
        for axes, axis in zip(grid[-1], found.axes, strict=True):
            axes.set_xlabel(f"{axis.name} ({axis.unit})" if axis.unit else axis.name)
    return figure


def _reach_on(axes: "Axes", axis: "Axis", points: "Sequence[Point]", band: "Band") -> None:
    at = range(len(points))
    means = [point.estimates[band.metric].mean for point in points]
    bars = [point.estimates[band.metric].half for point in points]
    axes.errorbar(at, means, bars, lw=1, elinewidth=0.8, color=COLOURS[0], zorder=1)
    fine = [band.metric not in point.missed for point in points]
    for good, face in ((True, COLOURS[0]), (False, "white")):
        where = [i for i in at if fine[i] == good]
        axes.plot(where, [means[i] for i in where], "o", ms=5, color=COLOURS[0], mfc=face)
    for bound in (band.low, band.high):
        if np.isfinite(bound):
            axes.axhline(bound, lw=0.8, ls="--", color=COLOURS[1])
    axes.axvline(axis.points.index(axis.home), lw=6, color="0.9", zorder=0)
    axes.set_xticks(list(at), [f"{value:g}" for value in axis.points])
    if 0 < min(means) * 20 < max(means) < min(means) * 1e6:
        axes.set_yscale("log")


def draw_on(axes: "Axes", plot: "Plot", series: Mapping[str, Any]) -> None:
    """Draws the curves of one panel on `axes`."""
    drawn = [label for label in series if label not in plot.guides]
    if plot.kind == "stack":
        _stack_on(axes, series)
    for i, label in enumerate(drawn if plot.kind != "stack" else ()):
        x, y = (np.array(values) for values in series[label])
        _series_on(axes, plot.kind, label, x, y, i, len(drawn))
    for label, dashes in zip(plot.guides, ("--", ":", "-."), strict=False):
        axes.plot(*series[label], lw=0.8, ls=dashes, color="0.4", label=label, zorder=0)
    if plot.kind == "scatter":
        axes.plot([0, 100], [0, 100], lw=0.8, color="0.5", label="ideal")
    _printed_on(axes, plot, drawn)
    axes.set_xlabel(plot.x)
    axes.set_ylabel(plot.y)
    axes.set_title(plot.panel)
    _scales_on(axes, plot, series)
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend(fontsize=8 if len(series) < 5 else 7)


def _stack_on(axes: "Axes", series: Mapping[str, Any]) -> None:
    """Curves above each other, the first at the bottom, which may begin and end at times of their own."""
    times = np.unique(np.concatenate([x for x, _ in series.values()]))
    heights: list[F64] = [np.interp(times, x, y, left=0, right=0) for x, y in series.values()]
    colours = [COLOURS[i % len(COLOURS)] for i in range(len(heights))]
    axes.stackplot(times, heights, colors=colours, lw=0)


def _printed_on(axes: "Axes", plot: "Plot", drawn: Sequence[str]) -> None:
    """The paper's points: hollow diamonds in the colour of the curve with the same label, else black."""
    for i, (label, points) in enumerate(plot.printed.items()):
        colour = COLOURS[drawn.index(label) % len(COLOURS)] if label in drawn else "black"
        x, y = (np.array(values) for values in zip(*points, strict=True))
        if plot.kind == "bars" and label in drawn:
            x = x + (drawn.index(label) - (len(drawn) - 1) / 2) * 0.8 / len(drawn)
        name = "paper" if i == 0 else None
        axes.plot(x, y, "D", ms=6, mfc="white", mec="black", mew=2.2, zorder=5, clip_on=False)
        axes.plot(x, y, "D", ms=5, mfc="white", mec=colour, mew=1.2, zorder=6, label=name, clip_on=False)


def _series_on(axes: "Axes", kind: str, label: str, x: F64, y: F64, i: int, of: int) -> None:
    """Draws curve `i` of `of`. Where the colours begin anew, lines are dashed."""
    how = {"color": COLOURS[i % len(COLOURS)], "label": label}
    if kind == "bars":
        width = 0.8 / of
        axes.bar(x + (i - (of - 1) / 2) * width, y, width, **how)
    elif kind == "scatter":
        axes.plot(x, y, ".", ms=3, gid=label, alpha=0.6, **how)
    elif kind == "points":
        axes.plot(x, y, marker=MARKERS[i % len(MARKERS)], ms=4, lw=1, gid=label, **how)
    else:
        steps = "steps-post" if kind == "steps" else "default"
        dashes = "-" if i < len(COLOURS) else "--"
        axes.plot(x, y, lw=1.1, ls=dashes, gid=label, drawstyle=steps, **how)


def _scales_on(axes: "Axes", plot: "Plot", series: Mapping[str, Any]) -> None:
    if plot.x_log:
        axes.set_xscale("log")
    if plot.y_log:
        axes.set_yscale("log")
    elif plot.y_from is not None:
        axes.set_ylim(bottom=plot.y_from)
    elif plot.kind in ("points", "bars", "steps") and min(min(y) for _, y in series.values()) >= 0:
        axes.set_ylim(bottom=0)
    if plot.y_to is not None:
        axes.set_ylim(top=plot.y_to)
    if plot.names:
        axes.set_xticks(next(iter(series.values()))[0], plot.names, fontsize=7)
    elif plot.kind == "points":
        ticks = _apart(sorted({at for x, _ in series.values() for at in x}), plot.x_log)
        _ticks_on(axes, ticks)
    elif plot.x_log:
        low, high = axes.get_xlim()
        if high < 300 * low:
            _ticks_on(axes, [at for at in _ONE_TWO_FIVE if low <= at <= high])


_ONE_TWO_FIVE = [digit * 10.0**power for power in range(-3, 7) for digit in (1, 2, 5)]


def _ticks_on(axes: "Axes", at: Sequence[float]) -> None:
    """Sets ticks in plain numbers, which suit axes of few decades."""
    axes.set_xticks(at, [f"{one:g}" for one in at])
    axes.minorticks_off()


def _apart(points: Sequence[float], log: bool) -> list[float]:
    """The points whose labels do not touch: a twelfth of the axis apart."""
    places = np.log(points) if log else np.array(points)
    least, kept = (places[-1] - places[0]) / 12, [0]
    for i in range(1, len(points)):
        if places[i] - places[kept[-1]] >= least:
            kept.append(i)
    return [points[i] for i in kept]
