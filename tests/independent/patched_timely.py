"""Patched TIMELY on one bottleneck, written from the text of the paper: Zhu et al., "ECN or Delay", CoNEXT
2016, §4 and Algorithm 2. It shares no code with Shallows.

Each flow paces frames at its rate. They cross its own link, which is as fast as the bottleneck, and the
bottleneck, a FIFO without a limit. The last frame of a segment is acknowledged; the round trip of this frame,
without the time to send it, is the sample. Times in seconds, rates in bits a second.
"""

import heapq
from dataclasses import dataclass

ALPHA, BETA, DELTA = 0.875, 0.008, 10e6
T_HIGH, D_MIN_RTT = 500e-6, 20e-6


@dataclass
class Flow:
    """What a sender keeps."""

    rate: float
    link_free: float = 0.0
    frames: int = 0
    delivered: int = 0
    previous: float = -1.0
    difference: float = 0.0
    updated: float = -1.0

    def update(self, now, rtt, t_low, capacity):
        """Algorithm 2, at most once in D_minRTT (eq. 23)."""
        if now - self.updated < D_MIN_RTT:
            return
        self.updated = now
        new_difference = rtt - self.previous if self.previous >= 0 else 0.0
        self.previous = rtt
        self.difference = (1 - ALPHA) * self.difference + ALPHA * new_difference
        gradient = self.difference / D_MIN_RTT
        if rtt < t_low:
            self.rate += DELTA
        elif rtt > T_HIGH:
            self.rate *= 1 - BETA * (1 - T_HIGH / rtt)
        else:
            weight = min(1.0, max(0.0, 2 * gradient + 0.5))
            error = (rtt - t_low) / t_low
            self.rate = DELTA * (1 - weight) + self.rate * (1 - BETA * weight * error)
        self.rate = min(capacity, max(10e6, self.rate))


def simulate(starts, rates, duration, warmup, *, capacity=10e9, rtt=4e-6, t_low=50e-6, seg=16e3, payload=1000,
             header=48):  # fmt: skip
    """Mean goodput of each flow in Gbps and mean queue in frames, after `warmup`."""
    wire = 8 * (payload + header)
    frame_s, ack_s = wire / capacity, 8 * 84 / capacity
    leg = rtt / 6
    per_segment = int(seg // payload)
    flows = [Flow(rate) for rate in rates]
    events = [(start, i, "send", i, 0.0) for i, start in enumerate(starts)]
    heapq.heapify(events)
    free, area, order = 0.0, 0.0, len(starts)
    while events:
        now, _, kind, i, sent = heapq.heappop(events)
        if now > duration:
            break
        flow, order = flows[i], order + 1
        if kind == "ack":
            # The way back: three links for the acknowledgement and the propagation; nothing waits there.
            flow.update(now, now - sent - payload * 8 / capacity, t_low, capacity)
            continue
        if kind == "send":
            heapq.heappush(events, (now + wire / flow.rate, order, "send", i, 0.0))
            flow.link_free = max(now, flow.link_free) + frame_s
            heapq.heappush(events, (flow.link_free + leg, order, "arrive", i, now))
            continue
        begins = max(now, free)
        free = begins + frame_s
        flow.frames += 1
        flow.delivered += warmup < free <= duration
        area += max(0.0, min(free, duration) - max(now, warmup))
        if flow.frames % per_segment == 0:
            back = free + leg + frame_s + leg + 3 * ack_s + 3 * leg
            heapq.heappush(events, (back, order, "ack", i, sent))
    span = duration - warmup
    return [flow.delivered * payload * 8 / span / 1e9 for flow in flows], area / span
