"""A warning about flows that are marked in step."""

from itertools import combinations
from typing import TYPE_CHECKING

from shallows.warnings.paths import about, of_transport, paths_of
from shallows.warnings.starved import FULL, judged

if TYPE_CHECKING:
    from shallows.results.answer import Answer

LONGER, TIMES = 1.2, 1.5
"""Round trips differ by this factor, and shares by the other times the square of that of the round trips."""
MOST = 64
"""Flows that are compared with each other."""


def in_step(answer: "Answer") -> list[str]:
    """Flows of one queue that share more unequally than the square of their round trips.

    Windows that grow by a packet a round trip share between the inverse of the round trip, with independent
    marks, and the inverse of its square, where all are cut at once (Lakshman and Madhow, IEEE/ACM ToN 5(3),
    1997). Beyond that one of them is cut more often, because the marks of a step follow the phase
    of the other: it is the same for all seeds, and another for a delay that is 1 % longer.
    """
    scenario, flows = answer.scenario, answer.flow_columns
    its = judged(answer)
    its = its[of_transport(answer, "tcp")[its]][:MOST].tolist()
    if len(its) < 2 or scenario.network.delay_spread:
        return []
    queues = _queues(answer, its)
    times, rates = flows["srtt_mean_us"], flows["goodput_gbps"]
    for one, other in combinations(its, 2):
        short, long = sorted((one, other), key=lambda flow: float(times[flow]))
        square = float(times[long] / times[short]) ** 2
        alike = queues[one] == queues[other] and scenario.flows.cc[one] == scenario.flows.cc[other]
        apart = square > LONGER**2 and rates[short] > TIMES * square * rates[long] > 0
        if alike and len(queues[one]) == 1 and apart:
            share, trips = rates[short] / rates[long], [about(float(times[at]) * 1e6) for at in (short, long)]
            return [
                f"flow {short} has {share:.3g} times the goodput of flow {long} in one queue, beyond "
                f"{square:.3g}, the square of their round trips of {trips[0]} and {trips[1]}: they are "
                "marked in step, and no seed shows how shares depend on delays; write "
                "network.delay_spread = 0.01 and compare seeds"
            ]
    return []


def _queues(answer: "Answer", flows: list[int]) -> dict[int, set[int]]:
    """For each flow the full links of its path that marked its packets; none if a link dropped any."""
    paths, used, ports = paths_of(answer.scenario), answer.port_columns["utilization"], answer.answer["ports"]
    dropped = ports["dropped"] + ports["dropped_in_warmup"]
    marking = (used >= FULL) & (ports["marked"] > 0)
    found: dict[int, set[int]] = {}
    for flow in flows:
        path = paths[flow][0]
        found[flow] = set() if dropped[path].any() else {link for link in path if marking[link]}
    return found
