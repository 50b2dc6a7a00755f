"""The choice of flows, such as the slowest or those of a size class, and of a task by its name."""

from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from shallows.core.contract import Flags
from shallows.errors import ScenarioError
from shallows.printing.report import SIZES
from shallows.results.task_members import Task, computations, first_delay_ps, groups, of_flow

if TYPE_CHECKING:
    from shallows.results.run import RunData

EXACT_PS = 2**52
"""Times in tables are floating-point numbers in microseconds, exact in picoseconds up to this time."""


class Choice(TypedDict, total=False):
    """The options of `flows`."""

    slowest: int | None
    size: str | None
    p99: bool


def flows(
    run: "RunData", *, slowest: int | None = None, size: str | None = None, p99: bool = False
) -> list[int]:
    """Numbers of finished flows of `run`, the slowest first: all, or of the class `size` ("< 10 KB").

    `slowest` limits their number, `p99` selects those at or above the 99th percentile of slowdown.
    """
    table = run.columns("flows")
    slowdown, size_bytes = (np.asarray(table[name], float) for name in ("slowdown", "bytes"))
    chosen = np.isfinite(slowdown)
    if size is not None:
        low, high = _class(size)
        chosen &= (size_bytes >= low) & (size_bytes < high)
    if not chosen.any():
        where = f" with {size}" if size else ""
        raise ScenarioError("flows", 0, f"at least one finished flow{where} in this run")
    if p99:
        chosen &= slowdown >= np.quantile(slowdown[chosen], 0.99)
    found = np.flatnonzero(chosen)
    found = found[np.argsort(-slowdown[found], kind="stable")]
    return found[:slowest].tolist()


def _class(text: str) -> tuple[float, float]:
    """(least size, first size above) of a size class as reports name it, with or without blanks."""
    low = 0.0
    for limit, title in SIZES.items():
        high = limit or np.inf
        if title.replace(" ", "").lower() == text.replace(" ", "").lower():
            return low, high
        low = high
    raise ScenarioError("class", text, "one of " + ", ".join(f'"{title}"' for title in SIZES.values()))


def task(run: "RunData", name: str) -> Task:
    """The `Task` of this name: that of a table, or "NAME/GROUP"; of several groups the slowest.

    Raises `ScenarioError` if there is none, or if it has not finished.
    """
    flows = run.scenario.flows
    start, finish, finished = _times(run)
    found: list[Task] = []
    table, every = groups(flows, name)
    table_name, delay_ps = flows.names[table], first_delay_ps(run.scenario, table)
    for group, numbers in every.items():
        label = of_flow(flows, numbers[0]) if numbers else table_name
        computed = range(0) if len(every) > 1 else computations(flows, table)
        if not finished[[*numbers, *computed]].all():
            expected = "one whose messages have all finished: an unfinished one has no critical path"
            raise ScenarioError("task", label, expected)
        found.append(Task(label, table, group, numbers, computed, start, finish, delay_ps))
    return max(found, key=lambda one: int(one.finish_ps[one.last]) - one.begin_ps)


def _times(run: "RunData") -> tuple[NDArray[np.int64], NDArray[np.int64], Flags]:
    """When all tasks of a run started and ended, in picoseconds, and whether they have ended."""
    flows, computations = run.columns("flows"), run.columns("computations")
    start_us, fct_us = (np.asarray(flows[key], float) for key in ("start_us", "fct_us"))
    computed = [np.asarray(computations[key], float) for key in ("start_us", "finish_us")]
    times_us = np.array(
        [np.concatenate([start_us, computed[0]]), np.concatenate([start_us + fct_us, computed[1]])]
    )
    start, finish = np.rint(np.nan_to_num(times_us) * 1e6).astype(np.int64)
    finished = np.isfinite(times_us[1])
    if finish.max(initial=0) >= EXACT_PS:
        start, finish = _exact_times(run)
    return start, finish, finished


def _exact_times(run: "RunData") -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """When all tasks of a run started and ended, in picoseconds, from another run."""
    from shallows.why.counterfactual import AFTERWARDS_PS, times_without
    from shallows.why.rerun import scenario_of

    scenario = scenario_of(run)
    ended_ps = round(run.summary["duration_s"] * 1e12)
    start, finish = times_without(scenario, set(), ended_ps + AFTERWARDS_PS, None)
    return start.astype(np.int64), finish.astype(np.int64)
