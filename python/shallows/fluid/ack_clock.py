"""The link of windows in flight: acknowledgements clock packets out, so that path and queue hold all windows.

q' = (N W - C R - q)/(N/C): where windows grow by some packets the queue has as many more within the time
between two answers to a flow, N/C. DCTCP's q' = N W/(R + q/C) - C has the same rest, but its queue follows
a window only in a round trip. Packets do not have this lag: queues of five Swift flows at 100 Gbps swing
with a period of 121 us as packets, 112 us by the root of this link, and 180 us by that of the other
(docs/fluid.md). So the link receives what leaves and q' more, and at least nothing; W/T is the mean of a
round trip, not of the moment.
"""

import numpy as np

from shallows.core.contract import F64
from shallows.fluid.model import Model
from shallows.fluid.system import equations


@equations
def round_trip(q: float, C: float, R: float) -> float:
    return R + q / C


@equations
def sending(W: float, q: float, C: float, R: float) -> float:
    """A window in each round trip."""
    return W / round_trip(q, C, R)


@equations
def queue_change(q: float, total: float, C: float, R: float, flows: float) -> float:
    """What arrives more than leaves, in pkt/s: `total` sums the windows over their round trip."""
    change = (total - C) * round_trip(q, C, R) * C / flows
    if change.real < -C:
        change = -C + 0.0 * change
    return change


class AckClocked(Model):
    """A model with this link."""

    @property
    def fastest_s(self) -> float:
        """Between two answers to a flow, which is how fast the queue follows the windows."""
        return self.flows * self.unit_bits / self.rate

    def arriving_bps(self, queue_bytes: F64, total_bps: F64) -> F64:
        """What arrives: what an empty link can send, else what leaves it and the change of its queue."""
        trip_s = self.delay + 8 * queue_bytes / self.rate
        change_bps = (total_bps - self.rate) * trip_s * self.rate / self.unit_bits / self.flows
        clocked_bps = np.maximum(self.rate + change_bps, 0.0)
        return np.where((queue_bytes > 0) | (total_bps > self.rate), clocked_bps, total_bps)
