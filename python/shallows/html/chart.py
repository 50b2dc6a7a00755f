"""A matplotlib figure in a page: an SVG whose colours the page may change, with values at the pointer.

The pointer reads lines with a name (matplotlib's `gid`), bars, and boxes given with the figure.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from io import StringIO
from typing import TYPE_CHECKING

import matplotlib
import numpy as np
from matplotlib.container import BarContainer

from shallows.base import names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Box = tuple[float, float, float, float, str]
"""x from, x to, y from, y to, in data coordinates, and the text."""
MOST_POINTS = 2000
"""The most points of a line at which the pointer can read values."""


def chart(
    figure: "Figure", key: str, title: str, boxes: Mapping[int, Iterable[Box]] | None = None, kind: str = ""
) -> str:
    """The HTML of a `Figure`. `key` is unique in the page; `title` is for screen readers.

    `boxes` are those of single axes, by number: `(x from, x to, y from, y to, text)` each, in data
    coordinates.
    """
    svg = _svg(figure, key)
    shown = [_axes(ax, (boxes or {}).get(number, [])) for number, ax in enumerate(figure.axes)]
    data = names.script(shown)
    named = svg.replace("<svg ", f'<svg role="img" aria-label="{names.html(title)}" ', 1)
    return f'<div class="chart {kind}">{named}<script type="application/json">{data}</script></div>'


def _svg(figure: "Figure", key: str) -> str:
    out = StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": key}):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # such names repeat from figure to figure
    text = re.sub(r' d="[^"]*"', lambda path: _hundredths(path[0]), text)
    return re.sub(r'style="[^"]*"', lambda style: _colours(style[0]), text)


def _hundredths(path: str) -> str:
    """A path in hundredths of a point, which halves its length invisibly."""
    return re.sub(r"(\.\d\d)\d+", r"\1", path)


def _colours(style: str) -> str:
    return re.sub(r"(?<!\()#([0-9a-fA-F]{6})\b", lambda found: colour(found[0]), style)


def colour(name: str) -> str:
    """A colour that the page may replace, as in dark mode."""
    value = matplotlib.colors.to_hex(name)
    return f"var(--c-{value[1:]}, {value})"


def _axes(ax: "Axes", boxes: Iterable[Box]) -> dict[str, object]:
    """The position, limits, lines and boxes of axes."""
    width, height = ax.figure.get_size_inches() * 72
    place = ax.get_position()
    box = [place.x0 * width, (1 - place.y1) * height, place.width * width, place.height * height]
    return {
        "box": [round(float(side), 2) for side in box],
        "x": _side(ax.get_xlim(), ax.get_xscale()),
        "y": _side(ax.get_ylim(), ax.get_yscale()),
        "name": ax.get_xlabel() or "time since the flow began (us)",
        "lines": [_line(line) for line in ax.lines if line.get_gid() is not None],
        "boxes": [*_numbers(boxes), *_numbers(_bars(ax))],
    }


def _side(limits: tuple[float, float], scale: str) -> list[float | bool]:
    return [*map(float, limits), scale == "log"]


def _line(line: "Line2D") -> dict[str, object]:
    x, y = (np.asarray(values, float) for values in line.get_data(orig=False))
    known = np.isfinite(x) & np.isfinite(y)
    order = np.flatnonzero(known)[np.argsort(x[known], kind="stable")]
    if len(order) > MOST_POINTS:
        order = order[np.linspace(0, len(order) - 1, MOST_POINTS).astype(int)]
    step = line.get_drawstyle() == "steps-post"
    points = {"x": _short(x[order]), "y": _short(y[order])}
    return {"name": line.get_gid(), "colour": colour(line.get_color()), "step": step, **points}


def _short(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.7g}") for value in values]


def _bars(ax: "Axes") -> Iterator[Box]:
    """Boxes of the bars: the label of the group and the height."""
    for group in (group for group in ax.containers if isinstance(group, BarContainer)):
        for bar in group:
            (x, y), width, height = bar.get_xy(), bar.get_width(), bar.get_height()
            yield x, x + width, y, y + height, f"{group.get_label()}: {height:.4g}"


def _numbers(boxes: Iterable[Box]) -> list[list[object]]:
    return [[*_short(box[:4]), box[4]] for box in boxes]
