"""Whether flows without an end have reached rates that stay, from their goodput over time."""

from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.faults.goodput import MOST, Record
from shallows.units import NEVER

if TYPE_CHECKING:
    from shallows.core.contract import F64
    from shallows.results.answer import Answer
    from shallows.scenario import Scenario

SAMPLES = 64
"""Samples of the goodput of each table."""
PARTS = 8
"""The second half of the run is compared in eighths of the run."""
RISES, FREE = 0.05, 0.8
"""Rates that rise by this share over the second half of a run, while no link is used to the other share."""


def record(scenario: "Scenario") -> Record | None:
    """What the core is to sample: goodput of tables of flows without an end, in runs of a set length."""
    tables = _tables(scenario)
    if not tables or scenario.duration == NEVER:
        return None
    groups = [np.flatnonzero(scenario.flows.group == number).astype(np.uint32) for number in tables]
    return {"interval_ps": max(scenario.duration // SAMPLES, 1), "flows": groups}


def _tables(scenario: "Scenario") -> list[int]:
    """The traffic tables whose flows have no end and no pauses, and begin in the first half of the run."""
    return [
        number
        for number, table in enumerate(scenario.traffic)
        if table.kind == "long-lived" and table.stop == NEVER and not table.off
        and int(scenario.flows.start_ps[scenario.flows.group == number].max()) <= scenario.duration // 2
    ][:MOST]  # fmt: skip


def of_answer(answer: "Answer") -> list[dict[str, Any]]:
    """`summary["unsettled"]`: a row for each table of flows that still took more of links with room.

    `needed_s` is when they would fill a link if they rose on as in the second half of the run.
    """
    goodput, scenario = answer.answer.get("goodput"), answer.scenario
    if goodput is None or scenario.faults or not answer.measured_ps or answer.answer["interrupted"]:
        return []
    ends = np.linspace(0.5, 1, PARTS // 2 + 1) * answer.ended_ps
    found: dict[int, F64] = {}
    for number, total in zip(_tables(scenario), goodput["bytes"], strict=True):
        at = np.interp(ends, np.append(0, goodput["time_ps"]), np.append(0, total.astype(float)))
        gbps = np.diff(at) * 8e3 / np.diff(ends)
        if (np.diff(gbps) > 0).all() and gbps[-1] > (1 + RISES) * gbps[0]:
            found[number] = gbps
    busiest = _busiest(answer) if found else np.zeros(0)
    rows: list[dict[str, Any]] = []
    for number, gbps in found.items():
        selected = answer.flow_columns["traffic"] == number
        free = busiest[selected][busiest[selected] < FREE]
        if 2 * len(free) < np.sum(selected):
            continue
        mean_gbps = float(answer.answer["flows"]["goodput_bytes"][selected].sum()) * 8e3 / answer.measured_ps
        full_gbps = mean_gbps / max(float(free.max()), 1e-9)  # of links that are used in this proportion
        pace = (gbps[-1] - gbps[0]) / (ends[-1] - ends[1])
        needed_ps = answer.ended_ps + max(full_gbps - float(gbps[-1]), 0) / float(pace)
        rates = {"from_gbps": float(gbps[0]), "to_gbps": float(gbps[-1])}
        rows.append(
            {"traffic": number, "utilization": float(free.max()), **rates, "needed_s": needed_ps / 1e12}
        )
    return rows


def _busiest(answer: "Answer") -> "F64":
    """For each flow the utilization of the busiest link that it may use, after the warm-up."""
    from shallows.warnings.paths import paths_of

    used: F64 = answer.port_columns["utilization"]
    if answer.scenario.network_options.balancing != "flow":
        return np.full(len(answer.start_ps), used.max())
    return np.array([used[forth].max() for forth, _ in paths_of(answer.scenario)])
