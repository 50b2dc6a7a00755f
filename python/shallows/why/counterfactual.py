"""The cost of other flows: the same scenario without the flows that a flow waited behind, and with no other
flow.

Removed flows stay in the list of flows but start too late, because a switch chooses the path by the number of
a flow: without the row, all later flows would take other paths.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shallows.core.contract import U64
from shallows.scenario import addends
from shallows.traffic.predecessors import ancestors
from shallows.why import rerun

if TYPE_CHECKING:
    from shallows.core.progress import OnProgress
    from shallows.scenario import Scenario
    from shallows.why.path import Path

AFTERWARDS_PS = 1_000_000


class Counterfactual(NamedTuple):
    """The cost of other flows according to the path of a flow, and its completion times without them."""

    flow: int
    fct_ps: int
    culprits: list[int]
    """The flows that it waited behind, or whose queue cut its window: those of `Path.by_flow`."""
    share_ps: int
    """The time of its path that they took."""
    alone_ps: int | None
    """Its completion time with no other flow; None if that exceeds twice the original time."""
    ran_ps: int | None
    """Its completion time without the culprits; None likewise."""
    cc: str = ""
    """Its algorithm."""
    exact: bool = True
    """True if its algorithm slows down for losses and marks alone, whose queues name the flows in them."""

    @property
    def expected_ps(self) -> int:
        """The completion time that the path predicts, at least the time alone.

        Part of the time behind other flows would have been needed for the flow's own frames.
        """
        return max(self.fct_ps - self.share_ps, self.alone_ps or 0)


def of_path(path: "Path", scenario: "Scenario", on_progress: "OnProgress | None" = None) -> Counterfactual:
    """The `Counterfactual` of a `Path`, from two runs of up to twice the time that the flow took."""
    culprits = path.by_flow()
    needed = ancestors(path.flow, scenario.flows.after, scenario.flows.behind)
    everybody = set(range(scenario.flow_count)) - needed
    took = scenario, [path.flow], path.start_ps, path.fct_ps
    alone = completion_without(everybody, *took, on_progress)
    ran = completion_without(set(culprits) - needed, *took, on_progress)
    used = scenario.flows.ccs[int(scenario.flows.cc[path.flow])]
    exact, share = used.traits["reacts_to_queues_alone"], sum(culprits.values())
    return Counterfactual(path.flow, path.fct_ps, list(culprits), share, alone, ran, used.label, exact)


def completion_without(
    gone: set[int],
    scenario: "Scenario",
    tasks: list[int],
    begin_ps: int,
    took_ps: int,
    on_progress: "OnProgress | None",
) -> int | None:
    """The completion time of `tasks`, which took `took_ps`, in a run without the tasks in `gone`.

    None if it exceeds twice the original time.
    """
    until = begin_ps + 2 * took_ps
    starts, finishes = times_without(scenario, gone, until, on_progress)
    first, last = int(starts[tasks].min()), int(finishes[tasks].max())
    return last - first if last < until else None


def times_without(
    scenario: "Scenario", gone: set[int], until: int, on_progress: "OnProgress | None"
) -> tuple[U64, U64]:
    """When tasks start and finish in a run of `scenario` until `until` (ps) without the tasks in `gone`."""
    from shallows import _core

    request = rerun.request(scenario)
    flows = len(request["flows"]["start_ps"])
    for table, first in ((request["flows"], 0), (request["computations"], flows)):
        start = table["start_ps"].copy()
        start[[task - first for task in sorted(gone) if 0 <= task - first < len(start)]] = (
            until + AFTERWARDS_PS
        )
        table["start_ps"] = start
    request["until_done"], request["duration_ps"], request["warmup_ps"] = False, until, 0
    answer = _core.simulate(request, on_progress, 1)
    if answer["interrupted"]:
        raise KeyboardInterrupt("in a run without others; the saved result is unchanged")
    tables = answer["flows"], answer["computations"]
    asked_ps = addends.from_core(scenario, answer["flows"]["start_ps"])
    starts = np.concatenate([asked_ps, answer["computations"]["start_ps"]])
    return starts, np.concatenate([table["finish_ps"] for table in tables])
