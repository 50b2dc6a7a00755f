"""An explanation of settings as tables, a figure and a page."""

from typing import TYPE_CHECKING

import numpy as np

from shallows.printing.report import plain_table
from shallows.units import RATE, TIME

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table

    from shallows.printing.report import Part
    from shallows.settings.explain import Explanation, PortExplanation


def report(explanation: "Explanation") -> "list[Part]":
    """The tables and sentences that a terminal shows."""
    lines = [f"base RTT    {TIME.about(explanation.base_rtt_ps)}, the longest of the scenario's flows"]
    parts: list[Part] = ["\n".join(lines), "", _thresholds(explanation)]
    if any(port.headroom_needed for port in explanation.ports):
        parts += ["", _headrooms(explanation)]
    if any(port.margin for port in explanation.ports):
        parts += ["", _margins(explanation)]
    if explanation.remarks:
        parts += ["", *(f"warning     {remark}" for remark in explanation.remarks)]
    return parts


def _name(port: "PortExplanation") -> str:
    return f"{RATE.text(port.rate_bps)} ({port.count}, such as {port.example})"


def _thresholds(explanation: "Explanation") -> "Table":
    rows = [
        (_name(port), level.name, level.key, f"{level.bytes:,.0f}", f"{level.bytes / port.bdp_bytes:.2f}",
         f"{port.microseconds(level.bytes):.1f}")
        for port in explanation.ports
        for level in port.levels
    ]  # fmt: skip
    return _table(("Thresholds", "", "set by"), ("bytes", "BDP", "us"), rows)


def _headrooms(explanation: "Explanation") -> "Table":
    rows = [
        (_name(port), TIME.text(port.delay_ps), f"{port.headroom_needed:,}", f"{port.headroom_set:,}")
        for port in explanation.ports
        if port.headroom_needed is not None
    ]
    return _table(("Headroom of each link", "delay"), ("needed, bytes", "set, bytes"), rows)


def _margins(explanation: "Explanation") -> "Table":
    rows = [
        (
            _name(port),
            f"{port.margin.degrees:.1f}",
            str(port.margin.flows),
            f"{port.margin.queue_bytes / 1e3:,.0f}",
        )
        for port in explanation.ports
        if port.margin
    ]
    numbers = ("least phase margin, degrees", "at flows", "longest queue, KB")
    return _table(("Stability in the fluid model, 2 to 64 flows",), numbers, rows)


def _table(words: tuple[str, ...], numbers: tuple[str, ...], rows: list[tuple[str, ...]]) -> "Table":
    """A table whose first column, with the title above it, names the ports."""
    table = plain_table(words[0], [*words[1:], *numbers], left=words[1:])
    for row in rows:
        table.add_row(*row)
    return table


def draw(ax: "Axes", explanation: "Explanation") -> None:
    """Draw the thresholds of each kind of port within its buffer, on a logarithmic axis of bytes."""
    from shallows.plot import COLOURS
    from shallows.plot.style import bytes_text

    ports = explanation.ports
    for row, port in enumerate(ports):
        by_key = {level.key.rpartition(".")[2]: level.bytes for level in port.levels}
        largest = max([level.bytes for level in port.levels], default=port.bdp_bytes)
        ax.barh(row, largest, left=1, height=0.5, color="#eeeeee", zorder=1)
        if "kmin" in by_key:
            width = by_key["kmax"] - by_key["kmin"]
            ax.barh(row, width, left=by_key["kmin"], height=0.3, color=COLOURS[0], alpha=0.35, zorder=2)
        for number, level in enumerate(port.levels):
            ax.plot([level.bytes] * 2, [row - 0.25, row + 0.25], color=_colour(level.key), zorder=3)
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


def _colour(key: str) -> str:
    from shallows.plot import COLOURS

    return COLOURS[0] if ".marking." in key else COLOURS[1]


def page(explanation: "Explanation") -> str:
    """One HTML file with the tables and the figure."""
    from shallows.html.chart import chart
    from shallows.html.document import document, html, section
    from shallows.plot import Drawing

    figure = Drawing((7.0, 0.8 + 1.4 * len(explanation.ports)))
    with figure.styled():
        draw(figure.subplots(), explanation)
        drawn = chart(figure, "thresholds", "Thresholds within the buffer")
    title = f"Settings of {explanation.scenario.name}"
    return document(
        title, {"settings": title}, [section("settings", title, drawn, html(report(explanation)))]
    )
