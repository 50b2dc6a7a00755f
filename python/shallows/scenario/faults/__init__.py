"""`[[faults]]`: changes of links and nodes during a run, and the flows that they affect."""

from shallows.scenario.faults.changes import (
    ASPECTS,
    Change,
    changes,
    changing_links,
    extremes,
    initial,
    of_links,
    reroutes,
    scheduled_links,
    to_core,
)
from shallows.scenario.faults.checks import check
from shallows.scenario.faults.model import LEAST_RATE_BPS, Fault

__all__ = [
    "ASPECTS",
    "LEAST_RATE_BPS",
    "Change",
    "Fault",
    "changes",
    "changing_links",
    "check",
    "extremes",
    "initial",
    "of_links",
    "reroutes",
    "scheduled_links",
    "to_core",
]
