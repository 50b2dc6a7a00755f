"""ExpressPass on one bottleneck, written from the text of the paper: Cho, Jang and Han, SIGCOMM 2017, §3 and
eq. 2 to 5. It shares no code with Shallows.

Receivers pace credits. A credit passes the receiver's own port and that of the bottleneck, each a token
bucket of two credits with room for eight; one more is dropped. Each credit that gets through calls one frame,
which crosses the bottleneck back to the receiver. Rates are in credits a second.
"""

import heapq
import random
from dataclasses import dataclass, field

CREDIT, FRAME = 84, 1538
W_MAX = 0.5


@dataclass
class Port:
    """Token bucket for credits: `rate` in bytes a second, a depth of `burst` credits, room for `room`."""

    rate: float
    burst: int = 2
    room: int = 8
    tokens: float = 0.0
    at: float = 0.0
    waiting: list = field(default_factory=list)

    def leaves(self, now, size):
        """When a credit that arrives now leaves; None if the queue is full."""
        self.waiting = [at for at in self.waiting if at > now]
        if len(self.waiting) >= self.room:
            return None
        start = max(now, self.at)
        tokens = min(self.burst * CREDIT, self.tokens + (start - self.at) * self.rate)
        wait = max(0.0, size - tokens) / self.rate
        self.at, self.tokens = start + wait, tokens + wait * self.rate - size
        if self.at > now:
            self.waiting.append(self.at)
        return self.at


@dataclass
class Flow:
    """What a receiver keeps for one flow."""

    start: float
    rate: float
    w: float
    port: Port
    rising: bool = False
    next_number: int = 0
    expected: int = 0
    sent: int = 0
    lost: int = 0
    rtt: float = 0.0
    period: float = 0.0
    delivered: int = 0
    area: float = 0.0
    since: float = 0.0

    def on_data(self, now, number, granted):
        lost = number - self.expected
        self.lost, self.sent, self.expected = self.lost + lost, self.sent + lost + 1, number + 1
        self.rtt += (1 if self.rtt == 0 else 0.2) * (now - granted - self.rtt)

    def update(self, now, top, target_loss, w_min):
        """Algorithm 1, once a round trip. What got through is counted, not computed from today's rate."""
        span = now - self.period
        if self.sent == 0 or span < self.rtt:
            return
        loss, through = self.lost / self.sent, (self.sent - self.lost) / span
        if loss <= target_loss:
            if self.rising:
                self.w = (self.w + W_MAX) / 2
            self.rate = (1 - self.w) * self.rate + self.w * top * (1 + target_loss)
        else:
            self.rate = through * (1 + target_loss)
            self.w = max(self.w / 2, w_min)
        self.rising = loss <= target_loss
        self.rate = max(self.rate, 1 / self.rtt)
        self.sent = self.lost = 0
        self.period = now


def simulate(flows, rtt, duration, warmup, *, link=10e9, seed=1, target_loss=0.1, w_min=0.01, w_init=0.5,
             alpha=0.5, jitter=0.1, spread=8, stagger=0.0):  # fmt: skip
    """Share of the link, Jain's index, largest queue in frames, mean credit rates by max_rate."""
    draw = random.Random(seed)
    bytes_per_s = link / 8 * CREDIT / (CREDIT + FRAME)
    top = bytes_per_s / CREDIT
    frame_s, leg = FRAME * 8 / link, rtt / 4
    ports = [Flow(i * stagger, alpha * top, w_init, Port(bytes_per_s)) for i in range(flows)]
    shared, free_at, longest, order = Port(bytes_per_s), 0.0, 0.0, 0
    events = [(flow.start, i, "credit", i, 0, 0.0, 0) for i, flow in enumerate(ports)]
    while events:
        now, _, kind, i, number, granted, size = heapq.heappop(events)
        if now > duration:
            break
        flow, then = ports[i], None
        order += 1
        if kind == "credit":
            flow.area += flow.rate * max(0.0, now - max(flow.since, warmup))
            flow.since = now
            flow.update(now, top, target_loss, w_min)
            size = CREDIT - spread + int(draw.random() * (2 * spread + 1))
            gap = (1 + jitter * (2 * draw.random() - 1)) / flow.rate
            heapq.heappush(events, (now + gap, order + flows, "credit", i, 0, 0.0, 0))
            leaves = flow.port.leaves(now, size)
            if leaves is not None:
                then = (leaves + leg, "shared", flow.next_number, now)
            flow.next_number += 1
        elif kind == "shared":
            leaves = shared.leaves(now, size)
            if leaves is not None:
                then = (leaves + 2 * leg, "frame", number, granted)
        elif kind == "frame":
            free_at = max(free_at, now) + frame_s
            if now > warmup:
                longest = max(longest, (free_at - now) / frame_s)
            then = (free_at + leg, "data", number, granted)
        else:
            flow.on_data(now, number, granted)
            flow.delivered += now > warmup
        if then:
            heapq.heappush(events, (then[0], order, then[1], i, then[2], then[3], size))
    rates = [flow.delivered * FRAME * 8 / (duration - warmup) for flow in ports]
    jain = sum(rates) ** 2 / flows / sum(rate**2 for rate in rates)
    return sum(rates) / link, jain, longest, [flow.area / top / (duration - warmup) for flow in ports]
