"""The time that each tenant takes: a traffic table whose flows are one job, such as a collective."""

from typing import TYPE_CHECKING

import numpy as np

from shallows.traffic import Collective
from shallows.traffic.flows import names

if TYPE_CHECKING:
    from shallows.results.run import Run

JOBS = ("trace", "tasks")
"""Kinds of traffic besides collectives whose flows are one job."""


def completion_us(run: "Run") -> dict[str, float | None]:
    """Microseconds from the first start to the last end of each tenant, by name; None if it is unfinished."""
    tables = run.scenario.traffic
    flows = run.columns("flows")
    traffic = np.asarray(flows["traffic"])
    start_us, fct_us = (np.asarray(flows[key], float) for key in ("start_us", "fct_us"))
    times: dict[str, float | None] = {}
    for number, (name, table) in enumerate(zip(names(tables), tables, strict=True)):
        if isinstance(table, Collective) or table.kind in JOBS:
            rows = traffic == number
            took = float(np.max(start_us[rows] + fct_us[rows]) - np.min(start_us[rows]))
            times[name] = None if np.isnan(took) else took
    return times
