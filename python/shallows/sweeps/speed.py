"""Speed of a scenario on this machine: time of its set-up and of a packet-hop, measured in its first events.

The time of a packet-hop depends on the algorithm, on the flows per NIC, on the classes of ports, and on the
size of the state beside the caches. So the first events of the scenario itself are simulated. Algorithms in
Python are replaced by `Aimd`: a user's code is called by its own run only.
"""

import math
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shallows import _core
from shallows.units import NEVER

if TYPE_CHECKING:
    from collections.abc import Callable

    from shallows.contract import U64, Answer, Request
    from shallows.scenario import Scenario

LEAST_S, SHARE, MOST_S = 0.15, 0.1, 1.0
"""CPU seconds to measure: this share of the run, between two bounds. Queues, which are state, grow at first.
The core reports every 500,000 events, the set-up before the first.
"""
DEARER, AGAIN = 1.3, 0.1
"""How far the packet-hops of a delivered packet may exceed those of its route, and the packets sent again for
each that is delivered, until an estimate counts them: go-back-N over sprayed paths sends each packet ten
times, and flows of RCP that wait ask for their rate in each round trip.
"""


class Speed(NamedTuple):
    """CPU seconds of the set-up and of a packet-hop, and the packet-hops as a multiple of those of `cost`."""

    setup_s: float
    hop_s: float
    hop_ratio: float = 1.0


TYPICAL = Speed(0, 100e-9)
"""The speed of a scenario that cannot be measured, by bench/README.md."""


class _Report(NamedTuple):
    """Progress of a run after `cpu_s` seconds of the thread."""

    cpu_s: float
    now_ps: int
    hops: int


class Aimd:
    """An algorithm in Python as short as any: its time is mostly that of the calls."""

    def __init__(self, initial_window: float, line_rate: float) -> None:
        self.window = initial_window

    def on_ack(self, now: float, ack: Any) -> None:
        """Add a packet a round trip, halve on a mark."""
        self.window = max(self.window / 2, 1) if ack.marked else self.window + 1 / self.window

    def on_loss(self, now: float, loss: Any) -> None:
        """Halve."""
        self.window = max(self.window / 2, 1)

    def decision(self) -> float:
        """The window."""
        return self.window


def measured(scenario: "Scenario", expected_hops: float) -> Speed:
    """The `Speed` of a scenario in the packet world on one thread, if it has about so many packet-hops."""
    request, began = _request(scenario), time.thread_time()

    def is_enough(reports: list[_Report]) -> bool:
        share = SHARE * (reports[-1].cpu_s - began) * expected_hops / max(reports[-1].hops, 1)
        return reports[-1].cpu_s - reports[0].cpu_s > min(max(LEAST_S, share), MOST_S)

    try:
        reports, answer = _beginning(request, is_enough)
        took = time.thread_time() - began
        if not answer["interrupted"]:
            hops = answer["packet_hops"]
            return Speed(0, took / max(hops, 1), hops / max(expected_hops, 1))
        first, middle, last = reports[0], reports[len(reports) // 2 - 1], reports[-1]
        hop_s = (last.cpu_s - middle.cpu_s) / max(last.hops - middle.hops, 1)
        hops = _in_all(scenario.duration, middle, last, expected_hops)
        if scenario.duration == NEVER and _is_dearer(scenario, answer, expected_hops):
            _, before = _beginning(request, lambda reports: reports[-1].hops >= middle.hops)
            hops = max(hops, _with_repeats(scenario, before, answer))
    except (ValueError, _core.Bug):
        return TYPICAL  # its run reports the reason
    return Speed(max(first.cpu_s - began - first.hops * hop_s, 0), hop_s, hops / max(expected_hops, 1))


def _beginning(
    request: "Request", is_enough: "Callable[[list[_Report]], bool]"
) -> "tuple[list[_Report], Answer]":
    """The reports of a run until they are enough, and its answer then."""
    reports: list[_Report] = []

    def hear(now_ps: int, hops: int, _finished: int) -> None:
        reports.append(_Report(time.thread_time(), now_ps, hops))
        if is_enough(reports):
            raise KeyboardInterrupt  # ends the run with an answer

    answer = _core.simulate(request, hear, 1)
    if answer["interrupted"] and not (reports and is_enough(reports)):
        raise KeyboardInterrupt
    return reports, answer


def _in_all(duration_ps: int, middle: "_Report", last: "_Report", expected_hops: float) -> float:
    """The packet-hops of a run: the geometric mean of those expected and those at the latest rate.

    The rate knows what packets cost that are lost or trimmed, but not what changes later.
    """
    if duration_ps == NEVER:
        return max(expected_hops, last.hops)
    rate = (last.hops - middle.hops) / max(last.now_ps - middle.now_ps, 1)
    return max(math.sqrt(expected_hops * (last.hops + rate * (duration_ps - last.now_ps))), last.hops)


def _with_repeats(scenario: "Scenario", before: "Answer", after: "Answer") -> float:
    """The packet-hops of a run that ends with its flows, if each packet still to be delivered costs as many
    as those did that were delivered between `before` and `after`.

    Packets in flight cancel out, so only packets that are sent again count several times.
    """
    packets = _delivered(scenario, after)
    hops, delivered = after["packet_hops"] - before["packet_hops"], packets - _delivered(scenario, before)
    left = _packets(scenario, scenario.flows.bytes) - packets
    return after["packet_hops"] + left * hops / max(delivered, 1)


def _is_dearer(scenario: "Scenario", answer: "Answer", expected_hops: float) -> bool:
    """True if delivered packets cost more packet-hops than their routes have, or some were sent again."""
    delivered = max(_delivered(scenario, answer), 1)
    needed = answer["packet_hops"] / delivered * _packets(scenario, scenario.flows.bytes)
    return needed > DEARER * expected_hops or float(answer["flows"]["retransmits"].sum()) > AGAIN * delivered


def _delivered(scenario: "Scenario", answer: "Answer") -> float:
    return _packets(scenario, answer["flows"]["delivered_bytes"])


def _packets(scenario: "Scenario", of_bytes: "U64") -> float:
    return float(np.sum(np.ceil(of_bytes / scenario.frame.payload)))


def _request(scenario: "Scenario") -> "Request":
    """The request of a scenario whose algorithms all start at time 0, without code of a user."""
    from shallows.worlds.packet import request

    asked, flows = request(scenario), scenario.flows
    starts = flows.start_ps.copy()
    for cc in range(len(flows.ccs)):
        its = (flows.cc == cc) & (starts != NEVER)
        if its.any():
            starts[its] -= starts[its].min()
    asked["flows"]["start_ps"] = starts
    for cc in asked["ccs"]:
        if "user_algorithm" in cc:
            cc["user_algorithm"] = Aimd
    return asked
