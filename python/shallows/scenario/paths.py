"""Paths of flows and their empty round trips, which several warnings need."""

from typing import TYPE_CHECKING

import numpy as np

from shallows.algorithms.traits import LOSSES
from shallows.units import ACK_BYTES, TIME

if TYPE_CHECKING:
    from shallows.core.contract import U32, Flags
    from shallows.scenario import Scenario
    from shallows.topology import Network


def of_algorithms(scenario: "Scenario", key: str) -> "Flags":
    """The flows on whose algorithm the key acts."""
    return np.array([key in used.supported_keys for used in scenario.flows.ccs])[scenario.flows.cc]


def of_transport(scenario: "Scenario", transport: str) -> "Flags":
    """The flows with this transport."""
    flows = scenario.flows
    return np.array([used.transport == transport for used in flows.ccs])[flows.cc]


def paths_of(scenario: "Scenario", flows: "U32 | None" = None) -> list[tuple[list[int], list[int]]]:
    """The links of the path of each of these flows, by default all, forward and back."""
    from shallows import _core
    from shallows.scenario.request import request

    asked = request(scenario)
    for used, table in zip(scenario.flows.ccs, asked["ccs"], strict=True):
        if used.native:  # the core lacks a kernel's own algorithms, and no path depends on its sender
            table["name"] = LOSSES
    return _core.paths(asked, flows)


def round_trip(network: "Network", mtu: int, forward: list[int], back: list[int]) -> int:
    """Picoseconds of a full frame and its acknowledgement on an empty path."""

    def crossed(links: list[int], frame: int) -> int:
        return int((network.delay_ps[links] + np.uint64(8 * 10**12 * frame) // network.rate_bps[links]).sum())

    return crossed(forward, mtu) + crossed(back, ACK_BYTES)


def about(time_ps: float) -> str:
    """A time in three digits."""
    return TIME.about(time_ps)
