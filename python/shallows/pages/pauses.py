"""When the ports of a run were paused, from a second pass over its scenario."""

from typing import TYPE_CHECKING

import numpy as np

from shallows.errors import ScenarioError
from shallows.scenario.ports import paused

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.core.contract import F64, Flags
    from shallows.results.run import RunData


def has_some(run: "RunData") -> bool:
    """True if ports were paused in a run, or may have been in its warm-up, whose pauses are not counted."""
    if np.asarray(run.columns("ports")["pauses"], float).any():
        return True
    return bool(paused(run.scenario)) and run.scenario.warmup > 0


def at_samples(run: "RunData", links: "NDArray[np.intp]", times_us: "F64") -> "Flags | None":
    """Whether a pause kept each port from sending at each sample, [P, T].

    The scenario runs again for this. None if that cannot say it: the run cannot be repeated, or the scenario
    has several classes, of which a pause stops one.
    """
    from shallows.why import record, rerun
    from shallows.why.pauses import Pauses

    if len(run.scenario.classes) > 1:
        return None
    try:
        second = record.of_scenario(rerun.scenario_of(run), [])
        rerun.check(run, second.fingerprint)
    except ScenarioError:
        return None
    spans: dict[int, list[tuple[int, int]]] = {}
    for pause in Pauses(second).all:
        spans.setdefault(pause.link, []).append((pause.since_ps, pause.until_ps))
    found = np.zeros((len(links), len(times_us)), bool)
    for row, link in enumerate(links.tolist()):
        if link in spans:
            since, until = np.array(spans[link]).T / 1e6
            last = (
                np.searchsorted(since, times_us, side="left") - 1
            )  # a sample comes before its time's events
            found[row] = (last >= 0) & (times_us <= until[last])
    return found
