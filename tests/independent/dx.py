"""DX on one bottleneck, written from the text of the paper: Lee et al., IEEE/ACM ToN 25(1), 2017, §III, eq. 1
and 8. It shares no code with Shallows.

Data crosses the sender's own link, the bottleneck and the receiver's link. Acknowledgements return without a
wait in a queue. Once a round trip a window grows by a packet, or is cut by Q/V. Times in seconds.
"""

import heapq
import random
from dataclasses import dataclass, field


@dataclass
class Flow:
    """What a sender keeps. The base delay is that of the smallest round trip (§III)."""

    window: float
    draw: random.Random | None = None
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
    pending: list = field(default_factory=list)
    dither: float = 0.0

    def on_ack(self, now, ack, headroom, answer_once):
        """At the end of a round, eq. 1 with V of eq. 8, where W* is the window of now.

        ack: how long the newest packet was held, and departure and delay of each packet.
        """
        held, packets = ack
        sent, delay, count = packets[-1][0], sum(one for _, one in packets) / len(packets), len(packets)
        self.in_flight -= count
        rtt = now - sent - held
        if rtt <= self.base_rtt:
            self.base_rtt, self.base_delay = rtt, delay
        if sent >= self.answered or not answer_once:
            self.delays, self.samples = self.delays + count * delay, self.samples + count
        self.window += count * self.slow_start
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
        if self.draw:
            self.dither = self.draw.random()


def simulate(starts, duration, warmup, *, link=10e9, rtt=200e-6, headroom=0.0, size=1500, ack=84, window=10,
             answer_once=True, edge=None, acks_every=1, ack_delay=0.0, seed=None):  # fmt: skip
    """Mean window of each flow in packets, share of the link, and mean queue in packets, after `warmup`.

    edge: rate of the hosts' links, if it is not that of the bottleneck. acks_every, ack_delay: packets that
    an acknowledgement covers, and how long the first of them waits for the others. seed: of the draws by
    which the fraction of a window is a packet in some rounds, if it is.
    """
    edge = edge or link
    data_s, ack_s, leg, edge_s = size * 8 / link, ack * 8 / link, rtt / 6, size * 8 / edge
    draw = None if seed is None else random.Random(seed)
    flows = [Flow(window, draw) for _ in starts]
    events = [(start, i, "start", i, None) for i, start in enumerate(starts)]
    heapq.heapify(events)
    free, area, busy, order = 0.0, 0.0, 0.0, len(starts)
    while events:
        now, _, kind, i, what = heapq.heappop(events)
        if now > duration:
            break
        flow, order = flows[i], order + 1
        if kind == "arrive":
            begins = max(now, free)
            free = begins + data_s
            busy += max(0.0, min(free, duration) - max(begins, warmup))
            area += max(0.0, min(free, duration) - max(now, warmup))
            heapq.heappush(events, (free + leg + edge_s + leg, order, "receive", i, what))
            continue
        if kind in ("receive", "timer"):
            pending = flow.pending
            if kind == "receive":
                pending.append((what, now))
            if len(pending) >= acks_every or (kind == "timer" and pending and pending[0][1] == what):
                covered = now - pending[-1][1], [(sent, came - sent) for sent, came in pending]
                heapq.heappush(
                    events, (now + 3 * leg + ack_s + 2 * ack_s * link / edge, order, "ack", i, covered)
                )
                pending.clear()
            elif kind == "receive" and len(pending) == 1:
                heapq.heappush(events, (now + ack_delay, order, "timer", i, now))
            continue
        flow.area += int(flow.window) * max(0.0, now - max(flow.since, warmup))
        flow.since = now
        if kind == "ack":
            flow.on_ack(now, what, headroom, answer_once)
        while flow.in_flight < int(flow.window + flow.dither):
            flow.in_flight += 1
            left = max(now, flow.link_free)
            flow.link_free = left + edge_s
            order += 1
            heapq.heappush(events, (flow.link_free + leg, order, "arrive", i, left))
    span = duration - warmup
    return [flow.area / span for flow in flows], busy / span, area / span
