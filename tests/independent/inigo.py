"""TCP Inigo on one bottleneck, written from the text of the paper: its sender (Algorithms 1, 2, 4 and 7, eq.
3 and 5; Algorithms 5 and 7 to the letter with `printed`), and its marking receiver (Algorithm 8) under a
DCTCP sender. It shares no code with Shallows.

A star: data crosses the sender's own link and that of the receiver, both equally fast; acknowledgements
return without a wait. The port marks above `mark_at` packets. Clocks tick with `tick`. Times in seconds.
"""

import heapq
from dataclasses import dataclass
from math import ceil, floor

GAIN, LATE, W_SUB, SAMPLES = 1 / 16, 0.17, 10, 10
ALPHA_MIN = (ceil(2 * 1024 / W_SUB) + ceil(2 * 1024 / W_SUB) % 2) / 1024


@dataclass
class Receiver:
    """Algorithm 8: the sum of relative forward delays, in ticks; late by d_thresh = 0.17 RTT_min."""

    tick: float
    printed: bool
    rtt_min: float = 1e9
    before: tuple | None = None
    total: int = 0

    def late(self, now, stamp, echo):
        """Whether one sent at `stamp` that echoes `echo` is late; as printed, echoes stand for arrivals."""
        if echo is None:
            return False
        self.rtt_min = min(self.rtt_min, now - echo)
        sent, arrived = floor(stamp / self.tick), floor((echo if self.printed else now) / self.tick)
        if self.before is not None and (sent, arrived) != self.before:
            self.total = max(0, self.total + (arrived - self.before[1]) - (sent - self.before[0]))
        self.before = sent, arrived
        return self.total > 0 and self.total * self.tick >= LATE * self.rtt_min


@dataclass
class Flow:
    """What a sender keeps: `alpha` of late round trips (Inigo), or of marked packets (DCTCP)."""

    dctcp: bool
    receiver: Receiver | None
    printed: int | None = None
    window: float = 10.0
    alpha: float = 0.0
    slow_start: bool = True
    in_flight: int = 0
    link_free: float = 0.0
    round_began: float = 0.0
    rtt_min: float = 1e9
    observed: int = 0
    late: int = 0
    since: int = 0
    cut: bool = False
    echo: float | None = None
    area: float = 0.0
    seen: float = 0.0

    def on_ack(self, now, stamp, marked):
        self.in_flight -= 1
        self.rtt_min = min(self.rtt_min, now - stamp)
        over = now - stamp >= self.rtt_min * (1 + LATE) and now - stamp > self.rtt_min
        self.observed, self.late = self.observed + 1, self.late + (marked if self.dctcp else over)
        if stamp >= self.round_began:
            self.alpha += GAIN * (self.late / self.observed - self.alpha)
            self.observed, self.late, self.cut, self.round_began = 0, 0, False, now
            if self.printed and not self.slow_start:
                self.end_window()
        if self.dctcp:
            self.as_dctcp(marked)
        elif self.slow_start:
            self.window += 1
            if self.observed >= SAMPLES:  # Algorithm 4
                self.alpha += GAIN * (self.late / self.observed - self.alpha)
                if self.alpha > 0:
                    self.window, self.slow_start = max(2.0, self.window * (1 - self.alpha / 2)), False
        elif self.printed != 5:
            self.since += 1
            if self.since >= min(W_SUB, self.window):  # Algorithm 7, whole packets of sub-windows (eq. 5)
                if self.alpha >= ALPHA_MIN and (not self.printed or self.window > W_SUB):
                    self.window = max(2.0, self.window - floor(min(self.since, W_SUB) * self.alpha / 2))
                self.since = 0
            self.window += 0 if self.printed else 2 / self.window

    def end_window(self):
        """The lines "for every window" of Algorithms 5 and 7."""
        if self.printed == 5:
            self.window = max(2.0, self.window * (1 - self.alpha / 2)) + (self.alpha > 0)
        else:
            self.window += 2

    def as_dctcp(self, marked):
        if marked and not self.cut:
            self.window = max(2.0, self.window * (1 - self.alpha / 2))
            self.slow_start, self.cut = False, True
        elif not self.cut:
            self.window += 1 if self.slow_start else 1 / self.window


def simulate(starts, duration, warmup, *, dctcp=False, receiver=None, tick=1e-3, link=500e6, rtt=4e-3,
             size=1500, ack=84, mark_at=1e9, printed=None):  # fmt: skip
    """Mean window of each flow in packets, share of the link, and mean queue in packets, after `warmup`."""
    data_s, ack_s, leg = size * 8 / link, ack * 8 / link, rtt / 4
    flows = [
        Flow(dctcp, receiver and Receiver(tick, receiver == "printed"), printed, alpha=float(dctcp))
        for _ in starts
    ]
    events = [(start, i, "start", i, None, None, False) for i, start in enumerate(starts)]
    heapq.heapify(events)
    free, area, busy, order = 0.0, 0.0, 0.0, len(starts)
    while events:
        now, _, kind, i, stamp, echo, marked = heapq.heappop(events)
        if now > duration:
            break
        flow, order = flows[i], order + 1
        if kind == "arrive":
            begins = max(now, free)
            marked = (free - now) / data_s > mark_at
            free = begins + data_s
            busy += max(0.0, min(free, duration) - max(begins, warmup))
            area += max(0.0, min(free, duration) - max(now, warmup))
            received = free + leg
            if flow.receiver:
                marked |= flow.receiver.late(received, stamp, echo)
            back = received + 2 * (leg + ack_s)
            heapq.heappush(events, (back, order, "ack", i, stamp, received, marked))
            continue
        flow.area += floor(flow.window) * max(0.0, now - max(flow.seen, warmup))
        flow.seen = now
        if kind == "ack":
            flow.echo = echo
            flow.on_ack(now, stamp, marked)
        while flow.in_flight < floor(flow.window):
            flow.in_flight += 1
            flow.link_free = max(now, flow.link_free) + data_s
            order += 1
            heapq.heappush(events, (flow.link_free + leg, order, "arrive", i, now, flow.echo, False))
    span = duration - warmup
    return [flow.area / span for flow in flows], busy / span, area / span
