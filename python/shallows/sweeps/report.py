"""A sweep as tables for a terminal (rich renderables)."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shallows.base import texts
from shallows.printing.report import MORE_THAN, finished, plain_table
from shallows.results import statistics
from shallows.results.metrics import COMPLETION, OF_JOBS, label
from shallows.scenario import randomness

if TYPE_CHECKING:
    from shallows.printing.report import Part
    from shallows.sweeps.result import Sweep


MOST_MESSAGES = 5


def sweep_report(sweep: "Sweep", metrics: Sequence[str], baseline: str | None = None) -> "list[Part]":
    """The mean and interval of `metrics` at every point, and the messages of failures."""
    rows = sweep.intervals(metrics, baseline=baseline)
    (first, *titles), lines = _lines(sweep, rows, metrics, baseline)
    table = plain_table(first, titles)
    for line in lines:
        table.add_row(*line)
    notes = [*_method(rows), *_nothing_random(sweep, rows), *_nothing_changed(sweep)]
    return [table, "", *notes, *_failures(sweep)]


def latex(sweep: "Sweep", metrics: Sequence[str], baseline: str | None = None) -> str:
    """The table of the report as LaTeX: a `tabular` of the package booktabs, with the notes as comments."""
    rows = sweep.intervals(metrics, baseline=baseline)
    titles, lines = _lines(sweep, rows, metrics, baseline)
    numbers = len(titles) - len(sweep.columns)
    notes = [*_method(rows), *_nothing_random(sweep, rows)]
    return "\n".join(
        [
            *(f"% {' '.join(note.split())}" for note in notes),
            rf"\begin{{tabular}}{{{'l' * len(sweep.columns)}{'r' * numbers}}}",
            r"\toprule",
            " & ".join(map(_escaped, titles)) + r" \\",
            r"\midrule",
            *(" & ".join(map(_escaped, line)) + r" \\" for line in lines),
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


SPECIAL = {
    **{sign: rf"\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    ">": r"$>$",
    "<": r"$<$",
    "µ": r"$\mu$",
}
"""Characters that LaTeX reads in another way."""


def _escaped(text: str) -> str:
    return "".join(SPECIAL.get(sign, sign) for sign in " ".join(text.split()))


def _lines(
    sweep: "Sweep", rows: list[dict[str, Any]], metrics: Sequence[str], baseline: str | None
) -> tuple[list[str], list[list[str]]]:
    """The titles and the lines of the table: points, seeds, and the mean and interval of each metric."""
    groups: dict[tuple[object, ...], dict[str, dict[str, Any]]] = {}
    columns = sweep.columns
    for row in rows:
        groups.setdefault(tuple(row[column] for column in columns), {})[row["metric"]] = row
    titles = [title for metric in metrics for title in _titles(metric, baseline)]
    lines: list[list[str]] = []
    for group, rows_of_group in groups.items():
        seeds = max(row["n"] for row in rows_of_group.values())
        cells = [cell for metric in metrics for cell in _cells(rows_of_group[metric], baseline)]
        lines.append([*map(str, group), str(seeds), *cells])
    return [*columns, "seeds", *titles], lines


def _titles(metric: str, baseline: str | None) -> list[str]:
    title = label(metric)
    return [title, f"less {baseline}'s"] if baseline else [title]


def _cells(row: dict[str, Any], baseline: str | None) -> list[str]:
    cell = estimate(row) + ("*" if row["few"] else "")
    if not baseline:
        return [cell]
    if row["cc"] == baseline:
        return [cell, "-"]
    return [cell, plus_minus(row["difference"], row["difference_low"], row["difference_high"])]


def estimate(row: Mapping[str, Any]) -> str:
    """The mean of a row with its interval, and how many of the flows finished if some did not."""
    if row["method"] != statistics.UNFINISHED:
        text = plus_minus(row["mean"], row["low"], row["high"])
    else:
        text = f"> {row['more_than']:.4g}"
    is_of_flows = row["metric"].rpartition(".")[2] in (*COMPLETION, *OF_JOBS)
    counts = finished(row["completed"], row["unfinished"]) if is_of_flows and row["unfinished"] else ""
    return f"{text} ({counts})" if counts else text


def plus_minus(mean: float, low: float, high: float) -> str:
    """A mean and half its interval, with two digits of the latter: "14.3 ± 1.2"."""
    if not math.isfinite(mean):
        return "-"
    half = (high - low) / 2
    if half < 1e-9 * abs(mean):  # equal values, but for the rounding of their sums
        half = 0.0
    if not math.isfinite(half):
        return f"{mean:.4g}"
    digits = min(max(1 - math.floor(math.log10(half)), 0), 6) if half > 0 else 3
    return f"{mean:.{digits}f} ± {half:.{digits}f}"


def _method(rows: list[dict[str, Any]]) -> list[str]:
    named = {row[key] for row in rows for key in ("method", "difference_method") if row.get(key)}
    named -= {statistics.ONE_RUN, statistics.UNFINISHED}
    notes = [f"± over seeds: {', '.join(sorted(named))}"] if named else []
    if any(row["few"] for row in rows):
        notes.append("* percentile of few flows")
    lines = ["; ".join(notes)] if notes else []
    if any(row["unfinished"] for row in rows):
        lines.append("(finished/begun) flows, of all seeds")
    return lines + [MORE_THAN] * any(row["method"] == statistics.UNFINISHED for row in rows)


def _nothing_random(sweep: "Sweep", rows: list[dict[str, Any]]) -> list[str]:
    """That seeds change nothing, and the setting that introduces randomness."""
    of = {tuple(row[key] for key in sweep.columns) for row in rows if row["method"] == statistics.ONE_RUN}
    if not of:
        return []
    count, points = len(sweep.about["seeds"]), len({tuple(row[key] for key in sweep.columns) for row in rows})
    where = "" if len(of) == points else f" at {len(of)} of {points} points"
    return [
        f"nothing random is drawn{where}: {count} seeds give one run, and there is no interval; "
        f"{randomness.advice(texts.toml(sweep.about['told'])['traffic'])}"
    ]


def _nothing_changed(sweep: "Sweep") -> list[str]:
    """The swept keys whose values all give the same run, in every packet."""
    found: list[str] = []
    for key, column in sweep.swept.items():
        others = [
            one for one in sweep.swept.values() if one != column and not follows(sweep.rows, one, column)
        ]
        runs: dict[tuple[str, ...], dict[str, object]] = {}
        for row in sweep.rows:
            point = tuple(str(row[one]) for one in (*others, "cc", "seed"))
            runs.setdefault(point, {})[str(row[column])] = row["fingerprint"]
        several = [prints for prints in runs.values() if len(prints) > 1]
        if several and all(None not in of.values() and len(set(of.values())) == 1 for of in several):
            found.append(f"{key} changes nothing: the runs of all its values have the same fingerprint")
    return found


def follows(rows: Sequence[Mapping[str, Any]], column: str, x: str) -> bool:
    """Whether a swept key changes together with `x`, so that each value of `x` has one of it."""
    pairs = {(str(row[x]), str(row[column])) for row in rows}
    return len(pairs) == len({value for value, _ in pairs})


def _failures(sweep: "Sweep") -> list[str]:
    failures = sweep.failures
    if not failures:
        return []
    counts: dict[str, int] = {}
    for message in failures.values():
        counts[message] = counts.get(message, 0) + 1
    lines = [f"failed      {count} times: {message}" for message, count in counts.items()]
    more = (
        [f"            and {len(lines) - MOST_MESSAGES} other messages"] if len(lines) > MOST_MESSAGES else []
    )
    return [f"{len(failures)} of {len(sweep.rows)} runs failed", *lines[:MOST_MESSAGES], *more]
