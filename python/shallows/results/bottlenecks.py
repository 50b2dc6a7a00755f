"""The port by which several runs are compared."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from shallows.results import tables
from shallows.results.contents import Bottleneck
from shallows.results.summary import BOTTLENECK_KEYS, shared_bottleneck

if TYPE_CHECKING:
    from shallows.results.run import RunData


def bottlenecks(runs: "Iterable[RunData]") -> list[Bottleneck]:
    """The statistics of one port in each run, as `bottleneck` in a summary.

    The port is the bottleneck that queues most in all runs. Runs without a common port keep their own.
    """
    runs = list(runs)
    by_port = [_by_port(run) for run in runs]
    queues = [{port: row["queue_mean_pkt"] for port, row in table.items()} for table in by_port]
    port = shared_bottleneck([run.summary for run in runs], queues)
    return [
        run.summary["bottleneck"] if port in (None, run.summary["bottleneck"]["port"]) else table[port]
        for run, table in zip(runs, by_port, strict=True)
    ]


def _by_port(run: "RunData") -> dict[str, Any]:
    """{port: its row of the table of ports}; None where there is no value."""
    columns = run.columns("ports")
    shown = {key: columns[key] for key in ("port", *BOTTLENECK_KEYS)}
    return {str(row["port"]): row for row in tables.rows(shown)}
