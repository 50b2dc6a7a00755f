"""Whether flows without an end have reached rates that stay, from their goodput over time."""

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from shallows.scenario.faults.goodput import MOST, Record
from shallows.units import NEVER

if TYPE_CHECKING:
    from shallows.core.contract import F64
    from shallows.results.answer import Answer
    from shallows.results.contents import Unsettled
    from shallows.scenario import Scenario

SAMPLES = 64
"""Samples of the goodput of each table."""
PARTS = 8
"""The second half of the run is compared in eighths of the run, and that of single flows in half of these."""
RISES, FREE = 0.05, 0.8
"""Rates that rise by this share over the second half of a run, while no link is used to the other share."""
FALLS, TREND = 0.02, 0.8
"""A flow gives way if its rate falls by this share over that half, with this correlation with time."""
MOST_FLOWS = 64
"""Flows whose own goodput is sampled."""


def record(scenario: "Scenario") -> Record | None:
    """What the core is to sample: goodput of tables of flows without an end, and of a few flows of these.

    None if the run has no set length.
    """
    tables = _tables(scenario)
    if not tables or scenario.duration == NEVER:
        return None
    groups = [np.flatnonzero(scenario.flows.group == number).astype(np.uint32) for number in tables]
    alone = [np.array([flow], np.uint32) for flow in _flows(scenario)]
    return {"interval_ps": max(scenario.duration // SAMPLES, 1), "flows": [*groups, *alone]}


def _tables(scenario: "Scenario") -> list[int]:
    """The traffic tables whose flows have no end and no pauses, and begin in the first half of the run."""
    return [
        number
        for number, table in enumerate(scenario.traffic)
        if table.kind == "long-lived" and table.stop == NEVER and not table.pauses
        and int(scenario.flows.start_ps[scenario.flows.group == number].max()) <= scenario.duration // 2
    ][:MOST]  # fmt: skip


def _flows(scenario: "Scenario") -> list[int]:
    """The first flows of these tables."""
    return np.flatnonzero(np.isin(scenario.flows.group, _tables(scenario)))[:MOST_FLOWS].tolist()


def falling_flows(answer: "Answer") -> dict[int, tuple[float, float]]:
    """Flows whose goodput fell over the second half of the run: Gbit/s in its first and last part.

    Eight rates without a trend have this correlation with time once in a hundred times.
    """
    sampled = _rates(answer, PARTS)
    if not sampled:
        return {}
    alone = islice(sampled, len(_tables(answer.scenario)), None)
    rates = dict(zip(_flows(answer.scenario), alone, strict=True))
    return {flow: (float(gbps[0]), float(gbps[-1])) for flow, gbps in rates.items() if _falls(gbps)}


def _falls(gbps: "F64") -> bool:
    return bool(gbps[-1] < (1 - FALLS) * gbps[0] and np.corrcoef(np.arange(len(gbps)), gbps)[0, 1] < -TREND)


def _rates(answer: "Answer", parts: int) -> "list[F64]":
    """Goodput of each group in Gbit/s, in equal parts of the second half of the run; none if not sampled."""
    goodput = answer.answer.get("goodput")
    if goodput is None or answer.scenario.faults or not answer.measured_ps or answer.answer["interrupted"]:
        return []
    ends, time_ps = _ends(answer, parts), np.append(0, goodput["time_ps"])
    totals = [np.interp(ends, time_ps, np.append(0, total.astype(float))) for total in goodput["bytes"]]
    return [np.diff(total) * 8e3 / np.diff(ends) for total in totals]


def _ends(answer: "Answer", parts: int) -> "F64":
    """Where equal parts of the second half of the run begin and end, in picoseconds."""
    return np.linspace(0.5, 1, parts + 1) * float(answer.ended_ps)


def _rise(gbps: "F64") -> bool:
    return bool((np.diff(gbps) > 0).all() and gbps[-1] > (1 + RISES) * gbps[0])


def of_answer(answer: "Answer") -> "list[Unsettled]":
    """`summary["unsettled"]`: a row for each table of flows that still took more of links with room.

    `needed_s` is when they would fill a link if they rose on as in the second half of the run.
    """
    ends, parts = _ends(answer, PARTS // 2), _rates(answer, PARTS // 2)
    if not parts:
        return []
    tables = dict(zip(_tables(answer.scenario), parts, strict=False))  # single flows follow
    found = {number: gbps for number, gbps in tables.items() if _rise(gbps)}
    busiest = _busiest(answer) if found else np.zeros(0)
    rows: list[Unsettled] = []
    for number, gbps in found.items():
        selected = answer.flow_columns["traffic"] == number
        free = busiest[selected][busiest[selected] < FREE]
        if 2 * len(free) < np.sum(selected):
            continue
        mean_gbps = float(answer.answer["flows"]["goodput_bytes"][selected].sum()) * 8e3 / answer.measured_ps
        full_gbps = mean_gbps / max(float(free.max()), 1e-9)  # of links that are used in this proportion
        pace = (gbps[-1] - gbps[0]) / (ends[-1] - ends[1])
        needed_ps = answer.ended_ps + max(full_gbps - float(gbps[-1]), 0) / float(pace)
        rows.append(
            {
                "traffic": number,
                "utilization": float(free.max()),
                "from_gbps": float(gbps[0]),
                "to_gbps": float(gbps[-1]),
                "needed_s": needed_ps / 1e12,
            }
        )
    return rows


def _busiest(answer: "Answer") -> "F64":
    """For each flow the utilization of the busiest link that it may use, after the warm-up."""
    from shallows.scenario.paths import paths_of

    used: F64 = answer.port_columns["utilization"]
    if answer.scenario.network.balancing != "flow":
        return np.full(len(answer.start_ps), used.max())
    return np.array([used[forth].max() for forth, _ in paths_of(answer.scenario)])
