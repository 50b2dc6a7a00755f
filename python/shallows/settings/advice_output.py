"""Advice as text and tables, and as a figure of margin against queue."""

from typing import TYPE_CHECKING

import numpy as np

from shallows.printing.report import plain_table
from shallows.units import RATE

LONGER = 1.1
"""A queue or a slowdown that is worse is at least this many times the own."""
CORNERS = (("left", 5, -9), ("right", -5, 4), ("left", 5, 4), ("right", -5, -9), ("left", 5, 14))
"""Side and offset in points of a label from its place, the preferred first."""
CHARACTER_PT = 4.0
"""The width of a character of 7 points."""

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

    from shallows.printing.report import Part
    from shallows.results.statistics import Interval
    from shallows.settings.advise import Advice, Candidate


def report(advice: "Advice") -> "list[Part]":
    """The recommendation, the tables of settings in both worlds, the assumptions and the disagreements."""
    best = advice.best
    lines = [_headline(advice), ""] + [f"{key} = {_value(value)}" for key, value in best.settings.items()]
    parts: list[Part] = [
        "\n".join(lines),
        "",
        _distance(advice),
        "",
        _packets(advice),
        "",
        _fluid(advice),
        "",
    ]
    parts += [_corners(advice), "", _settings(advice), ""]
    parts += [f"assumed     {text}" for text in advice.assumed]
    parts += [f"disagree    {text}" for text in advice.disagreements]
    return parts


def as_json(advice: "Advice") -> dict[str, object]:
    """The same for other programs: numbers that are not known are null."""
    from shallows.results.summary import json_number

    def row(one: "Candidate") -> dict[str, object]:
        measured = one.measured
        numbers = {
            **{key: getattr(measured.metric, key) for key in ("mean", "low", "high")},
            "longer_slowdown": measured.longer,
            "goodput_gbps": measured.goodput_gbps,
            "phase_margin_deg": one.worst.degrees,
            "queue_bytes": one.worst.queue_bytes,
        }
        return {
            "name": one.name,
            "settings": {key: _value(value) for key, value in one.settings.items()},
            **{key: json_number(value) for key, value in numbers.items()},
            "unfinished": measured.unfinished,
            "faults": list(one.faults),
        }

    return {
        "recommended": advice.best.name,
        "metric": advice.metric.name,
        "own": row(advice.own),
        "candidates": [row(one) for one in advice.candidates],
        "assumed": list(advice.assumed),
        "disagreements": list(advice.disagreements),
    }


def _headline(advice: "Advice") -> str:
    best, own, metric = advice.best, advice.own, advice.metric.name
    if best is own:
        found = f"{metric} {_mean(best)}"
        return f"Keep the scenario's own settings. No other is clearly better in packets: {found}."
    difference = best.measured.difference
    clear = difference.high < 0 or difference.low > 0
    verdict = "not clearly different" if not clear else "lower" if difference.high < 0 else "higher"
    compared = f"{verdict}, difference {_difference(difference)}"
    if not np.isfinite(difference.mean):
        compared = f"{own.measured.unfinished} of its flows are unfinished"
    lines = [
        f"Setting {best.name} is recommended. In packets its {metric} is {_mean(best)}, and {_mean(own)} "
        f"with the scenario's own settings: {compared}."
    ]
    if np.isfinite([best.measured.longer, own.measured.longer]).all():
        longer = f"{best.measured.longer:.3g}, and {own.measured.longer:.3g}"
        lines.append(f"The mean slowdown of longer flows is {longer} with the scenario's own settings.")
    lines += _worse(best, own)
    if own.faults:
        lines.append(f"The scenario's own settings are set back by this: {_faults(own)}.")
    return "\n".join(lines)


def _worse(best: "Candidate", own: "Candidate") -> list[str]:
    """What the recommended settings make worse."""
    found = [
        f"{there.where} alone keep {there.queue_bytes / 1e3:.0f} KB, not {here.queue_bytes / 1e3:.0f} KB"
        for there, here in zip(best.corners, own.corners, strict=False)
        if there.where == here.where and there.queue_bytes > LONGER * here.queue_bytes
    ]
    if best.measured.longer > LONGER * own.measured.longer:
        found.append("longer flows are slower")
    return [f"It makes this worse: {'; '.join(found)}."] if found else []


def _faults(one: "Candidate") -> str:
    return "; ".join(one.faults)


def _distance(advice: "Advice") -> str:
    """How far the recommended and the own settings are from instability."""
    lines: list[str] = []
    for one in [advice.best] if advice.best is advice.own else [advice.best, advice.own]:
        name = "own" if one is advice.own else f"setting {one.name}"
        lines.append(f"{name}: {_margin_words(one)}")
    return "Distance to instability in the fluid model\n" + "\n".join(lines)


def _margin_words(one: "Candidate") -> str:
    worst = one.worst
    if np.isnan(worst.degrees):
        return f"the queue has no fixed point with {worst.where}"
    if worst.degrees <= 0:
        return f"the queue oscillates with {worst.where} (phase margin {worst.degrees:.1f} degrees)"
    return f"the least phase margin is {worst.degrees:.1f} degrees, with {worst.where}"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value if value.startswith("{") else f'"{value}"'
    return f"{value:.6g}"


def _mean(one: "Candidate") -> str:
    metric = one.measured.metric
    if one.measured.unfinished:
        return f"more than {_short(one.measured.least)}"
    return f"{_short(metric.mean)} ± {_short(metric.half_width)}" if metric.n > 1 else _short(metric.mean)


def _short(number: float) -> str:
    """Three digits, without an exponent for large numbers."""
    return f"{number:.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def _difference(of: "Interval") -> str:
    if not np.isfinite(of.mean):
        return "unknown"
    sign = "+" if of.mean > 0 else ""
    return f"{sign}{_short(of.mean)} ± {_short(of.half_width)}" if of.n > 1 else f"{sign}{_short(of.mean)}"


def _ordered(advice: "Advice") -> list["Candidate"]:
    rest = [one for one in advice.candidates if one is not advice.best]
    return [advice.best, *rest, *([advice.own] if advice.best is not advice.own else [])]


def _named(advice: "Advice", one: "Candidate") -> str:
    return f"{one.name} *" if one is advice.best else one.name


def _packets(advice: "Advice") -> "Table":
    seeds = advice.own.measured.metric.n
    table = plain_table(
        f"In packets, {seeds} seeds",
        (advice.metric.name, "from own", "longer flows", "Gbit/s", "pauses", "drops", "set back by"),
    )
    for one in _ordered(advice):
        trial = one.measured
        longer = "-" if np.isnan(trial.longer) else f"{trial.longer:.2f}"
        difference = "" if one is advice.own else _difference(trial.difference)
        numbers = (longer, f"{trial.goodput_gbps:.4g}", _short(trial.pauses), _short(trial.dropped))
        table.add_row(_named(advice, one), _mean(one), difference, *numbers, _faults(one))
    return table


def _fluid(advice: "Advice") -> "Table":
    columns = ("least margin, degrees", "with", "longest queue, KB", "settles in, ms")
    table = plain_table("In the fluid model", columns)
    for one in _ordered(advice):
        worst = one.worst
        margin = "none" if np.isnan(worst.degrees) else f"{worst.degrees:.1f}"
        queue = "-" if np.isnan(worst.queue_bytes) else f"{worst.queue_bytes / 1e3:.1f}"
        settles = f"{one.settles_s * 1e3:.3g}" if np.isfinite(one.settles_s) else "never"
        table.add_row(_named(advice, one), margin, worst.where, queue, settles)
    return table


def _corners(advice: "Advice") -> "Table":
    columns = ("fluid queue, KB", "in packets", "port busy", "pauses and drops")
    table = plain_table("Long-lived flows alone", columns)
    for one in _ordered(advice):
        for corner in one.corners:
            fluid = "-" if np.isnan(corner.expected_bytes) else f"{corner.expected_bytes / 1e3:.1f}"
            numbers = (
                fluid,
                f"{corner.queue_bytes / 1e3:.1f}",
                f"{corner.utilization:.1%}",
                f"{corner.stops}",
            )
            table.add_row(f"{_named(advice, one)}: {corner.where}", *numbers)
    return table


def _settings(advice: "Advice") -> "Table":
    keys = {key.rpartition(".")[2]: key for key in advice.own.settings}
    table = plain_table("Settings", tuple(keys))
    for one in _ordered(advice):
        values = [_value(one.settings[key]).strip('"') for key in keys.values()]
        table.add_row(_named(advice, one), *values)
    return table


def figure(advice: "Advice", size: float = 5.2) -> "Figure":
    """Margin against the longest queue: the Pareto front of each additive step, and what ran in packets.

    It is `size` inches wide.
    """
    from shallows.plot import Drawing

    drawn = Drawing((size, 3.3))
    with drawn.styled():
        ax = drawn.subplots()
        draw(ax, advice)
        entries = ax.get_legend_handles_labels()
        drawn.legend(
            *entries, loc="outside lower center", ncols=int(size / 1.6), fontsize=7, handlelength=2.8
        )
    return drawn


def draw(ax: "Axes", advice: "Advice") -> None:
    """Draw the fronts, the settings that ran in packets with their names, and the scenario's own."""
    from shallows.plot import COLOURS, DASHES
    from shallows.plot.drawing import wrap_title
    from shallows.plot.style import logarithmic

    for number, (step, (queues, margins)) in enumerate(advice.fronts.items()):
        grey = str(0.3 + 0.15 * (number % 4))
        style = {"color": grey, "linestyle": DASHES[number % len(DASHES)], "linewidth": 1.0}
        label = f"Pareto front, step {RATE.text(round(step))}"
        ax.plot(queues / 1e3, margins, label=label, marker=".", markersize=3, **style)
    labels: dict[tuple[float, float], str] = {}
    for one in sorted(_ordered(advice), key=lambda one: one.worst.queue_bytes):
        place = (one.worst.queue_bytes / 1e3, one.worst.degrees)
        if not np.isfinite(place).all():
            continue
        best = one is advice.best
        colour = COLOURS[1] if one is advice.own else COLOURS[0]
        shape = "*" if best else "^" if one is advice.own else "s"
        size = 11 if best else 5
        label = "recommended" if best else "own" if one is advice.own else None
        ax.plot(*place, shape, color=colour, markersize=size, label=label, linestyle="none", zorder=3)
        labels[place] = f"{one.name}: {_mean(one).partition(' ± ')[0]}"
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
