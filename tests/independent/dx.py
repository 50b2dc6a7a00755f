"""DX on one bottleneck, written from the text of the paper: Lee et al., IEEE/ACM ToN 25(1), 2017, §III, eq. 1
and 8. It shares no code with Shallows.

Data crosses the sender's own link, the bottleneck and the receiver's link, all equally fast. Acknowledgements
return without a wait. Once a round trip a window grows by a packet, or is cut by Q/V. Times in seconds.
"""

import heapq
from dataclasses import dataclass


@dataclass
class Flow:
    """What a sender keeps. The base delay is that of the smallest round trip (§III)."""

    window: float
    in_flight: int = 0
    link_free: float = 0.0
    slow_start: bool = True
    round_began: float = 0.0
    answered: float = 0.0
    delays: float = 0.0
    samples: int = 0
    base_rtt: float = 1e9
    base_delay: float = 1e9
    area: float = 0.0
    since: float = 0.0

    def on_ack(self, now, sent, delay, headroom, answer_once):
        """At the end of a round, eq. 1 with V of eq. 8, where W* is the window of now."""
        self.in_flight -= 1
        if now - sent <= self.base_rtt:
            self.base_rtt, self.base_delay = now - sent, delay
        if sent >= self.answered or not answer_once:
            self.delays, self.samples = self.delays + delay, self.samples + 1
        self.window += self.slow_start
        if sent < self.round_began or self.samples == 0:
            return
        queueing = self.delays / self.samples - self.base_delay
        if queueing > headroom + 1e-12:
            self.slow_start = False
            if self.window > 1:
                v = self.base_rtt * self.window / (self.window - 1)
                self.window = max(1.0, self.window * (1 - queueing / v))
            self.answered = now + self.base_rtt
        elif not self.slow_start:
            self.window += 1
        self.delays, self.samples, self.round_began = 0.0, 0, now


def simulate(starts, duration, warmup, *, link=10e9, rtt=200e-6, headroom=0.0, size=1500, ack=84, window=10,
             answer_once=True):  # fmt: skip
    """Mean window of each flow in packets, share of the link, and mean queue in packets, after `warmup`."""
    data_s, ack_s, leg = size * 8 / link, ack * 8 / link, rtt / 6
    flows = [Flow(window) for _ in starts]
    events = [(start, i, "start", i, 0.0, 0.0) for i, start in enumerate(starts)]
    heapq.heapify(events)
    free, area, busy, order = 0.0, 0.0, 0.0, len(starts)
    while events:
        now, _, kind, i, sent, delay = heapq.heappop(events)
        if now > duration:
            break
        flow, order = flows[i], order + 1
        if kind == "arrive":
            begins = max(now, free)
            free = begins + data_s
            busy += max(0.0, min(free, duration) - max(begins, warmup))
            area += max(0.0, min(free, duration) - max(now, warmup))
            received = free + leg + data_s + leg
            back = received + 3 * (leg + ack_s)
            heapq.heappush(events, (back, order, "ack", i, sent, received - sent))
            continue
        flow.area += int(flow.window) * max(0.0, now - max(flow.since, warmup))
        flow.since = now
        if kind == "ack":
            flow.on_ack(now, sent, delay, headroom, answer_once)
        while flow.in_flight < int(flow.window):
            flow.in_flight += 1
            left = max(now, flow.link_free)
            flow.link_free = left + data_s
            order += 1
            heapq.heappush(events, (flow.link_free + leg, order, "arrive", i, left, 0.0))
    span = duration - warmup
    return [flow.area / span for flow in flows], busy / span, area / span
