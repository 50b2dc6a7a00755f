"""The answers with which a report begins, by what the traffic is for."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from shallows.results import jobs
from shallows.results.metrics import BY_KEY
from shallows.results.summary import bounds, value

if TYPE_CHECKING:
    from shallows.results.contents import Summary

OPEN_LOOP = ("poisson", "shuffle", "trace", "incast")
"""Kinds of traffic whose arrivals do not wait for the network."""
MOST = 8
"""Tables of one kind that have a line each."""
Number = Callable[[float, str], str]
"""A number in the unit that fits it, from a number and its unit."""


def lines(summary: "Summary", number: Number) -> list[str]:
    """Lines on collectives, tasks, batches, exchanges, flows without an end, loads, the drain and faults."""
    return [
        *_jobs(summary, number),
        *_batches(summary, number),
        *_exchanges(summary, number),
        *_shares(summary, number),
        *_open_loop(summary),
        *_faults(summary, number),
    ]


def job_tables(summary: "Summary") -> dict[int, str]:
    """The numbers and names of the traffic tables that are collectives or tasks."""
    rows = (*summary["collectives"], *summary["tasks"])
    return {row["traffic"]: row["name"] for row in rows}


def _jobs(summary: "Summary", number: Number) -> list[str]:
    told: list[str] = []
    tables = job_tables(summary)
    for table, name in list(tables.items())[:MOST]:
        row, kind = jobs.of_table(summary, table), "task" if _is_task(summary, table) else "collective"
        groups = sum(one["traffic"] == table for one in summary["collectives"])
        which = f"{name}, slowest of {groups} groups" if groups > 1 else name
        told.append(f"{kind:<12}{which}: {_time(row, number)}{_ideal(row, number)}{_rates(row, number)}")
        told += _cause(summary, table, number)
    return told + ([f"            and {len(tables) - MOST} more"] if len(tables) > MOST else [])


CAUSES = {
    "timeouts": "{time} by timeouts of its messages",
    "losses": "{time} by messages with lost packets, which were sent again",
    "uneven paths": "{time} by its own frames at {port}, more than an equal share of the paths",
    "other traffic": "{time} by frames of others at {port}",
    "pauses": "up to {time} by pauses of {port}",
    "host costs": "{time} by costs of hosts (hosts.costs)",
    "late rank": "{time} by the late start of {port}",
    "slow link": "{time} by {port}, which a fault slows down",
    "failed link": "{time} by {port}, which was down",
    "rate limits": "{time} by limits of its senders' windows and rates; `shallows why --task` divides it",
    "queues": "{time} by waits in queues, most at {port}; `shallows why --task` divides it",
}
"""What the counts of a run say of the largest cause of a job's time beyond its ideal."""


def _cause(summary: "Summary", table: int, number: Number) -> list[str]:
    """The largest cause in the group of a job that has lost most, a line of its own."""
    rows = [row for row in (*summary["collectives"], *summary["tasks"]) if row["traffic"] == table]
    causes = [(row["cause_us"] or 0.0, row["cause"], row["cause_port"]) for row in rows]
    known = [(time_us, cause, port) for time_us, cause, port in causes if cause]
    if not known:
        return []
    time_us, cause, port = max(known, key=lambda one: one[0])
    said = CAUSES[cause].format(time=number(time_us, "us"), port=port)
    return [f"            largest cause beyond the ideal: {said}"]


def _is_task(summary: "Summary", table: int) -> bool:
    return any(row["traffic"] == table for row in summary["tasks"])


def _time(row: Mapping[str, object], number: Number) -> str:
    if (taken_us := value(row, "completion_us")) is not None:
        return number(taken_us, "us")
    least = bounds(row).get("completion_us")
    return "unfinished" if least is None else f"unfinished after {number(least, 'us')}"


def _ideal(row: Mapping[str, object], number: Number) -> str:
    ideal_us, slowdown = value(row, "ideal_us"), value(row, "slowdown")
    if not ideal_us:
        return ""
    times = f" ({slowdown:.2f} times that)" if slowdown else ""
    least = "at least" if row.get("ideal_is_bound") else "ideal"
    return f", {least} {number(ideal_us, 'us')}{times}"


def _rates(row: Mapping[str, object], number: Number) -> str:
    if row.get("busbw_gb_per_s") is not None:
        return f", algbw {row['algbw_gb_per_s']:.2f} GB/s, busbw {row['busbw_gb_per_s']:.2f} GB/s"
    exposed_us, completion_us = value(row, "exposed_us"), value(row, "completion_us")
    if exposed_us is not None and completion_us:
        share = exposed_us / completion_us
        return f", exposed communication {number(exposed_us, 'us')} ({share:.0%})"
    return ""


def _batches(summary: "Summary", number: Number) -> list[str]:
    """The time of a shuffle or of a list of flows, from the first start to the last end."""
    rows = [row for row in summary["traffic"] if row["kind"] in jobs.BATCHES]
    rows = [row for row in rows if row.get("completion_us") or "completion_us" in bounds(row)]
    return [
        f"completion  {row['name']}: {_time(row, number)}, {_flows(row['offered'])}" for row in rows[:MOST]
    ]


def _exchanges(summary: "Summary", number: Number) -> list[str]:
    """Requests and their answers, from the start of a request to the end of its answer."""
    rows = [row for row in summary["traffic"] if row.get("exchanges") or row.get("exchanges_unfinished")]
    told: list[str] = []
    for row in rows[:MOST]:
        p50, p99 = (_percentile(row, f"exchange_{of}_us", number) for of in ("p50", "p99"))
        counts = f"{row['exchanges']} done, {row['exchanges_unfinished']} more began"
        told.append(f"exchanges   {row['name']}: {counts}, p50 {p50}, p99 {p99}")
    return told


def _percentile(row: Mapping[str, object], key: str, number: Number) -> str:
    """A time; a lower bound of it where exchanges that are not done could move it."""
    if (time_us := value(row, key)) is not None:
        return number(time_us, "us")
    least = bounds(row).get(key)
    return "unknown" if least is None else f"more than {number(least, 'us')}"


def _shares(summary: "Summary", number: Number) -> list[str]:
    """The shares of flows without an end."""
    rows = [row for row in summary["traffic"] if row.get("goodput_least_gbps") is not None]
    told: list[str] = []
    for row in rows[:MOST]:
        count, ends = row["offered"], (row["goodput_least_gbps"], row["goodput_most_gbps"])
        least, most, total = (number(one or 0.0, "Gbit/s") for one in (*ends, row["goodput_gbps"]))
        each = "" if count == 1 else f", each {least} to {most}"
        fair = f", Jain {row['jain']:.3f}" if count > 1 and row["jain"] is not None else ""
        told.append(f"shares      {row['name']}: {_flows(count)}, {total} in all{each}{fair}")
    return told


def loads(summary: "Summary") -> list[str]:
    """Stated and realised loads."""
    return [
        f"load        traffic[{load['traffic']}]: {load['realised']:.3f} of the {load['of']} "
        f"({load['stated']:g} stated)"
        for load in summary["load"]
    ]


def _open_loop(summary: "Summary") -> list[str]:
    """Loads, and how long the network emptied after the last arrival."""
    told = loads(summary)
    share = summary["drain_share"]
    is_open = any(row["kind"] in OPEN_LOOP for row in summary["traffic"])
    if share and share < 1 and is_open:  # without later arrivals the whole run would be drain
        told.append(f"drain       the last {share:.0%} of the measured time came after the last flow's start")
    return told


def _faults(summary: "Summary", number: Number) -> list[str]:
    told: list[str] = []
    for row in (summary["faults"])[:MOST]:
        least = bounds(row).get("recovery_us")
        if row["recovery_us"] is not None:
            outcome = (
                f"recovered after {number(row['recovery_us'], 'us')}"
                if row["recovery_us"]
                else "goodput never fell"
            )
        elif least is not None:
            outcome = f"not recovered within {number(least, 'us')}"
        else:
            continue
        told.append(f"fault       {row['fault']}: {row['kind']} {row['name']}: {outcome}")
    return told


def _flows(count: int) -> str:
    return "one flow" if count == 1 else f"{count} flows"


def job_rows(summaries: "Sequence[Summary]") -> list[tuple[str, str, Sequence[Mapping[str, object]]]]:
    """Rows of a comparison: title, key and the numbers of each run, of each collective and task."""
    keys = ("completion_us", "ideal_us", "busbw_gb_per_s", "exposed_us")
    return [
        (f"{name}: {BY_KEY[key].title}", key, rows)
        for table, name in job_tables(summaries[0]).items()
        for rows in [[jobs.of_table(summary, table) for summary in summaries]]
        for key in keys
        if any(row.get(key) is not None or key in bounds(row) for row in rows)
    ]


def fault_rows(summaries: "Sequence[Summary]") -> list[tuple[str, str, Sequence[Mapping[str, object]]]]:
    """Rows of a comparison: the recovery time of each fault."""
    of_runs = [{row["fault"]: row for row in summary["faults"]} for summary in summaries]
    every = dict.fromkeys(
        number
        for faults in of_runs
        for number, row in faults.items()
        if row["recovery_us"] is not None or "recovery_us" in bounds(row)
    )
    return [
        (
            f"faults[{number}]: {BY_KEY['recovery_us'].title}",
            "recovery_us",
            [faults.get(number, {}) for faults in of_runs],
        )
        for number in every
    ]
