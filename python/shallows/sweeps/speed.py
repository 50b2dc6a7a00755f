"""Speed of a scenario on this machine: time of its set-up and of a packet-hop, measured in its first events.

The time of a packet-hop depends on the algorithm, on the flows per NIC, on the classes of ports, and on the
size of the state beside the caches. So the first events of the scenario itself are simulated. Algorithms in
Python are replaced by `Aimd`: a user's code is called by its own run only.
"""

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from shallows import _core
from shallows.units import NEVER

if TYPE_CHECKING:
    from shallows.contract import Request
    from shallows.scenario import Scenario

LEAST_S = 0.05
"""CPU seconds to measure, at least. The core reports every 500,000 events, the set-up before the first."""


class Speed(NamedTuple):
    """CPU seconds of the set-up and of a packet-hop; the packet-hops if the measurement was the whole run."""

    setup_s: float
    hop_s: float
    hops: int | None = None


TYPICAL = Speed(0, 100e-9)
"""The speed of a scenario that cannot be measured, by bench/README.md."""


class _MeasuredError(Exception):
    """Ends a run whose speed is known."""


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


def measured(scenario: "Scenario") -> Speed:
    """The `Speed` of a scenario in the packet world on one thread."""
    reports: list[tuple[float, int]] = []

    def hear(_now_ps: int, hops: int, _finished: int) -> None:
        reports.append((time.thread_time(), hops))
        if reports[-1][0] - reports[0][0] > LEAST_S:
            raise _MeasuredError

    request, began = _request(scenario), time.thread_time()
    try:
        answer = _core.simulate(request, hear, 1)
    except _MeasuredError:
        (first_s, first), (last_s, last) = reports[0], reports[-1]
        hop_s = (last_s - first_s) / max(last - first, 1)
        return Speed(max(first_s - began - first * hop_s, 0), hop_s)
    except (ValueError, _core.Bug):
        return TYPICAL  # its run reports the reason
    if answer["interrupted"]:
        raise KeyboardInterrupt
    hops, took = answer["packet_hops"], time.thread_time() - began
    return Speed(0, took / max(hops, 1), hops)


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
