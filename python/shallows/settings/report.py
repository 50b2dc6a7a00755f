"""What settings mean, and which are recommended, as text, tables and JSON."""

from typing import TYPE_CHECKING

import numpy as np

from shallows.printing.report import plain_table
from shallows.settings.advise import Advice
from shallows.units import RATE, TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.table import Table

    from shallows.printing.report import Part
    from shallows.results.statistics import Interval
    from shallows.settings.advise import Candidate
    from shallows.settings.explain import Explanation, PortExplanation

LONGER = 1.1
"""A queue or a slowdown that is worse is at least this many times the own."""


def report(found: "Explanation | Advice") -> "list[Part]":
    """Of an explanation thresholds, headroom and stability; of advice the settings and their numbers."""
    return _of_advice(found) if isinstance(found, Advice) else _of_explanation(found)


def _of_explanation(explanation: "Explanation") -> "list[Part]":
    base = f"base RTT    {TIME.about(explanation.base_rtt_ps)}, the longest of the scenario's flows"
    parts: list[Part] = [base, "", _thresholds(explanation)]
    if any(port.headroom_needed for port in explanation.ports):
        parts += ["", _headrooms(explanation)]
    if any(port.margin for port in explanation.ports):
        parts += ["", _margins(explanation)]
    if explanation.remarks:
        parts += ["", *(f"warning     {remark}" for remark in explanation.remarks)]
    return parts


def _of_advice(advice: Advice) -> "list[Part]":
    best = advice.best
    parts: list[Part] = ["\n".join([_headline(advice), "", *_assignments(best)]), "", _distance(advice), ""]
    for table in (_packets, _fluid, _corners, _settings):
        parts += [table(advice), ""]
    parts += [f"assumed     {text}" for text in advice.assumed]
    parts += [f"disagree    {text}" for text in advice.disagreements]
    return parts


def _assignments(one: "Candidate") -> list[str]:
    return [f"{key} = {_value(value)}" for key, value in one.settings.items()]


def _table(
    title: str, columns: "Sequence[str]", rows: "Iterable[Sequence[str]]", words: "Sequence[str]" = ()
) -> "Table":
    """A table whose first column, below the title, names ports or settings; `words` are left-justified."""
    table = plain_table(title, [*words, *columns], left=words)
    for row in rows:
        table.add_row(*row)
    return table


def _name(port: "PortExplanation") -> str:
    return f"{RATE.text(port.rate_bps)} ({port.count}, such as {port.example})"


def _thresholds(explanation: "Explanation") -> "Table":
    rows = [
        (_name(port), level.name, level.key, f"{level.bytes:,.0f}", f"{level.bytes / port.bdp_bytes:.2f}",
         f"{port.microseconds(level.bytes):.1f}")
        for port in explanation.ports
        for level in port.levels
    ]  # fmt: skip
    return _table("Thresholds", ("bytes", "BDP", "us"), rows, ("", "set by"))


def _headrooms(explanation: "Explanation") -> "Table":
    rows = [
        (_name(port), TIME.text(port.delay_ps), f"{port.headroom_needed:,}", f"{port.headroom_set:,}")
        for port in explanation.ports
        if port.headroom_needed is not None
    ]
    return _table("Headroom of each link", ("needed, bytes", "set, bytes"), rows, ("delay",))


def _margins(explanation: "Explanation") -> "Table":
    rows = [
        (_name(port), f"{margin.degrees:.1f}", str(margin.flows), f"{margin.queue_bytes / 1e3:,.0f}")
        for port in explanation.ports
        if (margin := port.margin)
    ]
    numbers = ("least phase margin, degrees", "at flows", "longest queue, KB")
    return _table("Stability in the fluid model, 2 to 64 flows", numbers, rows)


def as_json(advice: Advice) -> dict[str, object]:
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


def _headline(advice: Advice) -> str:
    best, own, metric = advice.best, advice.own, advice.metric.name
    if best is own:
        found = f"{metric} {mean(best)}"
        return f"Keep the scenario's own settings. No other is clearly better in packets: {found}."
    difference = best.measured.difference
    clear = difference.high < 0 or difference.low > 0
    verdict = "not clearly different" if not clear else "lower" if difference.high < 0 else "higher"
    compared = f"{verdict}, difference {_difference(difference)}"
    if not np.isfinite(difference.mean):
        compared = f"{own.measured.unfinished} of its flows are unfinished"
    lines = [
        f"Setting {best.name} is recommended. In packets its {metric} is {mean(best)}, and {mean(own)} "
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


def _distance(advice: Advice) -> str:
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


def mean(one: "Candidate") -> str:
    """The metric over seeds in words."""
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


def ordered(advice: Advice) -> list["Candidate"]:
    """The recommended setting, the other candidates by what packets measure, and the own."""
    rest = [one for one in advice.candidates if one is not advice.best]
    return [advice.best, *rest, *([advice.own] if advice.best is not advice.own else [])]


def _named(advice: Advice, one: "Candidate") -> str:
    return f"{one.name} *" if one is advice.best else one.name


def _packets(advice: Advice) -> "Table":
    def row(one: "Candidate") -> tuple[str, ...]:
        trial = one.measured
        longer = "-" if np.isnan(trial.longer) else f"{trial.longer:.2f}"
        difference = "" if one is advice.own else _difference(trial.difference)
        numbers = longer, f"{trial.goodput_gbps:.4g}", _short(trial.pauses), _short(trial.dropped)
        return _named(advice, one), mean(one), difference, *numbers, _faults(one)

    numbers = ("from own", "longer flows", "Gbit/s", "pauses", "drops", "set back by")
    title = f"In packets, {advice.own.measured.metric.n} seeds"
    return _table(title, (advice.metric.name, *numbers), map(row, ordered(advice)))


def _fluid(advice: Advice) -> "Table":
    def row(one: "Candidate") -> tuple[str, ...]:
        worst = one.worst
        margin = "none" if np.isnan(worst.degrees) else f"{worst.degrees:.1f}"
        settles = f"{one.settles_s * 1e3:.3g}" if np.isfinite(one.settles_s) else "never"
        return _named(advice, one), margin, worst.where, _kilobytes(worst.queue_bytes), settles

    columns = ("least margin, degrees", "with", "longest queue, KB", "settles in, ms")
    return _table("In the fluid model", columns, map(row, ordered(advice)))


def _kilobytes(size: float) -> str:
    return "-" if np.isnan(size) else f"{size / 1e3:.1f}"


def _corners(advice: Advice) -> "Table":
    rows = [
        (f"{_named(advice, one)}: {at.where}", _kilobytes(at.expected_bytes), _kilobytes(at.queue_bytes),
         f"{at.utilization:.1%}", f"{at.stops}")
        for one in ordered(advice)
        for at in one.corners
    ]  # fmt: skip
    columns = ("fluid queue, KB", "in packets", "port busy", "pauses and drops")
    return _table("Long-lived flows alone", columns, rows)


def _settings(advice: Advice) -> "Table":
    keys = {key.rpartition(".")[2]: key for key in advice.own.settings}
    rows = [
        (_named(advice, one), *(_value(one.settings[key]).strip('"') for key in keys.values()))
        for one in ordered(advice)
    ]
    return _table("Settings", tuple(keys), rows)
