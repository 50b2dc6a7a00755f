"""The record of goodput from which recovery times follow."""

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from shallows.algorithms.defaults import Scale
from shallows.scenario.faults import affected

if TYPE_CHECKING:
    from shallows.core.contract import U32, Request
    from shallows.scenario import Scenario

SAMPLES = 1000
"""Samples of a run with a set duration; the core keeps up to 1024."""
MOST = 32
"""Faults whose flows are recorded."""


class Record(TypedDict):
    """`record.goodput` of a request: the first interval, and groups of flows, of which the first is all."""

    interval_ps: int
    flows: "list[U32]"


def record(scenario: "Scenario", request: "Request") -> "Record | None":
    """What the core is to sample: the flows of each fault, and all flows; None without faults of links.

    The first interval is an eighth of the longest empty round trip, or a thousandth of the run if that is
    longer.
    """
    if not any(fault.is_of_links for fault in scenario.faults):
        return None
    everything = np.arange(len(scenario.flows), dtype=np.uint32)
    groups = [
        everything,
        *(np.flatnonzero(flags).astype(np.uint32) for flags in affected.flows(scenario, request)[:MOST]),
    ]
    rtt = Scale.of(scenario.graph, scenario.mtu).rtt_ps
    interval = max(rtt // 8, (scenario.duration_ps or 0) // SAMPLES, 1)
    return {"interval_ps": interval, "flows": groups}
