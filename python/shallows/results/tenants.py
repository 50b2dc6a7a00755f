"""The time that each tenant takes: a traffic table whose flows are one job or one batch."""

from typing import TYPE_CHECKING

from shallows.results import jobs

if TYPE_CHECKING:
    from shallows.results.run import RunData


def completion_us(run: "RunData") -> dict[str, float | None]:
    """Microseconds from the first start to the last end of each tenant, by name; None if it is unfinished."""
    rows = [row for row in run.summary["traffic"] if jobs.is_job(row["kind"]) or row["kind"] in jobs.BATCHES]
    # Absent in results of earlier versions.
    return {row["name"]: row["completion_us"] for row in rows if "completion_us" in row}
