"""The link of windows in flight: acknowledgements clock packets out, so that path and queue hold all windows.

q' = (N W - C R - q)/(N/C): where windows grow by some packets the queue has as many more within the time
between two answers to a flow, N/C. DCTCP's q' = N W/(R + q/C) - C has the same rest, but its queue follows
a window only in a round trip. Packets do not have this lag: queues of five Swift flows at 100 Gbps swing
with a period of 121 us as packets, 112 us by the root of this link, and 180 us by that of the other
(docs/fluid.md).
"""

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
    return (total - C) * round_trip(q, C, R) * C / flows
