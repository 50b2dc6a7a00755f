"""Addends of a completion time that no packet explains: fixed delays of messages and costs of hosts.

A flow waits for its predecessors, then for its fixed delay. Then its host asks for it, which is its start in
all results. The costs of the host delay its first byte. The request to the core, the results, `shallows why`
and the causes and ideal times of jobs read this one list, so that none of them can miss an addend.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shallows.scenario import host_costs
from shallows.units import NEVER

if TYPE_CHECKING:
    from collections.abc import Callable

    from shallows.core.contract import U64
    from shallows.scenario import Scenario


class Addend(NamedTuple):
    """An addend of the time of a message, in the order in which they pass."""

    cause: str
    """Its key in `why.causes.CAUSES`."""
    in_fct: bool
    """True if it follows the start of the flow, so that its completion time includes it."""
    in_ideal: bool
    """True if the ideal time of a job includes it."""
    of_flows: "Callable[[Scenario], U64]"
    """Picoseconds of each flow."""


def _fixed(scenario: "Scenario") -> "U64":
    return scenario.flows.start_ps


ADDENDS = (
    Addend("delay", in_fct=False, in_ideal=True, of_flows=_fixed),
    Addend("cost", in_fct=True, in_ideal=False, of_flows=host_costs.of_flows),
)


def in_fct(scenario: "Scenario") -> dict[str, "U64"]:
    """Picoseconds by cause that the completion time of each flow includes."""
    return {one.cause: one.of_flows(scenario) for one in ADDENDS if one.in_fct}


def in_ideal(scenario: "Scenario") -> "U64":
    """Picoseconds by which the ideal time of a job delays each flow."""
    return sum((one.of_flows(scenario) for one in ADDENDS if one.in_ideal), _none(scenario))


def to_core(scenario: "Scenario") -> "U64":
    """Picoseconds from the end of the wait of each flow until its first byte may leave."""
    return sum((one.of_flows(scenario) for one in ADDENDS), _none(scenario))


def from_core(scenario: "Scenario", start_ps: "U64") -> "U64":
    """When the hosts asked for the flows, from when their first bytes could leave; `NEVER` stays."""
    waited = sum(in_fct(scenario).values(), _none(scenario))
    return start_ps - np.where(start_ps == NEVER, np.uint64(0), waited)


def _none(scenario: "Scenario") -> "U64":
    return np.zeros(len(scenario.flows), np.uint64)
