"""Warnings about flows that are slow although their links are free."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shallows.scenario.paths import of_transport, paths_of
from shallows.units import RATE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.core.contract import F64, Flags
    from shallows.results.answer import Answer

SLOW, HALF = 10, 0.5
"""A flow is slow beyond this slowdown if no link of its path carried this share of its rate meanwhile."""
SHARE, LEAST = 0.01, 10
"""The share and the number of the flows of an algorithm that make a warning."""
SAMPLED = 500
"""At most so many slow flows are looked at."""


def slow_beside_free_links(answer: "Answer") -> list[str]:
    """Flows of paced algorithms that were slow while every link of their path had room.

    Max-min shares fill a link of each path. A flow without retransmissions that is ten times slower than
    alone, while its links are half used, paces itself: its rate was cut and returns slowly.
    """
    scenario, flows = answer.scenario, answer.flow_columns
    if scenario.network.balancing != "flow" or scenario.faults or not answer.network.is_nic.any():
        return []
    slowdown = answer.counted.least["slowdown"]  # of flows that were cut off, until then
    slow = of_transport(answer.scenario, "roce") & (slowdown > SLOW) & (flows["retransmits"] == 0)
    known = np.isfinite(slowdown)
    said: list[str] = []
    paths: list[tuple[list[int], list[int]]] = []
    for number, used in enumerate(scenario.flows.ccs):
        its = scenario.flows.cc == number
        least = max(LEAST, SHARE * np.sum(its & known))
        if np.sum(slow & its) < least:
            continue
        paths = paths or paths_of(scenario)
        free = _share_beside_free_links(answer, np.flatnonzero(slow & its), [forth for forth, _ in paths])
        count = int(free * np.sum(slow & its))
        if count >= least:
            said.append(
                f"{used.label}: {count} of {np.sum(its & known)} flows took more than {SLOW} times their "
                f"ideal time while no link of their path was used to {HALF:.0%}{_why(answer, number)}"
            )
    return said


def _why(answer: "Answer", number: int) -> str:
    """How slowly the rate of an algorithm returns after a cut, and what to write."""
    used = answer.scenario.flows.ccs[number]
    given, instead = used.parameters, used.traits["corrected_by"]
    if instead is None or given.get("keep", 1.0):
        pauses = ", or pauses hold them" if answer.answer["ports"]["pauses"].any() else ""
        return f": their rates return slowly after cuts{pauses}"
    rate = int(answer.network.rate_bps[answer.network.is_nic].max())
    least, step = (RATE.text(int(given[key])) for key in ("min_rate", "delta"))
    return (
        f": a gradient cuts the rate to as little as cc.min_rate = {least}, and it returns by cc.delta = "
        f"{step} an update, {rate / given['delta']:.0f} updates to the rate of a host; set cc.keep = 0.5 and "
        f"cc.hai = 5 as the authors of {used.name.upper()} do, or use {instead} (page rates)"
    )


def _share_beside_free_links(
    answer: "Answer", slow: "NDArray[np.intp]", paths: Sequence[Sequence[int]]
) -> float:
    """The share of the slow flows that had room on every link of their path."""
    scenario, columns = answer.scenario, answer.flow_columns
    chosen = (
        slow[np.unique(np.linspace(0, len(slow) - 1, SAMPLED).astype(int))] if len(slow) > SAMPLED else slow
    )
    links = np.concatenate([np.asarray(path, int) for path in paths])
    owner = np.repeat(np.arange(len(paths)), [len(path) for path in paths])
    begin = np.nan_to_num(columns["start_us"], nan=np.inf)
    end = np.where(np.isfinite(columns["fct_us"]), begin + columns["fct_us"], answer.ended_ps / 1e6)
    wire = scenario.mtu / scenario.frame.payload
    bits = 8 * wire * answer.answer["flows"]["delivered_bytes"].astype(float)
    rate: F64 = np.divide(bits, end - begin, out=np.zeros(len(bits)), where=end > begin)  # bits a microsecond
    free: Flags = np.ones(len(chosen), bool)
    for link in np.unique(np.concatenate([np.asarray(paths[flow], int) for flow in chosen])):
        others = owner[links == link]
        capacity = float(answer.network.rate_bps[link]) / 1e6
        for place, flow in enumerate(chosen):
            if free[place] and link in paths[flow]:
                together = np.minimum(end[others], end[flow]) - np.maximum(begin[others], begin[flow])
                carried = float(np.sum(rate[others] * np.maximum(together, 0)))
                free[place] = carried < HALF * capacity * (end[flow] - begin[flow])
    return float(np.mean(free))
