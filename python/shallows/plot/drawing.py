"""The figure class of Shallows: every figure keeps the style in which it was made until it is saved.

matplotlib makes ticks and embeds fonts when a figure is saved, by the settings of that moment.
"""

from io import BytesIO
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.projections import register_projection
from matplotlib.ticker import LogFormatter, LogitFormatter, StrMethodFormatter

from shallows.base import names
from shallows.plot.style import CHARACTERS_IN, COLUMN_IN, STYLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from matplotlib.axis import Axis

HANDLE_IN, CHARACTER_IN, TITLE_IN = 0.55, 0.062, 0.067
"""Widths in inches of the line of an entry of a legend, and of characters at 8 and at 8.5 points."""


Box = tuple[float, float, float, float]
"""A rectangle: from and to in x, lower and upper edge."""


class PlainLog(LogFormatter):
    """Labels of a log axis as plain numbers: matplotlib's own are formulas."""

    def _num_to_string(self, x: float, *_: object) -> str:
        return f"{x:g}"


class PlainAxes(Axes):
    """Axes whose labels are never formulas, and whose log scales show all of the data."""

    name = "shallows"

    def set_xscale(self, value: str, **options: object) -> None:
        """Set the scale of x, as matplotlib does."""
        super().set_xscale(value, **options)
        _show_all(self.xaxis)

    def set_yscale(self, value: str, **options: object) -> None:
        """Set the scale of y, as matplotlib does."""
        super().set_yscale(value, **options)
        _show_all(self.yaxis)


register_projection(PlainAxes)


def _show_all(axis: "Axis") -> None:
    """Label an axis in plain numbers. A log scale cannot begin at 0: choose its limits anew."""
    for minor, formatter in ((False, axis.get_major_formatter()), (True, axis.get_minor_formatter())):
        plain = None
        if isinstance(formatter, LogFormatter):
            plain = PlainLog(
                base=formatter._base,
                labelOnlyBase=formatter.labelOnlyBase,
                minor_thresholds=formatter.minor_thresholds,
                linthresh=formatter._linthresh,
            )
        elif isinstance(formatter, LogitFormatter):
            plain = StrMethodFormatter("{x:g}")
        if plain:
            (axis.set_minor_formatter if minor else axis.set_major_formatter)(plain)
    if axis.get_scale() == "log" and min(axis.get_view_interval()) <= 0:
        axis.axes.autoscale(axis=axis.axis_name)


class Drawing(Figure):
    """A figure in the style of Shallows. Journals take it as it is saved: its PDF has fonts of type 42.

    `size` is (width, height) in inches; `style` replaces settings of `STYLE`. A notebook displays it, with or
    without pyplot.
    """

    def __init__(self, size: tuple[float, float], *, style: dict[str, Any] | None = None) -> None:
        self._style = STYLE | (style or {})
        with self.styled():
            super().__init__(figsize=size, dpi=200, layout="constrained")

    def add_subplot(self, *arguments: Any, **options: Any) -> Any:
        """Add axes to the figure, as matplotlib does, whose labels are plain numbers."""
        if not options.get("polar"):
            options.setdefault("projection", PlainAxes.name)
        return super().add_subplot(*arguments, **options)

    def styled(self) -> "AbstractContextManager[None]":
        """The context in which this figure is drawn."""
        return matplotlib.rc_context(self._style)

    def savefig(self, *arguments: object, **options: object) -> None:
        """Save the figure, as matplotlib does, in its own style."""
        with self.styled():
            super().savefig(*arguments, **options)

    def _repr_png_(self) -> bytes:
        image = BytesIO()
        self.savefig(image, format="png", dpi=110)
        return image.getvalue()


def fill(ax: "Axes", boxes: "Iterable[Box]", colour: str, **how: object) -> None:
    """Fill many rectangles with a colour. They widen the limits of the axes, unless they have a transform."""
    corners = [[(left, low), (left, high), (right, high), (right, low)] for left, right, low, high in boxes]
    patches = PolyCollection(corners, facecolors=colour, **how)
    ax.add_collection(patches, autolim="transform" not in how)


def legend_above(drawing: Figure, handles: "Sequence[object]", labels: "Sequence[str]") -> None:
    """Draw a legend above the panels, in as many rows as the width of the figure needs."""
    widest = max(map(len, labels)) * CHARACTER_IN + HANDLE_IN
    columns = max(1, min(len(labels), int(drawing.get_figwidth() / widest)))
    drawing.legend(
        handles, labels, loc="outside upper center", ncols=columns, handlelength=2.8, columnspacing=1.2
    )


def small_print(drawing: Figure, text: str) -> None:
    """Write a caption below a figure, at the right, in as many lines as needed."""
    most = int(drawing.get_figwidth() * CHARACTERS_IN)
    parts = names.figure(text).split("  ·  ")
    lines = _lines([line for part in parts for line in _lines(part.split(", "), ", ", most)], "  ·  ", most)
    drawing.supxlabel("\n".join(lines), fontsize=5.5, color="#555555", x=0.995, ha="right")


def wrap_title(ax: "Axes", columns: int = 1) -> None:
    """Break the title of a panel, one of `columns`, where it would be wider than the panel."""
    figure = ax.get_figure()
    width = (figure.get_figwidth() if figure is not None else COLUMN_IN) / columns
    most = int((width - 0.4) / TITLE_IN)
    lines = ax.get_title(loc="left").split("\n")
    ax.set_title("\n".join(part for line in lines for part in _lines(line.split(" "), " ", most)))


def _lines(parts: list[str], between: str, most: int) -> list[str]:
    """Lines of at most `most` characters made of `parts`, of which none is broken."""
    lines = [""]
    for part in parts:
        joined = f"{lines[-1]}{between}{part}" if lines[-1] else part
        if len(joined) > most and lines[-1]:
            lines.append(part)
        else:
            lines[-1] = joined
    return lines
