"""Summaries and comparisons as text and tables for a terminal (rich renderables)."""

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shallows.base import names, streams
from shallows.printing import progress
from shallows.results import headline
from shallows.results.contents import (
    Bottleneck,
    FaultNumbers,
    FlowNumbers,
    Lateness,
    Summary,
    Threads,
    TrafficNumbers,
)
from shallows.results.inputs import LIMIT
from shallows.results.metrics import BY_KEY
from shallows.results.summary import FEW, bounds, is_of_few, value
from shallows.scenario.supported_keys import REAL_TIME
from shallows.units import SIZE, TIME

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.style import StyleType
    from rich.table import Table

    from shallows.results.compared import Compared, Distance

    Part = str | Table
    """A text or a table of a report."""


SIZES = {
    10_000: "< 10 KB",
    100_000: "10-100 KB",
    1_000_000: "100 KB-1 MB",
    10_000_000: "1-10 MB",
    None: ">= 10 MB",
}
"""Titles for `below_bytes` of the rows of `flows_by_size`."""
ROWS = (
    ("port", "bottleneck", "{}"),
    *(
        (key, BY_KEY[key].title, BY_KEY[key].form)
        for key in (
            "utilization",
            "queue_mean_pkt",
            "queue_p99_pkt",
            "delay_mean_us",
            "backlog_p99_us",
            "dropped",
            "goodput_gbps",
            "jain",
            "offered",
            "finished",
            "completed",
            "fct_mean_us",
            "fct_p99_us",
            "slowdown_p50",
            "slowdown_p99",
            "timeouts",
            "drain_share",
        )
    ),
)
"""Rows of a comparison: key of `Comparison.rows`, title, format."""
TRAFFIC = (
    ("offered", "flows", "{}"),
    ("goodput_gbps", "goodput (Gbit/s)", "{:.4f}"),
    ("jain", "Jain's index", "{:.3f}"),
    ("fct_p50_us", "fct p50 (us)", "{:.0f}"),
    ("fct_p99_us", "p99 (us)", "{:.0f}"),
    ("slowdown_p50", "slowdown p50", "{:.2f}"),
    ("slowdown_p99", "p99", "{:.2f}"),
    ("exchange_p50_us", "exchange p50 (us)", "{:.0f}"),
    ("exchange_p99_us", "p99 (us)", "{:.0f}"),
)
"""Columns of the table of traffic: key of `summary["traffic"]`, title, format."""
FAULTS = (
    ("us", "{:.0f}", (("at_us", "from"), ("until_us", "until"), ("recovery_us", "recovery"))),
    (
        "Gbit/s",
        "{:.2f}",
        (
            ("before_gbps", "before"),
            ("during_gbps", "during"),
            ("lowest_gbps", "lowest"),
            ("after_gbps", "after"),
        ),
    ),
    ("", "{:.2f}", (("inflation_p50", "inflation p50"), ("inflation_p99", "p99"))),
    ("", "{:.0f}", (("affected", "flows"), ("stranded", "stranded"))),
)
"""Columns of the table of faults: unit and format of some, key of `summary["faults"]` and title of each."""
QUANTITIES = {
    "queue_mean_pkt": "queue mean (packets)",
    "queue_p99_pkt": "queue p99 (packets)",
    "utilization": "utilization",
    "flow_goodput_least_gbps": "goodput of a flow, least (Gbit/s)",
    "flow_goodput_mean_gbps": "goodput of a flow, mean (Gbit/s)",
    "flow_goodput_most_gbps": "goodput of a flow, most (Gbit/s)",
}
"""Titles for `quantity` of the rows of `Comparison.distances`."""

DIGITS = {"us": "{:.1f}", "Gbit/s": "{:.2f}"}
"""The digits of numbers in headlines."""
MORE_THAN = (
    "> at least that: flows were unfinished when the run ended, and count with their time until then; "
    'a longer duration, or "until-done", gives the number'
)
"""The meaning of the sign before a lower bound."""

MAGNITUDES = {
    "Gbit/s": ((1e3, 1e-3, "Tbit/s"), (0.1, 1, "Gbit/s"), (1e-4, 1e3, "Mbit/s"), (0, 1e6, "kbit/s")),
    "us": ((1e8, 1e-6, "s"), (1e6, 1e-3, "ms"), (0, 1, "us")),
}
"""For each unit: the least largest number, the factor and the name of each larger or smaller unit."""


def run_report(summary: Summary) -> "list[Part]":
    """The report of one run: bottleneck, flows, slowdown by size."""
    port, flows, label = summary["bottleneck"], summary["flows"], ", ".join(summary["cc"])
    ended_s = summary.get("interrupted_at_s")
    early = "" if ended_s is None else f", interrupted at {TIME.about(ended_s * 1e12)}"
    lines = [
        f"{summary['name']}: {label}, {summary['world']} world, seed {summary['seed']}{early}",
        *headline.lines(summary, lambda value, unit: _quantity(value, DIGITS[unit], unit)),
        *_bottleneck(port, summary["duration_s"] - summary["warmup_s"]),
        f"flows       {_accounts(flows)}",
        f"goodput     {_quantity(flows['goodput_gbps'], '{:.3f}', 'Gbit/s')}, "
        f"Jain {_number(flows['jain'], '{:.3f}')}, "
        f"{flows['retransmits']} retransmits, {flows['timeouts']} timeouts",
    ]
    lines += [*_mechanisms(summary), _speed(summary), *_inputs(summary)]
    lines += [*nothing_random({label: summary}), *_warnings({label: summary})]
    tables = [by_size({label: summary})] if _any_finished([summary]) else []
    notes = _notes([summary]) if tables else []
    return ["\n".join(lines), *tables, *by_traffic(summary["traffic"]), *by_fault(summary), *notes]


def _inputs(summary: Summary) -> list[str]:
    """The files of which a result has no copy."""
    without = [
        f"{row['name']} ({SIZE.about(row['bytes'])})" for row in summary.get("inputs", []) if not row["copy"]
    ]
    reason = f"a result has their digest alone; copies are of up to {SIZE.about(LIMIT)}, of unchanged files"
    return [f"inputs      {', '.join(without)}: {reason}"] if without else []


def _bottleneck(port: Bottleneck, measured_s: float) -> list[str]:
    if port["utilization"] is None:
        return [f"bottleneck  {port['port']}: nothing was measured"]
    paused_us = port["paused_us"]
    paused = f"{paused_us / 1e6 / measured_s:.1%} paused, " if paused_us else ""
    return [
        f"bottleneck  {port['port']}: {port['utilization']:.1%} used, {paused}{port['marked']} marked, "
        f"{port['dropped']} dropped",
        f"queue       mean {port['queue_mean_pkt']:.2f}, p50 {port['queue_p50_pkt']:.1f}, "
        f"p99 {port['queue_p99_pkt']:.1f}, max {port['queue_max_pkt']:.1f} packets",
        f"delay       mean {_quantity(port['delay_mean_us'], '{:.2f}', 'us')} over packets; "
        f"backlog p99 {_quantity(port['backlog_p99_us'], '{:.1f}', 'us')} over time",
    ]


def _mechanisms(summary: Summary) -> list[str]:
    """Drops, losses and trimmed packets of all ports, pauses, and the cycle of a deadlock."""
    network = summary["network"]
    lines: list[str] = []
    dropped, credits = network["dropped"], _has_credits(summary["cc"])
    if dropped > (summary["bottleneck"].get("dropped") or 0) or (credits and dropped):
        lines.append(f"dropped     {dropped} packets{' and credits' if credits else ''}, at all ports")
    if network["lost"]:
        lines.append(f"lost        {_counted(network['lost'], 'packet')} by faults of links")
    if network["trimmed"]:
        lines.append(f"trimmed     {network['trimmed']} packets to their headers, at all ports")
    if network["pauses"]:
        lines.append(f"pauses      {network['pauses']} of ports, {network['paused_us']:.1f} us in all")
    if network["deadlock"]:
        circle = ", ".join(network["deadlock"])
        lines.append(f"deadlock    {circle} wait for each other for ever")
    return lines


def _has_credits(labels: "Iterable[str]") -> bool:
    """True if ports drop credits too, as in ExpressPass."""
    from shallows.algorithms.algorithm import catalog

    ports = {row["name"]: row["port"] for row in catalog()}
    return any(ports.get(label.partition("@")[0]) == "credit" for label in labels)


def by_traffic(rows: Sequence[TrafficNumbers]) -> "list[Part]":
    """Results of the flows of each traffic table, if there are several."""
    if len(rows) < 2:
        return []
    columns = [column for column in TRAFFIC if any(_or_bound(row, column[0]) is not None for row in rows)]
    fitted = [_statistics(title, rows, key, form) for key, title, form in columns]
    counts = [finished(row["completed"], row["unfinished"]) for row in rows]
    some = any(row["unfinished"] for row in rows)
    table = plain_table("traffic", [title for title, _ in fitted] + ["finished"] * some)
    for number, row in enumerate(rows):
        cells = [
            column[number] + _mark(key, row["exchanges" if key.startswith("exchange") else "completed"])
            for (key, _, _), (_, column) in zip(columns, fitted, strict=True)
        ]
        named = f"{row['traffic']}: {row.get('name', row['kind'])}, {row['cc']}"
        table.add_row(named, *cells, *[counts[number]] * some)
    return ["", table]


def by_fault(summary: Summary) -> "list[Part]":
    """Goodput before, during and after each fault, recovery time, inflation, and stranded flows."""
    rows = summary["faults"]
    if not rows:
        return []
    titles: list[str] = []
    cells: list[list[str]] = [[] for _ in rows]
    for unit, form, columns in FAULTS:
        values = [_or_bound(row, key) for row in rows for key, _ in columns]
        factor, fitted = _magnitude(unit, values) if unit else (1, "")
        titles += [
            title + (f" ({fitted})" if unit and not place else "") for place, (_, title) in enumerate(columns)
        ]
        for row, texts in zip(rows, cells, strict=True):
            texts += [_cell(row, key, form, factor) for key, _ in columns]
    table = plain_table("fault", titles)
    for row, texts in zip(rows, cells, strict=True):
        table.add_row(f"{row['fault']}: {row['kind']} {row['name']}", *texts)
    return ["", table, *(line for row in rows for line in _stranded(row))]


def _stranded(row: FaultNumbers) -> list[str]:
    """The flows that a fault stranded, by number and hosts, and why."""
    if not row["stranded"]:
        return []
    more = row["stranded"] - len(row["stranded_flows"])
    named = ", ".join(row["stranded_flows"]) + (f" and {more} more" if more else "")
    return [f"stranded    by faults[{row['fault']}], as {row['stranded_because']}: flow {named}"]


def comparison_report(comparison: "Compared") -> "list[Part]":
    """The table of a comparison, and slowdown by flow size if flows finished."""
    rows = comparison.rows
    shown = [row for row in ROWS if any(_or_bound(r, row[0]) is not None for r in rows)]
    if not any(r["finished"] for r in rows):
        shown = [row for row in shown if row[0] not in ("finished", "timeouts")]
    table = plain_table("", [r["cc"] for r in rows])
    for key, title, form in shown:
        fitted, cells = _statistics(title, rows, key, form)
        if key == "completed":
            cells = [finished(r["completed"], r["unfinished"]) for r in rows]
        counts = [r["completed"] if key.startswith(("fct", "slowdown")) else None for r in rows]
        marks = [_mark(key, count) for count in counts]
        table.add_row(fitted, *(cell + mark for cell, mark in zip(cells, marks, strict=True)))
    summaries = {label: run.summary for label, run in comparison.runs.items()}
    sizes = [by_size(summaries)] if _any_finished(summaries.values()) else []
    loads = headline.loads(next(iter(summaries.values())))  # arrivals are the same in every run
    mechanisms = [f"{label}: {line}" for label, summary in summaries.items() for line in _mechanisms(summary)]
    notes = [*_notes(summaries.values()), *comparison.networks, *loads, *nothing_random(summaries)]
    lines = [*mechanisms, *_sureness(summaries), *notes, *_warnings(summaries)]
    return [*_answers(comparison), *sizes, table, *lines, *_distances(comparison.distances)]


def _answers(comparison: "Compared") -> "list[Table]":
    """Completion times and bandwidths of each collective and task, and the recovery from each fault."""
    from shallows.results.tenants import completion_us

    summaries = [run.summary for run in comparison.runs.values()]
    rows = [*headline.job_rows(summaries), *headline.fault_rows(summaries)]
    known = headline.job_tables(summaries[0]).values()
    times = [completion_us(run) for run in comparison.runs.values()]
    others = [name for name in times[0] if name not in known]
    if not rows and not others:
        return []
    table = plain_table("", list(comparison.runs))
    for title, key, times_of_runs in rows:
        fitted, cells = _statistics(
            title, times_of_runs, key, "{:.2f}" if key.startswith("busbw") else "{:.1f}"
        )
        table.add_row(fitted, *cells)
    for name in others:
        cells = [
            _number(times_of_runs[name], "{:.1f}") if times_of_runs[name] else "unfinished"
            for times_of_runs in times
        ]
        table.add_row(f"{name}: completion (us)", *cells)
    return [table]


def _mark(metric: str, count: int | None) -> str:
    """A mark for a percentile that few flows exceed."""
    return "*" if count and is_of_few(metric, count) else ""


def _notes(summaries: Iterable[Summary]) -> list[str]:
    """The meaning of the signs at percentiles, if they are there."""
    of_sizes = [row for summary in summaries for row in summary["flows_by_size"]]
    notes: list[str] = []
    if any(_mark("slowdown_p99", row["count"]) for row in of_sizes):
        notes.append(f"* percentile with fewer than {FEW} flows beyond it")
    if any(row["more_than"] for row in of_sizes):
        notes.append(MORE_THAN)
    return notes


def finished(completed: int, unfinished: int) -> str:
    """How many of the flows that count have finished, such as "4/32"; one number if all have."""
    return f"{completed}/{completed + unfinished}" if unfinished else str(completed)


def unfinished_flows(summary: Summary) -> list[str]:
    """That some flows with an end have not finished."""
    flows = summary["flows"]
    counts = finished(flows["completed"], flows["unfinished"])
    return [f"{counts} flows finished"] if flows["unfinished"] else []


def _or_bound(row: Mapping[str, object], key: str) -> float | None:
    """A number of a row of a summary; its lower bound if unfinished flows make it unknown."""
    number = value(row, key)
    return number if number is not None else bounds(row).get(key)


def _cell(row: Mapping[str, object], key: str, form: str, factor: float = 1) -> str:
    """The number for `key`, times a factor; "> 12" if it is known to be at least 12."""
    number = _or_bound(row, key)
    return ("> " if row.get(key) is None and number is not None else "") + _number(
        number if number is None or factor == 1 else number * factor, form
    )


def _statistics(
    title: str, rows: Sequence[Mapping[str, object]], key: str, form: str
) -> tuple[str, list[str]]:
    """The title and the cells of a row or column, in the unit that fits the largest number."""
    factor, title = _fitting(title, [_or_bound(row, key) for row in rows])
    return title, [_cell(row, key, form, factor) for row in rows]


def nothing_random(summaries: Mapping[str, Summary]) -> list[str]:
    """That runs draw nothing random, and the setting that would; `{label: summary}`."""
    from shallows.scenario import randomness

    constant = {label: summary for label, summary in summaries.items() if summary["random"] == []}
    if not constant:
        return []
    labels = "" if len(constant) == len(summaries) else f" by {', '.join(constant)}"
    advice = randomness.advice(next(iter(constant.values()))["traffic"])
    return [f"random      nothing is drawn{labels}, so all seeds give the same run; {advice}"]


def _warnings(summaries: Mapping[str, Summary]) -> list[str]:
    """Each warning once, with the labels of its runs unless all runs have it."""
    raised: dict[str, list[str]] = {}
    for label, summary in summaries.items():
        for warning in summary["warnings"]:
            raised.setdefault(warning, []).append(label)
    return [
        f"warning     {warning}" if len(by) == len(summaries) else f"warning     {', '.join(by)}: {warning}"
        for warning, by in raised.items()
    ]


def _distances(rows: "Sequence[Distance]") -> "list[Part]":
    """A table for each algorithm and pair of worlds."""
    tables: dict[tuple[str, ...], Table] = {}
    for row in rows:
        pair = row["cc"], row["than"], row["world"]
        if pair not in tables:
            tables[pair] = plain_table(f"{row['cc']}: distance", [*pair[1:], "difference", "percent"])
        numbers = [
            _number(value, "{:.3f}") + ("" if half is None else f" ± {half:.2g}")
            for value, half in (
                (row["reference"], row["reference_half_width"]),
                (row["value"], row["half_width"]),
            )
        ]
        change = [_number(row["difference"], "{:+.3f}"), _number(row["percent"], "{:+.1f}")]
        tables[pair].add_row(QUANTITIES[row["quantity"]], *numbers, *change)
    return [part for table in tables.values() for part in ("", table)]


def by_size(summaries: Mapping[str, Summary]) -> "Table":
    """Slowdown p50 / p99 by flow size, a column for each of `{label: summary}`, without empty sizes."""
    table = plain_table("slowdown p50 / p99", list(summaries))
    table.add_column("flows", justify="right")
    for rows in zip(*(summary["flows_by_size"] for summary in summaries.values()), strict=True):
        counts = list(dict.fromkeys(finished(row["count"], row["unfinished"]) for row in rows))
        cells = [
            " / ".join(_cell(row, key, "{:.2f}") for key in ("slowdown_p50", "slowdown_p99"))
            + _mark("slowdown_p99", row["count"])
            for row in rows
        ]
        if counts != ["0"]:
            table.add_row(SIZES[rows[0]["below_bytes"]], *cells, ", ".join(counts))
    return table


def _accounts(flows: FlowNumbers) -> str:
    waiting = flows["not_begun"]
    cut_off = f"{flows['cut_off']} cut off{f' ({waiting} of them not begun)' if waiting else ''}"
    return f"{flows['offered']} offered = {flows['finished']} finished + {cut_off} + {flows['lost']} lost"


def _speed(summary: Summary) -> str:
    books = "books closed" if summary["books"]["closed"] else "BOOKS NOT CLOSED"
    simulated = TIME.about(summary["duration_s"] * 1e12)
    took = f"{simulated} in {summary['wall_s']:.2f} s"
    if summary["world"] == "fluid":
        took = f"integrated  {took}, {summary['events']} steps"
    else:
        speed = f"{progress.count(summary['packet_hops_per_s'] or 0)} packet-hops/s"
        took = f"simulated   {took}, {speed}{_threads(summary.get('threads'))}"
    if summary["world"] in REAL_TIME:
        late = summary.get("lateness")
        ran = f"ran         {', '.join([simulated, books, *([_lateness(late)] if late else [])])}"
        return f"{ran}\n{_spread(summary.get('spread', {}))}"
    return f"{took}, {books}, fingerprint {summary['fingerprint']}"


def _sureness(summaries: Mapping[str, Summary]) -> list[str]:
    """How late the packets of runs in real time were, and how far their numbers differ between runs."""
    lines: list[str] = []
    for label, summary in summaries.items():
        if summary["world"] in REAL_TIME:
            late = summary.get("lateness")
            lines += [f"{label}: {_lateness(late)}"] if late else []
            lines.append(f"{label}: {_spread(summary.get('spread', {}))}")
    return lines


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s'[: count != 1]}"


def _threads(record: Threads | None) -> str:
    """The threads of a run. Their gain is that of short spans of different work, so it is not printed."""
    if not record or record["count"] is None:
        return ""
    if record["count"] == 1:
        return " on one thread" if record["gain"] else ""
    return f" on {record['count']} threads"


def _lateness(record: Lateness) -> str:
    late = record["deliveries"]["mean_us"] + record["looks"]["mean_us"] / 2
    share = late / record["round_trip_us"]
    again = _counted(len(record["rejected"]), "run")
    return f"packets {late:.1f} us late on average ({share:.0%} of a round trip), {again} rejected"


def _spread(spread: dict[str, Any]) -> str:
    """How often a run was repeated, what differed, and where a signal ended it."""
    ended = spread.get("interrupted")
    wanted = f" of {spread['wanted']}" if ended else ""
    times = "once" if (spread["runs"], wanted) == (1, "") else f"{spread['runs']}{wanted} times"
    said = "the spread between runs is unknown"
    if spread["runs"] > 1:
        used = _interval(spread.get("utilization"), "{:.1%}")
        queued = _interval(spread.get("queue_mean_pkt"), "{:.2f}")
        said = f"utilisation {used}, mean queue {queued} packets ({spread['confidence']:.0%} intervals)"
    return f"repeated    {times}: {said}{_ended(ended)}"


def _interval(known: dict[str, float] | None, form: str) -> str:
    """A mean and half the width of its interval; a dash if one of the runs has not measured the quantity."""
    return f"{form} ± {form}".format(known["mean"], known["half_width"]) if known else "-"


def _ended(ended: dict[str, Any] | None) -> str:
    if not ended:
        return ""
    if ended["run"] is None:
        return "; INTERRUPTED after the last run"
    at = "" if ended["at_s"] is None else f" at {TIME.about(ended['at_s'] * 1e12)}"
    return f"; INTERRUPTED in run {ended['run']}{at}, which does not count"


def _any_finished(summaries: Iterable[Summary]) -> bool:
    return any(row["count"] or row["unfinished"] for summary in summaries for row in summary["flows_by_size"])


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def _quantity(value: float | None, form: str, unit: str) -> str:
    """A number in the unit that fits it."""
    factor, unit = _magnitude(unit, [value])
    return f"{_number(value if value is None else value * factor, form)} {unit}"


def fit(title: str, values: Sequence[float | None], form: str) -> tuple[str, list[str]]:
    """The title of a row or column and its numbers, in the unit that fits the largest."""
    factor, title = _fitting(title, values)
    return title, [
        _number(value if value is None or factor == 1 else value * factor, form) for value in values
    ]


def _fitting(title: str, values: Sequence[float | None]) -> tuple[float, str]:
    """The factor to the unit that fits the largest value, and the title with that unit."""
    for unit in MAGNITUDES:
        if f"({unit})" in title:
            factor, fitted = _magnitude(unit, values)
            return factor, title.replace(f"({unit})", f"({fitted})")
    return 1, title


def _magnitude(unit: str, values: Sequence[float | None]) -> tuple[float, str]:
    """The factor and the name of the unit that fits the largest value."""
    largest = max((abs(value) for value in values if value is not None), default=0)
    fits = (where for where in MAGNITUDES[unit] if largest >= where[0])
    return next(fits)[1:] if largest else (1, unit)


def print_parts(parts: Iterable[object]) -> None:
    """Print texts, and rich renderables at the terminal's width. Only the latter import rich."""
    console = None
    with streams.unread():
        for part in parts:
            if isinstance(part, str):
                print(names.terminal(part))
                continue
            if console is None:
                from rich.console import Console

                # A pipe or a file has no width.
                width = None if sys.stdout.isatty() else 120
                console = Console(highlight=False, markup=False, emoji=False, width=width)
            with console.capture() as text:  # rich itself ends the program when the reader has left
                console.print(part)
            print(text.get(), end="")


def plain_table(title: str, columns: Sequence[str], left: Collection[str] = ()) -> "Table":
    """A table without lines. The first column, and those that `left` names, are left-justified."""
    from rich.table import Table

    class Plain(Table):
        def add_row(
            self,
            *renderables: "RenderableType | None",
            style: "StyleType | None" = None,
            end_section: bool = False,
        ) -> None:
            cells = (names.terminal(cell) if isinstance(cell, str) else cell for cell in renderables)
            super().add_row(*cells, style=style, end_section=end_section)

    table = Plain(box=None, pad_edge=False, header_style="bold")
    table.add_column(names.terminal(title))
    for column in columns:
        table.add_column(names.terminal(column), justify="left" if column in left else "right")
    return table
