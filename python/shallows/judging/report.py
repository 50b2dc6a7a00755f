"""A judgement as tables for a terminal, and as the texts of its page."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from shallows.base.version import version
from shallows.judging import verdict
from shallows.printing.progress import count
from shallows.printing.report import plain_table
from shallows.sweeps.report import plus_minus

if TYPE_CHECKING:
    from rich.table import Table

    from shallows.judging.judgement import Judgement
    from shallows.judging.verdict import Checked, Judged
    from shallows.judging.worst import Worst
    from shallows.printing.report import Part
    from shallows.results.statistics import Interval

NOT_MEASURED = (
    "not measured: incremental deployment, security, real-time media, misbehaving hosts and tunnels (RFC "
    "9743 asks for an account of them)"
)


def parts(found: "Judgement") -> "list[Part]":
    """The terminal report: the matrix, every check that did not pass, and where the files are."""
    worst = of_worst(found.worst) if found.worst else []
    return [matrix(found.rows), *_worse(found), *worst, "", *header(found), "", *_files(found)]


def header(found: "Judgement") -> list[str]:
    """The facts that are needed to reproduce the numbers."""
    subject = found.plan.subject
    code = f", code {subject.digest[:16]}" if subject.digest else ""
    drawn = "" if found.held_out is None else f", held-out draws of seed {found.held_out}"
    counts = ", ".join(f"{number} {word}" for word, number in found.counts.items() if number)
    hops = ", ".join(f"{name} {count(hops)}" for name, hops in found.packet_hops.items())
    return [
        f"algorithm   {subject.label}{code}",
        f"rows        {counts}",
        f"score       {found.score:.3f}, the mean of " + grades(found),
        f"seeds       {', '.join(map(str, found.plan.seeds))}{drawn}; shallows {version()}",
        f"hops        of the judged runs, all seeds: {hops}",
        NOT_MEASURED,
    ]


def grades(found: "Judgement") -> str:
    """The grade of each family."""
    return ", ".join(f"{name} {grade:.3f}" for name, grade in found.grades.items()) or "no family"


def matrix(rows: "Iterable[Judged]") -> "Table":
    """The verdict of each row, with the number that decides it."""
    table = plain_table("row", ["verdict", "decided by", "value", "allowed", "baselines"], left=[
        "verdict", "decided by", "baselines"])  # fmt: skip
    for one in rows:
        must = " (MUST)" if one.family.must else ""
        name = f"{one.family.name} {one.family.title}: {one.row.name}"
        check = decisive(one)
        if check is None:
            table.add_row(name, one.verdict + must, one.note, "", "", "")
        else:
            shown = [check.check.name, value(check), allowed(check), baselines(check)]
            table.add_row(name, one.verdict + must, *shown)
    return table


def decisive(one: "Judged") -> "Checked | None":
    """The check that gave a row its verdict: of several the one of the least grade."""
    deciding = [check for check in one.checks if check.verdict == one.verdict]
    return min(deciding, key=lambda check: check.grade, default=None)


def value(check: "Checked") -> str:
    """A number with its interval and unit; all seeds' where they disagree."""
    unit = f" {check.check.unit}" if check.check.unit else ""
    if check.verdict == verdict.OPEN or not math.isfinite(check.interval.mean):
        return ", ".join(f"{one:.4g}" for one in check.values) + unit
    return interval(check.interval) + unit


def interval(found: "Interval") -> str:
    """A mean and half its interval."""
    return plus_minus(found.mean, found.low, found.high)


def allowed(check: "Checked") -> str:
    """The bounds of a check; that there are none agreed."""
    if not check.check.is_rule:
        return "no rule"
    low, high = check.low, check.high
    if low is None and high is None:
        return "no rule here"
    if low is None:
        return f"up to {high:.4g}"
    return f"from {low:.4g}" if high is None else f"{low:.4g} to {high:.4g}"


def baselines(check: "Checked") -> str:
    """The same number of each baseline."""
    return ", ".join(f"{name} {interval(found)}" for name, found in check.interval_of.items())


def differences(check: "Checked") -> str:
    """How a number differs from those of the baselines, with intervals over seeds."""
    return ", ".join(f"{name} {_signed(found)}" for name, found in check.differences.items())


def _signed(found: "Interval") -> str:
    text = interval(found)
    return text if text.startswith("-") else f"+{text}"


def _worse(found: "Judgement") -> "list[Part]":
    """The numbers that are worse than the best baseline's, with or without a rule."""
    lines = [
        f"{one.family.name} {one.row.name}: {check.check.name} {value(check)}; less {differences(check)}"
        for one in found.rows
        for check in one.checks
        if check.is_worse
    ]
    title = "Worse than the best baseline, by an interval over seeds that excludes zero:"
    return ["", title, *lines] if lines else []


def of_worst(found: "Worst") -> "list[Part]":
    """The worst row that a search found, and what it was shrunk to."""
    cost = f"{found.rows} rows, {count(found.packet_hops)} packet-hops"
    if not found.fails:
        return [
            "",
            f"The search for the worst row ({cost}) found none that fails. The nearest:",
            matrix([found.found]),
        ]
    return [
        "",
        f"The worst row of a search ({cost}), and as small as it still fails:",
        matrix([found.found, found.smallest]),
    ]


def _files(found: "Judgement") -> list[str]:
    lines = [f"page        {found.folder / 'judge.html'}"]
    return lines + [f"scenario    {found.folder / 'failures' / one.file}" for one in found.failures]
