"""Figures and the page of settings: thresholds within the buffer, and margin against queue."""

from typing import TYPE_CHECKING

import numpy as np

from shallows.plot import COLOURS, DASHES, Drawing
from shallows.plot.drawing import wrap_title
from shallows.plot.style import bytes_text, logarithmic
from shallows.settings.report import mean, ordered, report
from shallows.units import RATE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from shallows.settings.advise import Advice
    from shallows.settings.explain import Explanation

CORNERS = (("left", 5, -9), ("right", -5, 4), ("left", 5, 4), ("right", -5, -9), ("left", 5, 14))
"""Side and offset in points of a label from its place, the preferred first."""
CHARACTER_PT = 4.0
"""The width of a character of 7 points."""


def draw_thresholds(ax: "Axes", explanation: "Explanation") -> None:
    """Draw the thresholds of each kind of port within its buffer, on a logarithmic axis of bytes."""
    ports = explanation.ports
    for row, port in enumerate(ports):
        by_key = {level.key.rpartition(".")[2]: level.bytes for level in port.levels}
        largest = max([level.bytes for level in port.levels], default=port.bdp_bytes)
        ax.barh(row, largest, left=1, height=0.5, color="#eeeeee", zorder=1)
        if "kmin" in by_key:
            width = by_key["kmax"] - by_key["kmin"]
            ax.barh(row, width, left=by_key["kmin"], height=0.3, color=COLOURS[0], alpha=0.35, zorder=2)
        for number, level in enumerate(port.levels):
            ax.plot(
                [level.bytes] * 2,
                [row - 0.25, row + 0.25],
                color=COLOURS[0 if ".marking." in level.key else 1],
                zorder=3,
            )
            ax.annotate(
                f"{level.name}\n{bytes_text(level.bytes)}", (level.bytes, row + 0.27), fontsize=6.5,
                ha="center", va="bottom", xytext=(0, 17 * (number % 2)), textcoords="offset points",
            )  # fmt: skip
        ax.plot([port.bdp_bytes] * 2, [row - 0.38, row + 0.25], color="black", ls=":", zorder=3)
        ax.annotate(
            "BDP", (port.bdp_bytes, row - 0.36), fontsize=6.5, xytext=(2, 0), textcoords="offset points"
        )
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(bytes_text)
    smallest = min((level.bytes for port in ports for level in port.levels if level.bytes > 0), default=1e3)
    ax.set_xlim(min(smallest, *(port.bdp_bytes for port in ports)) / 3, None)
    ax.set_yticks(np.arange(len(ports)), [RATE.text(port.rate_bps) for port in ports])
    ax.set_ylim(-0.5, len(ports) - 0.1)
    ax.set_xlabel("queue")
    ax.grid(axis="y", visible=False)


def page(explanation: "Explanation") -> str:
    """One HTML file with the tables and the figure."""
    from shallows.html.chart import chart
    from shallows.html.document import document, html, section

    figure = Drawing((7.0, 0.8 + 1.4 * len(explanation.ports)))
    with figure.styled():
        draw_thresholds(figure.subplots(), explanation)
        drawn = chart(figure, "thresholds", "Thresholds within the buffer")
    title = f"Settings of {explanation.scenario.name}"
    parts = [section("settings", title, drawn, html(report(explanation)))]
    return document(title, {"settings": title}, parts)


def margins(advice: "Advice", size: float = 5.2) -> Drawing:
    """Margin against the longest queue: the Pareto front of each additive step, and what ran in packets.

    It is `size` inches wide.
    """
    drawn = Drawing((size, 3.3))
    with drawn.styled():
        ax = drawn.subplots()
        _draw_margins(ax, advice)
        entries = ax.get_legend_handles_labels()
        drawn.legend(
            *entries, loc="outside lower center", ncols=int(size / 1.6), fontsize=7, handlelength=2.8
        )
    return drawn


def _draw_margins(ax: "Axes", advice: "Advice") -> None:
    """Draw the fronts, the settings that ran in packets with their names, and the scenario's own."""
    for number, (step, (queues, margins)) in enumerate(advice.fronts.items()):
        grey = str(0.3 + 0.15 * (number % 4))
        style = {"color": grey, "linestyle": DASHES[number % len(DASHES)], "linewidth": 1.0}
        label = f"Pareto front, step {RATE.text(round(step))}"
        ax.plot(queues / 1e3, margins, label=label, marker=".", markersize=3, **style)
    labels: dict[tuple[float, float], str] = {}
    for one in sorted(ordered(advice), key=lambda one: one.worst.queue_bytes):
        place = (one.worst.queue_bytes / 1e3, one.worst.degrees)
        if not np.isfinite(place).all():
            continue
        best = one is advice.best
        colour = COLOURS[1] if one is advice.own else COLOURS[0]
        shape = "*" if best else "^" if one is advice.own else "s"
        size = 11 if best else 5
        label = "recommended" if best else "own" if one is advice.own else None
        ax.plot(*place, shape, color=colour, markersize=size, label=label, linestyle="none", zorder=3)
        labels[place] = f"{one.name}: {mean(one).partition(' ± ')[0]}"
    logarithmic(ax.xaxis)
    ax.margins(x=0.15, y=0.1)
    _write(ax, labels)
    ax.axhline(0, color="black", linewidth=0.6)
    ax.set_xlabel("longest queue at rest in the fluid model (KB)")
    ax.set_ylabel("least phase margin (degrees)")
    missing = "" if np.isfinite(advice.own.worst.degrees) else " (own: no fixed point)"
    ax.set_title(f"beside each setting: {advice.metric.name}, in packets{missing}")
    wrap_title(ax)


def _write(ax: "Axes", labels: "Mapping[tuple[float, float], str]") -> None:
    """Write a label beside each place, at the first corner where it covers no other place or label."""
    scale = 72 / ax.figure.dpi
    points = {place: ax.transData.transform(place) * scale for place in labels}
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in points.values()]
    for place, text in labels.items():
        x, y = points[place]
        boxes: dict[tuple[str, int, int], tuple[float, float, float, float]] = {}
        for side, right, up in CORNERS:
            left = x + right - (side == "right") * CHARACTER_PT * len(text)
            boxes[side, right, up] = (left, y + up, left + CHARACTER_PT * len(text), y + up + 7)
        free = [corner for corner, box in boxes.items() if not any(_meet(box, other) for other in taken)]
        corner = free[0] if free else CORNERS[0]
        taken.append(boxes[corner])
        side, *offset = corner
        ax.annotate(text, place, offset, fontsize=7, textcoords="offset points", ha=side, zorder=4)


def _meet(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
