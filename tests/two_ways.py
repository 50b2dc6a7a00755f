"""DX with data both ways, simulated apart from Shallows: plain FIFOs, equations 1 and 8, no slow start.

Flows cross host, switch, switch, host, each host's cable its own; links of 10 Gbps, 200 us there and back.
With `rides` the acknowledgements of a flow leave on data of the flow the other way, or alone if `alone` of
them wait and no data is about to leave.

    python tests/two_ways.py        the numbers of docs/windows.md
"""

import heapq
import itertools
import random
from dataclasses import dataclass, field

DATA_S, ACK_S = 1500 * 8 / 10e9, 64 * 8 / 10e9
CABLE_S, CORE_S = 10e-6, 80e-6
BASE_DELAY_S = 2 * CABLE_S + CORE_S + 3 * DATA_S
BASE_RTT_S = 4 * CABLE_S + 2 * CORE_S + 3 * (DATA_S + ACK_S)
ACK_DELAY_S = 500e-6
HEADROOM_S = 2.401e-6


@dataclass
class Flow:
    """A window and its round. owed: (sent, delay) of packets that its receiver has not acknowledged."""

    number: int
    way: int
    window: float
    in_flight: int = 0
    waiting: int = 0
    round_began: float = 0.0
    delays: float = 0.0
    samples: int = 0
    owed: list = field(default_factory=list)
    partner: "Flow | None" = None

    def on_ack(self, now, packets, headroom):
        self.in_flight -= len(packets)
        self.delays += sum(delay for _, delay in packets)
        self.samples += len(packets)
        if packets[-1][0] < self.round_began:
            return
        queueing = self.delays / self.samples - BASE_DELAY_S
        if queueing > headroom + 1e-12:
            self.window = max(1.0, self.window - (self.window - 1) * queueing / BASE_RTT_S)
        else:
            self.window += 1
        self.delays, self.samples, self.round_began = 0.0, 0, now

    def take_owed(self):
        owed, self.owed = self.owed, []
        return owed


@dataclass
class Outcome:
    """used: the share of the core that data takes each way. alone: frames of acks per frame of data."""

    used: list[float]
    alone: float
    windows: list[float]


def used(flows, ways, **more):
    return simulate(flows, ways, **more).used


def simulate(
    flows, ways, *, headroom=0.0, acks_wait=True, rides=False, alone=2, window=2.0, duration=0.06, seed=1
):
    """Runs flows that start within 10 ms, and measures the last two thirds."""
    random_start = random.Random(seed)
    numbers, events, busy_until, sent_after, acks = itertools.count(), [], {}, [0, 0], 0
    every = [Flow(number, way, window) for way, number in itertools.product(range(ways), range(flows))]

    def at(time, kind, flow, hop=0, sent=None, packets=()):
        heapq.heappush(events, (time, next(numbers), kind, flow, hop, sent, packets))

    def fill(now, flow):
        while flow.in_flight < int(flow.window):
            flow.in_flight += 1
            flow.waiting += 1
            if flow.waiting == 1:
                at(now, "data", flow)

    def on_data(now, flow, sent, packets):
        flow.owed.append((sent, now - sent))
        if packets:
            flow.partner.on_ack(now, packets, headroom)
            fill(now, flow.partner)
        if not flow.partner or (not flow.partner.waiting and len(flow.owed) >= alone):
            at(now, "ack", flow, packets=flow.take_owed())
        elif len(flow.owed) == 1:
            at(now + ACK_DELAY_S, "delayed", flow, sent=sent)

    for i, flow in enumerate(every):
        flow.partner = every[(i + flows) % len(every)] if rides else None
        at(random_start.random() * 0.01, "start", flow)
    while events and events[0][0] <= duration:
        now, _, kind, flow, hop, sent, packets = heapq.heappop(events)
        if kind == "start":
            fill(now, flow)
        elif kind == "delayed":
            if flow.owed and flow.owed[0][0] == sent:
                at(now, "ack", flow, packets=flow.take_owed())
        elif hop == 3 and kind == "data":
            on_data(now, flow, sent, packets)
        elif hop == 3:
            flow.on_ack(now, packets, headroom)
            fill(now, flow)
        else:
            link = (flow.way ^ (kind == "ack"), hop, flow.number if hop != 1 else None)
            waits = kind == "data" or acks_wait
            begins = max(now, busy_until.get(link, 0.0)) if waits else now
            if begins > now and hop == 0 and kind == "data":
                at(begins, "data", flow)
                continue
            ends = begins + (DATA_S if kind == "data" else ACK_S)
            if waits:
                busy_until[link] = ends
            if hop == 0 and kind == "data":
                sent, packets = begins, flow.partner.take_owed() if flow.partner else ()
                flow.waiting -= 1
                if flow.waiting:
                    at(ends, "data", flow)
            sent_after[flow.way] += hop == 1 and kind == "data" and now > duration / 3
            acks += hop == 0 and kind == "ack" and now > duration / 3
            at(ends + (CORE_S if hop == 1 else CABLE_S), kind, flow, hop + 1, sent, packets)
    shares = [packets * DATA_S / (duration * 2 / 3) for packets in sent_after[:ways]]
    return Outcome(shares, acks / sum(sent_after), [flow.window for flow in every])


if __name__ == "__main__":
    for flows, window in ((2, 60.0), (10, 12.0)):
        for alone, seed in itertools.product((2, 10**9), (1, 2)):
            more = {"headroom": HEADROOM_S, "window": window, "seed": seed}
            found = simulate(flows, 2, rides=True, alone=alone, **more)
            print(flows, alone, seed, [round(one, 3) for one in (*found.used, found.alone, *found.windows)])
