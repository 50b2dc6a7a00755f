"""Figures of sweeps: means with intervals as bands, small multiples, heat maps."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import matplotlib
import numpy as np
from matplotlib.ticker import NullLocator

from shallows.base import names as escape
from shallows.core.contract import F64
from shallows.errors import ScenarioError
from shallows.plot.drawing import CHARACTER_IN, Drawing, legend_above, small_print
from shallows.plot.style import MORE_THAN, look
from shallows.results.metrics import label
from shallows.results.statistics import UNFINISHED
from shallows.sweeps.report import estimate, follows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shallows.sweeps.result import Sweep

Row = Mapping[str, Any]
Rows = Sequence[Row]
"""Of `Sweep.intervals`."""
PANEL_IN = (3.1, 2.3)
MOST_PANELS = 24
TICK_CHARACTER_IN = 0.062  # width of a character of a tick
MOST_NUMBERS = 60  # the most cells of a heat map that show their numbers


class HeatmapOptions(TypedDict, total=False):
    """The options of `heatmap`."""

    size: tuple[float, float] | None
    names: Mapping[str, str] | None
    caption: bool


class FigureOptions(HeatmapOptions, total=False):
    """The options of `figure`."""

    bars: bool
    log: str


def figure(
    sweep: "Sweep",
    x: str | None = None,
    y: str | Sequence[str] | None = None,
    by: str = "cc",
    baseline: str | None = None,
    *,
    size: tuple[float, float] | None = None,
    names: Mapping[str, str] | None = None,
    caption: bool = True,
    bars: bool = False,
    log: str = "",
) -> Drawing:
    """The mean of `y` against `x`, with its interval over seeds as a band, and a line per value of `by`.

    `x` is a swept key (by default the first), `y` one metric or several, `by` a column. Further swept keys
    make small multiples, a column of panels per value and a row per metric; keys that change together with
    `x` make none. With `baseline`, it shows differences from that algorithm. `size` is (width, height) in
    inches, `names` replaces those of series (`{"hpcc": "HPCC"}`, or values of `by`), and the caption holds
    what is needed to reproduce the figure. `bars` draws intervals as error bars, `log` makes axes
    logarithmic: "x", "y" or "xy".

    Raises `ScenarioError` for a name that no series has, and for a log axis of values that are not positive.
    """
    x = sweep.column(x) if x else next(iter(sweep.swept.values()), None)
    if x is None:
        raise ScenarioError("x", None, "a swept key: this sweep has none")
    given = [y] if isinstance(y, str) else list(y or sweep.default_metrics()[:1])
    metrics = [sweep.metric(one) for one in given]
    by = sweep.column(by)
    if not set(log) <= set("xy"):
        raise ScenarioError("log", log, '"x", "y" or "xy"')
    further = [
        column
        for column in sweep.swept.values()
        if column not in (x, by) and not follows(sweep.rows, column, x)
    ]
    rows = sweep.intervals(metrics, list(dict.fromkeys([x, by, *further, "cc"])), baseline)
    panels = list(dict.fromkeys(_at(row, further) for row in rows))
    alone = len({row["cc"] for row in rows}) == 1
    series = {_name(row, by, alone): str(row[by]) for row in rows}
    renamed = _renamed(names, series)
    _check_panels(len(panels) * len(metrics))
    down, across = (len(metrics), len(panels)) if further else (1, len(metrics))
    drawing = Drawing(size or (PANEL_IN[0] * across, PANEL_IN[1] * down + 0.7))
    axis = _Axis.of(x, [row[x] for row in rows], "x" in log)
    with drawing.styled():
        axes = drawing.subplots(down, across, squeeze=False, sharex=True, sharey="row" if further else False)
        axes = axes if further else axes.T
        for metric, row_of_axes in zip(metrics, axes, strict=True):
            of_metric = [row for row in rows if row["metric"] == metric]
            for panel, ax in zip(panels, row_of_axes, strict=True):
                drawn_rows = [row for row in of_metric if _at(row, further) == panel]
                lines = {
                    name: [row for row in drawn_rows if _name(row, by, alone) == name] for name in series
                }
                _lines(ax, lines, axis, baseline, bars)
                if ax in axes[-1] or not further:
                    ax.set_xlabel(_wrapped(axis.label, drawing, across))
                if panel and ax in axes[0]:
                    ax.set_title(_wrapped(", ".join(_pairs(further, panel)), drawing, across))
            row_of_axes[0].set_ylabel(label(metric) + (f", less {baseline}'s" if baseline else ""))
            _limit(row_of_axes, of_metric, metric, baseline, "y" in log)
        for ax in axes.ravel():
            axis.apply(ax)
        handles, keys = axes[0][0].get_legend_handles_labels()
        for ax in axes.ravel():
            for handle, key in zip(*ax.get_legend_handles_labels(), strict=True):
                if key not in keys:
                    handles, keys = [*handles, handle], [*keys, key]
        shown = [escape.figure(str(renamed.get(key, key))) for key in keys]
        if len(keys) > 1:
            legend_above(drawing, handles, shown)
        if caption:
            small_print(drawing, _small_print(sweep, rows, "bars" if bars else "bands", shown))
    return drawing


def _renamed(names: Mapping[str, str] | None, series: Mapping[str, str]) -> dict[str, str]:
    """The names in place of those of series, which `names` has by name or value. Raises `ScenarioError`."""
    found: dict[str, str] = {}
    for given, name in (names or {}).items():
        of = [one for one, value in series.items() if given in (one, value)]
        if not of:
            raise ScenarioError("names", given, f"one of the series: {', '.join(series)}")
        found |= dict.fromkeys(of, name)
    return found


def _wrapped(text: str, drawing: Drawing, columns: int) -> str:
    """A text for a panel, one of `columns`, in lines of its width, broken behind dots and blanks."""
    most = int((drawing.get_figwidth() / columns - 0.5) / CHARACTER_IN)
    lines = [""]
    for part in re.findall(r"[^. ]+[. ]*", text):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > most:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def _limit(axes: Sequence["Axes"], rows: Rows, metric: str, baseline: str | None, log: bool) -> None:
    """Let the panels of a metric, which share their axis, show all values, from 0 where none is below."""
    keys = ("difference_low", "difference") if baseline else ("low", "mean")
    values = [row[key] for row in rows for key in keys if math.isfinite(row[key])]
    if log:
        if min(values, default=1.0) <= 0:
            expected = f"no log axis for {metric}: a value or the end of an interval is {min(values):.4g}"
            raise ScenarioError("log", "y", expected)
        for ax in axes:
            ax.set_yscale("log")
    elif not baseline and min(values, default=0.0) >= 0:
        for ax in axes:
            ax.set_ylim(bottom=0)


def heatmap(
    sweep: "Sweep",
    x: str,
    y: str,
    of: str,
    *,
    size: tuple[float, float] | None = None,
    names: Mapping[str, str] | None = None,
    caption: bool = True,
) -> Drawing:
    """The mean of `of` over the swept keys `x` and `y`, on one scale, a column of panels per algorithm.

    Further swept keys make small multiples, a row of panels per value. `size`, `names` and `caption` are
    those of `figure`.
    """
    x, y = sweep.column(x), sweep.column(y)
    further = [column for column in sweep.swept.values() if column not in (x, y)]
    rows = sweep.intervals(of, list(dict.fromkeys([x, y, *further, "cc"])))
    across, up = ([*dict.fromkeys(row[column] for row in rows)] for column in (x, y))
    algorithms: list[str] = list(dict.fromkeys(row["cc"] for row in rows))
    renamed = _renamed(names, {name: name for name in algorithms})
    panels = list(dict.fromkeys(_at(row, further) for row in rows))
    _check_panels(len(algorithms) * len(panels))
    means = [row["mean"] for row in rows if math.isfinite(row["mean"])] or [0.0]
    usual = _size(len(across), len(up), len(algorithms), len(panels))
    drawing = Drawing(size or usual, style={"axes.grid": False})
    with drawing.styled():
        axes = drawing.subplots(len(panels), len(algorithms), squeeze=False, sharex=True, sharey=True)
        scale = matplotlib.colors.Normalize(min(means), max(means))
        image = None
        for panel, row_of_axes in zip(panels, axes, strict=True):
            for name, ax in zip(algorithms, row_of_axes, strict=True):
                cells = [row for row in rows if row["cc"] == name and _at(row, further) == panel]
                image = _cells(ax, cells, (x, across), (y, up), scale)
                ax.set_title(", ".join([renamed.get(name, name), *_pairs(further, panel)]))
            row_of_axes[0].set_ylabel(y)
        for ax in axes[-1]:
            ax.set_xlabel(x)
        drawing.colorbar(image, ax=axes.ravel().tolist(), label=label(of))
        if caption:
            small_print(drawing, _small_print(sweep, rows, "±"))
    return drawing


def _size(across: int, up: int, names: int, panels: int) -> tuple[float, float]:
    """The size in inches of a heat map with these cells and panels."""
    cell = 0.62 if across * up <= MOST_NUMBERS else 0.32
    wide, high = (cell * across + 0.9) * names + 1.0, (cell * 0.7 * up + 0.6) * panels + 0.7
    return max(wide, 4.2), max(high, 2.4)


def _cells(
    ax: "Axes", rows: Rows, x: tuple[str, list[object]], y: tuple[str, list[object]], scale: object
) -> Any:
    """Draw the means of one panel at the positions of the keys' values; return the image."""
    (across_by, across), (up_by, up) = x, y
    values = np.full((len(up), len(across)), np.nan)
    texts: dict[tuple[int, int], str] = {}
    for row in rows:
        at = up.index(row[up_by]), across.index(row[across_by])
        values[at], texts[at] = row["mean"], estimate(row)
    image = ax.imshow(values, norm=scale, cmap="cividis", origin="lower", aspect="auto")
    ax.set_xticks(range(len(across)), [str(value) for value in across])
    ax.set_yticks(range(len(up)), [str(value) for value in up])
    _numbers(ax, values, scale, texts)
    return image


def magnitude(value: object) -> tuple[float, str] | None:
    """`(number, unit)` of a swept value, (0.4, "") or (100, "pkt"); None if it is not a number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), ""
    match = re.fullmatch(r"\s*([+-]?[\d.]+(?:[eE][+-]?\d+)?)\s*([a-zA-Zµ%]*)\s*", str(value))
    return (float(match[1]), match[2]) if match else None


@dataclass(frozen=True)
class _Axis:
    """The axis of a swept key, the same for all panels: places of its values, its unit, and its scale."""

    name: str
    places: dict[str, float]
    unit: str | None
    log: bool

    @classmethod
    def of(cls, name: str, values: Sequence[object], log: bool) -> "_Axis":
        """The axis of these values. Raises `ScenarioError` for a log axis of words or of numbers from 0."""
        places, unit = _scale(values)
        if log and (unit is None or min(places.values()) <= 0):
            raise ScenarioError("log", "x", f"no log axis for {name}: not all values are numbers above 0")
        return cls(
            name, places, unit, log or (unit is not None and _is_geometric(sorted(set(places.values()))))
        )

    @property
    def label(self) -> str:
        """The key, with the unit of its values."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def apply(self, ax: "Axes") -> None:
        """Set the scale and the ticks of axes."""
        if self.log:
            ax.set_xscale("log")
            ax.xaxis.set_minor_locator(NullLocator())
        _ticks(ax, {text.removesuffix(self.unit or "").strip(): place for text, place in self.places.items()})


def _lines(ax: "Axes", lines: Mapping[str, Rows], axis: _Axis, baseline: str | None, bars: bool) -> None:
    """Draw the series of a panel: a line of means, with intervals as bands or as bars."""
    for i, (name, line) in enumerate(lines.items()):
        if not line or (baseline and line[0]["cc"] == baseline):
            continue
        keys = ("difference", "difference_low", "difference_high") if baseline else ("mean", "low", "high")
        at = np.array([axis.places[str(row[axis.name])] for row in line])
        mean, low, high = (np.array([row[key] for row in line], float) for key in keys)
        order = np.argsort(at, kind="stable")
        at, mean, low, high = (values[order] for values in (at, mean, low, high))
        shape = look(i)
        if bars:
            ends = {"capsize": 2, "elinewidth": 0.8, "fmt": "none", "ecolor": shape["color"]}
            known = np.isfinite(low)
            ax.errorbar(at[known], mean[known], yerr=[(mean - low)[known], (high - mean)[known]], **ends)
        else:
            ax.fill_between(at, low, high, color=shape["color"], alpha=0.2, linewidth=0)
        ax.plot(at, mean, **shape, label=escape.figure(name), clip_on=False)
        few = np.array([row["few"] for row in line])[order]
        if few.any():
            hollow = {"linestyle": "", "marker": shape["marker"], "color": shape["color"], "mfc": "white"}
            ax.plot(at[few], mean[few], **hollow, clip_on=False)
        bounds = np.array([math.nan if baseline else row["more_than"] for row in line], float)[order]
        if np.isfinite(bounds).any():
            ax.plot(at, bounds, linestyle="", marker=MORE_THAN, color=shape["color"], clip_on=False)
    if baseline:
        ax.axhline(0, color="#555555", linewidth=0.6)


def _is_geometric(values: Sequence[float]) -> bool:
    """True if positive values span a decade or so, and their ratios vary less than their differences."""
    if len(values) < 3 or values[0] <= 0 or values[-1] < 8 * values[0]:
        return False
    ratios, steps = np.diff(np.log(values)), np.diff(values)
    return bool(np.std(ratios) / np.mean(ratios) < np.std(steps) / np.mean(steps))


def _ticks(ax: "Axes", places: Mapping[str, float]) -> None:
    """Label the values of a key as they were typed, without those that would touch their neighbour."""
    low, high = min(places.values()), max(places.values())
    figure = ax.get_figure()
    columns = ax.get_subplotspec().get_gridspec().ncols if ax.get_subplotspec() else 1  # type: ignore[union-attr]
    width = 0.8 * figure.get_figwidth() / columns - 0.4 if figure is not None else 2.0
    of_axis = np.log if ax.get_xscale() == "log" else np.asarray
    span = float(of_axis(high) - of_axis(low)) or 1.0
    kept: dict[str, float] = {}
    free = -math.inf
    for text, place in sorted(places.items(), key=lambda item: item[1]):
        centre = float(of_axis(place) - of_axis(low)) / span * width
        half = (len(text) + 1.5) * TICK_CHARACTER_IN / 2
        if centre - half >= free:
            kept[text], free = place, centre + half
    ax.set_xticks(list(kept.values()), list(kept))


def _scale(values: Sequence[object]) -> tuple[dict[str, float], str | None]:
    """`({value: position on the axis}, unit)`; unit None for words."""
    numbers = [number for number in map(magnitude, values) if number is not None]
    if len(numbers) == len(values) and len({unit for _, unit in numbers}) == 1:
        return {str(v): number for v, (number, _) in zip(values, numbers, strict=True)}, numbers[0][1]
    return {text: float(i) for i, text in enumerate(dict.fromkeys(map(str, values)))}, None


def _numbers(ax: "Axes", values: F64, scale: Any, texts: Mapping[tuple[int, int], str]) -> None:
    if values.size > MOST_NUMBERS:
        return
    for (row, column), text in texts.items():
        dark = np.isfinite(values[row, column]) and scale(values[row, column]) < 0.5
        lines = text.replace(" ± ", "\n± ").replace(" (", "\n(")
        ax.text(column, row, lines, ha="center", va="center", fontsize=5.5,
                color="white" if dark else "black")  # fmt: skip


def _at(row: Row, columns: Sequence[str]) -> tuple[object, ...]:
    return tuple(row[column] for column in columns)


def _pairs(columns: Sequence[str], values: Sequence[object]) -> list[str]:
    return [f"{column} {value}" for column, value in zip(columns, values, strict=True)]


def _name(row: Row, by: str, alone: bool) -> str:
    """The name of a series; the only algorithm is in none but its own."""
    return str(row[by]) if by == "cc" else f"{by} {row[by]}" + ("" if alone else f", {row['cc']}")


def _check_panels(count: int) -> None:
    if count > MOST_PANELS:
        raise ScenarioError(
            "panels", count, f"at most {MOST_PANELS}: sweep fewer keys, or choose fewer metrics"
        )


def _small_print(sweep: "Sweep", rows: Rows, spread: str, series: Sequence[str] = ()) -> str:
    about, methods = sweep.about, sorted({row["method"] for row in rows} - {UNFINISHED})
    seeds = about["seeds"]
    span = f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"
    few = "  ·  hollow: few flows" if any(row["few"] for row in rows) else ""
    if any(row["method"] == UNFINISHED for row in rows):
        few += "  ·  carets: at least that, because flows are unfinished"
    early = "  ·  interrupted" if sweep.interrupted else ""
    spread += f" {', '.join(methods)}{few}"
    of = f"  ·  {series[0]}" if len(series) == 1 else ""
    return f"{about['name']}{of}  ·  {span}, {spread}  ·  shallows {about['version']}{early}"
