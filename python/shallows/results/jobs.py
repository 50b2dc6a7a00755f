"""The job of a traffic table: a collective or a task, from the rows of a summary."""

from typing import TYPE_CHECKING

from shallows.results.summary import bounds

if TYPE_CHECKING:
    from shallows.results.contents import Summary

LARGEST = ("completion_us", "ideal_us", "slowdown", "exposed_us", "cause_us")
SMALLEST = ("algbw_gb_per_s", "busbw_gb_per_s")
TASKS = ("tasks", "training")
"""Kinds of traffic that are tasks."""
BATCHES = ("shuffle", "trace")
"""Kinds of traffic whose flows are one batch: its time is that from the first start to the last end."""


def is_job(kind: object) -> bool:
    """Return whether traffic of this kind is a collective or a task."""
    from shallows.traffic import KINDS
    from shallows.traffic.collectives import Collective

    return kind in TASKS or issubclass(KINDS.get(str(kind), object), Collective)


def of_table(summary: "Summary", number: int) -> dict[str, object]:
    """The numbers of the job of a traffic table; those of its slowest group. Empty if it is no job.

    A number is None while a group is unfinished; `more_than` has a lower bound of its completion time.
    """
    rows = [row for row in (*summary["collectives"], *summary["tasks"]) if row["traffic"] == number]
    found: dict[str, object] = {}
    least: dict[str, float] = {}
    for key in (*LARGEST, *SMALLEST) if rows else ():
        values: list[float | None] = [row.get(key) for row in rows]
        done = [value for value in values if value is not None]
        found[key] = (min if key in SMALLEST else max)(done) if len(done) == len(rows) else None
        if found[key] is None:
            known = [bounds(row).get(key, value) for row, value in zip(rows, values, strict=True)]
            each = [value for value in known if value is not None]
            if len(each) == len(rows):
                least[key] = (min if key in SMALLEST else max)(each)
    return found | {"more_than": least} if rows else {}
