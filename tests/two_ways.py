"""DX with data both ways, simulated apart from Shallows: plain FIFOs, equations 1 and 8, no slow start.

Flows cross host, switch, switch, host, each host's cable its own; links of 10 Gbps, 200 us there and back.
"""

import heapq
import itertools
import random
from dataclasses import dataclass

DATA_S, ACK_S = 1500 * 8 / 10e9, 64 * 8 / 10e9
CABLE_S, CORE_S = 10e-6, 80e-6
BASE_DELAY_S = 2 * CABLE_S + CORE_S + 3 * DATA_S
BASE_RTT_S = 4 * CABLE_S + 2 * CORE_S + 3 * (DATA_S + ACK_S)


@dataclass
class Flow:
    """A window and its round."""

    number: int
    way: int
    window: float = 2.0
    in_flight: int = 0
    round_began: float = 0.0
    delays: float = 0.0
    samples: int = 0

    def on_ack(self, now, sent, delay, headroom):
        self.in_flight -= 1
        self.delays += delay
        self.samples += 1
        if sent < self.round_began:
            return
        queueing = self.delays / self.samples - BASE_DELAY_S
        if queueing > headroom + 1e-12:
            self.window = max(1.0, self.window - (self.window - 1) * queueing / BASE_RTT_S)
        else:
            self.window += 1
        self.delays, self.samples, self.round_began = 0.0, 0, now


def used(flows, ways, headroom=0.0, acks_wait=True, duration=0.06, seed=1):
    """The share of the core that data takes each way, over the last two thirds."""
    random_start = random.Random(seed)
    numbers, events, busy_until, sent_after = itertools.count(), [], {}, [0, 0]

    def at(time, kind, flow, hop=0, sent=None, delay=None):
        heapq.heappush(events, (time, next(numbers), kind, flow, hop, sent, delay))

    def fill(now, flow):
        while flow.in_flight < int(flow.window):
            flow.in_flight += 1
            at(now, "data", flow)

    for way, number in itertools.product(range(ways), range(flows)):
        at(random_start.random() * 0.01, "start", Flow(number, way))
    while events and events[0][0] <= duration:
        now, _, kind, flow, hop, sent, delay = heapq.heappop(events)
        if kind == "start":
            fill(now, flow)
        elif hop == 3 and kind == "data":
            at(now, "ack", flow, 0, sent, now - sent)
        elif hop == 3:
            flow.on_ack(now, sent, delay, headroom)
            fill(now, flow)
        else:
            link = (flow.way ^ (kind == "ack"), hop, flow.number if hop != 1 else None)
            waits = kind == "data" or acks_wait
            begins = max(now, busy_until.get(link, 0.0)) if waits else now
            ends = begins + (DATA_S if kind == "data" else ACK_S)
            if waits:
                busy_until[link] = ends
            if hop == 0 and kind == "data":
                sent = begins
            sent_after[flow.way] += hop == 1 and kind == "data" and now > duration / 3
            at(ends + (CORE_S if hop == 1 else CABLE_S), kind, flow, hop + 1, sent, delay)
    return [packets * DATA_S / (duration * 2 / 3) for packets in sent_after[:ways]]
