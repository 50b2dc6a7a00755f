"""Swift on one bottleneck, written from the text of the paper: Kumar et al., SIGCOMM 2020, §3.2 (Algorithm 1)
and §3.5 (flow scaling), with the parameters of google/isekai. It shares no code with Shallows.

Packets join the queue of the bottleneck at once, and propagation follows it. Endpoints take no time. Times in
seconds.
"""

import heapq
import math
import random
from dataclasses import dataclass

AI, BETA, MAX_MDF = 1.0, 0.8, 0.5
RANGE, LEAST, MOST = 100e-6, 0.1, 256


def target(window, base):
    """Target delay of §3.5; `base` includes the hops."""
    alpha = RANGE / (LEAST**-0.5 - MOST**-0.5)
    return base + max(0.0, min(alpha / math.sqrt(window) - alpha * MOST**-0.5, RANGE))


@dataclass
class Flow:
    """What a sender keeps. `spare` of a packet makes 5.7 packets 6 in seven rounds of ten."""

    window: float = 10.0
    in_flight: int = 0
    decreased: float = -1.0
    round_began: float = 0.0
    spare: float = 0.0

    def on_ack(self, now, delay, base):
        """Algorithm 1 for an acknowledgement of one packet."""
        self.in_flight -= 1
        aim = target(self.window, base)
        if delay < aim:
            self.window += AI / self.window if self.window >= 1 else AI
        elif now - self.decreased >= delay:
            self.window *= max(1 - BETA * (delay - aim) / delay, 1 - MAX_MDF)
            self.decreased = now


def mean_round_trip(flows, duration, *, link=100e9, frame=1000, empty=12.5e-6, base=30e-6, seed=1):
    """Mean round trip of the second half, in seconds."""
    draws, packet_s = random.Random(seed), frame * 8 / link
    senders = [Flow() for _ in range(flows)]
    events = [(draws.uniform(0, 20e-6), i, None) for i in range(flows)]
    heapq.heapify(events)
    free, samples = 0.0, []
    while events:
        now, i, sent = heapq.heappop(events)
        if now > duration:
            break
        flow = senders[i]
        if sent is not None:
            flow.on_ack(now, now - sent, base)
            samples += [now - sent] * (now > duration / 2)
            if sent >= flow.round_began:
                flow.round_began, flow.spare = now, draws.random()
        while flow.in_flight < max(1, math.floor(flow.window + flow.spare)):
            flow.in_flight += 1
            free = max(free, now) + packet_s
            heapq.heappush(events, (free + empty - packet_s, i, now))
    return sum(samples) / len(samples)
