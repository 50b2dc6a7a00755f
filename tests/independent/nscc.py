"""NSCC of Ultra Ethernet 1.0.3 (§3.6.13, table 3-82) over one bottleneck that drops at its tail, with one
timer for each packet: RTO_INIT 2^retries of this packet. With `silence` and `reordering` it repairs as MRC.

It shares no code with Shallows. Senders with a NIC each, a switch port that they share, and a receiver that
answers each packet. Times in seconds, rates in bits a second, sizes in bytes.
"""

import heapq
import itertools
import random
from collections import Counter
from dataclasses import dataclass

ACK = 64
SAME = 1e-13
"""Seconds by which equal times may differ, because they are sums of floating-point numbers."""


@dataclass
class Rules:
    """A path, and what presets change: the target in `base_rtt`, the delay at which quick adapt acts, in
    targets, the weight of a sample in the average delay, the unit of lengths; the times of MRC in `base_rtt`.
    """

    rate: float
    rtt: float
    rto: float
    mtu: int = 4096
    header: int = 40
    rto_max: float = 1.0
    target: float = 1.0
    adapt: float = 4.0
    gain: float = 0.0125
    unit: int = 256
    silence: float = 0.0
    reordering: float = 0.0


class Sender:
    """Window, packets and timers of one flow."""

    def __init__(self, rules, size):
        self.rules, self.mtu, self.base = rules, rules.mtu, rules.rtt
        self.rate, self.target = rules.rate / 8, rules.target * rules.rtt
        self.a = self.rate * rules.rtt / 150e3
        self.alpha = 4 * self.a * (self.target / 12e-6) * self.mtu / self.target
        payload = self.mtu - rules.header
        self.packets = -(-size // payload)
        self.tail = size - (self.packets - 1) * payload
        self.new, self.again, self.flying, self.retries, self.acked = 0, [], {}, {}, set()
        self.average = self.inc = self.received = self.fi_count = self.achieved = 0.0
        self.to_ignore = self.ignored = self.last_adjust = self.last_dec = self.last_sample = 0.0
        self.increase, self.qa_end = False, None
        self.heard, self.probes = 0.0, 0
        self.cwnd = self.most()

    def most(self):
        return max(1.5 * self.rate * self.base, self.mtu)

    def set(self, cwnd):
        self.cwnd = min(max(cwnd, self.mtu), self.most())

    def length(self, packet):
        return max(self.tail + self.rules.header if packet == self.packets - 1 else self.mtu, ACK)

    def next(self):
        """The packet that may leave now; None without any."""
        if self.flying and (len(self.flying) + 1) * self.mtu > self.cwnd * (1 + 1e-12):
            return None
        if self.again:
            return heapq.heappop(self.again)
        if self.new < self.packets:
            self.new += 1
            return self.new - 1
        return None

    def answered(self, now, packet, sent, marked):
        if packet in self.acked:
            return
        self.acked.add(packet)
        if self.flying.pop(packet, None) is None:
            self.again.remove(packet)
            heapq.heapify(self.again)
        n = -(-self.length(packet) // self.rules.unit) * self.rules.unit
        self.ignored, self.received, self.achieved = self.ignored + n, self.received + n, self.achieved + n
        if now - sent < self.base - SAME:
            self.base = now - sent
            self.set(self.cwnd)
        delay = now - sent - self.base
        late = self.rules.gain and not marked and delay > self.target + SAME
        self.sample(now, self.base / 4 if late else delay)
        if self.adapts(now, marked, delay):
            return
        if marked:
            if delay >= self.target - SAME:
                self.decrease(now)
        elif delay >= self.target - SAME:
            self.inc += 5 * self.mtu * self.a * n
        elif not self.fast(n, delay):
            self.inc += self.alpha * n * (self.target - delay)
        over = now - self.last_adjust >= self.rules.rtt - SAME
        if over or self.received > 8 * self.mtu:
            self.set(self.cwnd + self.inc / self.cwnd + (0.15 * self.mtu * self.a if over else 0))
            self.inc = self.received = 0.0
            self.last_adjust = now if over else self.last_adjust

    def sample(self, now, delay):
        weight = self.rules.gain or min(1.0, (now - self.last_sample) / self.base)
        self.average += weight * (delay - self.average)
        self.last_sample = now

    def adapts(self, now, marked, delay):
        """Quick adapt; no packet is trimmed here."""
        acts = self.ignored < self.to_ignore and marked
        if not acts and (self.qa_end is None or now >= self.qa_end - SAME):
            few = self.achieved < self.most() / 8
            if self.qa_end is not None and delay > self.rules.adapt * self.target and few:
                self.set(self.achieved)
                self.to_ignore, self.ignored, acts = len(self.flying) * self.mtu, 0.0, True
            self.achieved, self.qa_end = 0.0, now + self.base + self.target
        if acts:
            self.inc = self.received = 0.0
        return acts

    def fast(self, n, delay):
        idle = delay < 1e-6
        self.fi_count = self.fi_count + n if idle else 0.0
        self.increase = idle and (self.increase or self.fi_count > self.cwnd)
        if self.increase:
            self.set(self.cwnd + 0.25 * self.a * n)
        return self.increase

    def decrease(self, now):
        self.increase, self.fi_count = False, 0.0
        if self.average > self.target and now - self.last_dec > self.base + SAME:
            self.set(self.cwnd * max(1 - 0.8 * (self.average - self.target) / self.average, 0.5))
            self.last_dec = now

    def lose(self, packet):
        del self.flying[packet]
        heapq.heappush(self.again, packet)
        self.set(self.cwnd - self.length(packet))
        self.ignored += self.length(packet)

    def timeout(self, packet):
        return min(self.rules.rto * 2 ** self.retries.get(packet, 0), self.rules.rto_max)

    def expired(self, packet):
        self.retries[packet] = self.retries.get(packet, 0) + 1
        self.lose(packet)

    def heard_of(self, now, sent, seen):
        """An answer to what left at `sent`: earlier packets that are not at the receiver are lost."""
        self.heard, self.probes = now, 0
        if self.rules.reordering:
            until = sent - self.rules.reordering * self.rules.rtt
            for packet in [packet for packet, at in self.flying.items() if at < until]:
                if packet in seen:
                    del self.flying[packet]
                    self.acked.add(packet)
                else:
                    self.lose(packet)


def incast(
    rules, senders, size, *, kmin, kmax, seed=1, jitter=0.0, buffer=float("inf"), lost=frozenset(),
    down=(), reverse_down=(),
):  # fmt: skip
    """When the last byte of each flow arrives, all to one host over a star whose round trip is `rules.rtt`.

    buffer, kmin, kmax: bytes of the port. lost: (flow, packet, copy) of what is lost on the port's link; the
    first copy is 0, and a probe is the packet None. down, reverse_down: (from, until) of the port's link, and
    of the receiver's. Packets that reach the port in the same picosecond do so in a random order: flows that
    its link clocks stay in step, and else the same flow would find room each time. A timer that expires when
    an answer arrives comes first.
    """
    draw, tie, ties = random.Random(seed), itertools.count(), random.Random(f"{seed} ties")
    copies = Counter()
    rate = rules.rate

    def time(length):
        return length * 8 / rate

    hop = (rules.rtt - 2 * time(rules.mtu) - 2 * time(ACK)) / 4
    flows = [Sender(rules, size) for _ in range(senders)]
    left, ends, seen = [size] * senders, [0.0] * senders, [set() for _ in range(senders)]
    free, back, nic, queue, queued = 0.0, 0.0, [0.0] * senders, [], 0
    events = []

    def at(when, what, *rest):
        rank = ties.random() if what == "port" else -1 - (what == "timer")
        heapq.heappush(events, (round(when * 1e12), rank, next(tie), when, what, rest))

    def is_down(span, now):
        return bool(span) and span[0] <= now < span[1]

    def send(now, flow):
        one = flows[flow]
        packet = one.next() if nic[flow] <= now + SAME else None
        if packet is None:
            return
        nic[flow] = now + time(one.length(packet))
        if not one.flying:
            one.heard = now
            if rules.silence:
                at(now + rules.silence * rules.rtt, "silence", flow)
        one.flying[packet] = now
        at(nic[flow] + hop, "port", flow, packet, now)
        at(nic[flow], "send", flow)
        at(now + one.timeout(packet), "timer", flow, packet, now)

    def serve(now):
        nonlocal free, queued
        if free > now + SAME or not queue:
            return
        flow, packet, sent = queue.pop(0)
        length = ACK if packet is None else flows[flow].length(packet)
        queued -= length
        marked = packet is not None and draw.random() < (queued - kmin) / (kmax - kmin)
        free = now + time(length)
        at(free, "free")
        copies[flow, packet] += 1
        if not is_down(down, free) and (flow, packet, copies[flow, packet] - 1) not in lost:
            at(free + hop, "host", flow, packet, sent, marked)

    for flow in range(senders):
        at(draw.random() * jitter, "send", flow)
    while events and any(left):
        *_, now, what, rest = heapq.heappop(events)
        one = flows[rest[0]] if rest else None
        if what == "send":
            send(now, *rest)
        elif what == "free":
            serve(now)
        elif what == "port":
            length = ACK if rest[1] is None else one.length(rest[1])
            if not is_down(down, now) and queued + max(free - now, 0) * rate / 8 + length <= buffer:
                queue.append(rest)
                queued += length
                serve(now)
        elif what == "host":
            flow, packet, sent, marked = rest
            if packet is not None and packet not in seen[flow]:
                seen[flow].add(packet)
                left[flow] -= one.tail if packet == one.packets - 1 else rules.mtu - rules.header
                ends[flow] = now
            back = max(back, now) + time(ACK)
            if not is_down(reverse_down, back):
                at(back + hop + time(ACK) + hop, "answer", *rest)
        elif what == "answer":
            flow, packet, sent, marked = rest
            if packet is not None:
                one.answered(now, packet, sent, marked)
            one.heard_of(now, sent, seen[flow])
            send(now, flow)
        elif what == "timer":
            flow, packet, sent = rest
            if one.flying.get(packet) == sent:
                one.expired(packet)
                send(now, flow)
        elif one.flying:
            due = one.heard + rules.silence * rules.rtt * 2**one.probes
            if now >= due - 1e-15:
                one.probes, one.heard = one.probes + 1, now
                at(now + time(ACK) + hop, "port", rest[0], None, now)
                due = now + rules.silence * rules.rtt * 2**one.probes
            at(due, "silence", rest[0])
    return ends
