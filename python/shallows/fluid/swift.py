"""Adds a packet a round trip while the delay is below a target, and cuts by the excess above it.

here            paper         meaning                                           unit
W               fcwnd         window                                            pkt
q, q_d          -             queue now, and before the answered packet         pkt
D               delay         round trip of the answered packet, R + q_d/C      s
target          target        base + flow scaling                               s
ai, beta, mdf   ai, β, …      additive increase, decrease, its bound max_mdf    pkt, 1, 1
base, range     base_target   target of a large window; most that scaling adds  s
a, b            α, β of §3.5  flow scaling a/sqrt(W) + b                        s, s
spread          -             range over which the delays of a round lie        s
C, R            -             capacity, empty round trip                        pkt/s, s

Source: Swift (SIGCOMM 2020) Algorithm 1, §3.5. W' = ai/T on answers below the target, and -W min(beta (D -
target)/D, mdf)/T above it, with T = R + q/C; q' is that of ack_clock.py. The increase ends at the target,
so that the law has no slope there. But the answers of a round have different delays: N flows that add ai in
a round, each at its own time, change the queue by N ai in it. So delays lie evenly within `spread` about D,
by default the time of N ai packets at C, and shares of answers replace the step. With spread=0us the law
switches at the target. Not modelled: losses, the endpoint window, whole packets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shallows.fluid.ack_clock import AckClocked, queue_change, round_trip, sending
from shallows.fluid.model import Constants, Status, parameter
from shallows.fluid.system import System, equations

FOUND, OFF_RAMP, SLIDING = int(Status.FOUND), int(Status.OFF_RAMP), int(Status.SLIDING)


@equations
def target_of(W: float, base: float, range_: float, a: float, b: float) -> float:
    """§3.5, from a window in packets."""
    scaling = a / np.sqrt(W) + b
    if scaling.real <= 0.0:
        return base + 0.0 * W
    if scaling.real >= range_:
        return base + range_ + 0.0 * W
    return base + scaling


@equations
def excess(over: float, spread: float) -> tuple[float, float]:
    """(share of answers below the target, mean of what the others exceed it by) at a mean excess `over`."""
    if over.real <= -spread / 2:
        return 1.0 + 0.0 * over, 0.0 * over
    if over.real >= spread / 2:
        return 0.0 * over, over
    above = over + spread / 2
    return 1 - above / spread, above * above / (2 * spread)


@equations
def change(W: float, D: float, target: float, spread: float, ai: float, beta: float, mdf: float) -> float:
    """What a round trip adds to the window."""
    below, over = excess(D - target, spread)
    cut = beta * over / D
    if cut.real > mdf:
        cut = mdf + 0.0 * D
    gain = ai * below
    if W.real < 1.0:
        gain = ai * below * W
    return gain - W * cut


@equations
def reaction(
    W: float, q: float, q_d: float, C: float, R: float, base: float, range_: float, a: float, b: float,
    spread: float, ai: float, beta: float, mdf: float,
) -> float:  # fmt: skip
    D = round_trip(q_d, C, R)
    target = target_of(W, base, range_, a, b)
    return change(W, D, target, spread, ai, beta, mdf) / round_trip(q, C, R)


@equations
def feedback(q: float, C: float, R: float) -> float:
    return round_trip(q, C, R)


@equations
def equilibrium(
    flows: float, C: float, R: float, base: float, range_: float, a: float, b: float, spread: float,
    ai: float, beta: float, mdf: float,
) -> tuple[float, ...]:  # fmt: skip
    """The round trip at which increase and decrease balance, by bisection: windows share it."""
    low, high = R, base + range_ + spread + flows / C
    for _ in range(60):
        delay = (low + high) / 2
        window = C * delay / flows
        target = target_of(window, base, range_, a, b)
        if change(window, delay, target, spread, ai, beta, mdf) > 0.0:
            low = delay
        else:
            high = delay
    queue = C * ((low + high) / 2 - R)
    status = FOUND if spread > 0.0 else SLIDING
    if queue < 1e-6:
        status = OFF_RAMP
    return status, queue, (C * R + queue) / flows


@dataclass(frozen=True, kw_only=True, repr=False)
class Swift(AckClocked):
    """Swift with Google's values. Flows start with their share of the empty path."""

    rate: float = parameter("rate", 100e9, "C: capacity of the bottleneck", above=0)
    delay: float = parameter("time", 10e-6, "round trip without queueing", above=0)
    mtu: float = parameter("size", 1500.0, "a packet on the wire", above=0)
    ai: float = parameter("number", 1.0, "ai: packets added in a round trip", above=0)
    beta: float = parameter("number", 0.8, "beta: multiplicative decrease", above=0, most=1)
    max_mdf: float = parameter("number", 0.5, "max_mdf: largest cut in a round trip", above=0, most=1)
    base_target: float = parameter(
        "time",
        0.0,
        "target without hops; 0: 25us, 5/4 of the delay, or the delay and 5 packets if more",
        least=0,
    )
    per_hop: float = parameter("time", 1e-6, "h: target of each switch", least=0)
    switches: float = parameter("count", 1, "switches on the path", least=0)
    fs_range: float = parameter("time", 100e-6, "fs_range: most that flow scaling adds", least=0)
    fs_min_cwnd: float = parameter("number", 0.1, "window at which it adds fs_range, in packets", above=0)
    fs_max_cwnd: float = parameter("number", 256.0, "window from which on it adds nothing", above=0)
    spread: float = parameter("time", -1.0, "range of delays in a round; below 0: that of N ai packets")

    name: ClassVar = "swift"
    loop_at: ClassVar = "mark"
    source: ClassVar = "Swift (SIGCOMM 2020) Algorithm 1, §3.5"
    outputs: ClassVar = {"W": ("window_pkt", False)}
    system: ClassVar = System(
        shared=("q",),
        flow=("W",),
        delayed={"q_d": ("q", 0)},
        reaction=reaction,
        link=queue_change,
        sending=sending,
        feedback=feedback,
        equilibrium=equilibrium,
    )

    @property
    def drain(self) -> float:
        return self.rate / self.unit_bits

    def constants(self) -> Constants:
        packet = self.unit_bits / self.rate
        least, most = (1 / np.sqrt(one) for one in (self.fs_min_cwnd, self.fs_max_cwnd))
        slope = self.fs_range / np.maximum(least - most, 1e-300) * (least > most)
        own = np.maximum(np.maximum(25e-6, 1.25 * self.delay), self.delay + 5 * packet)
        given = np.asarray(self.base_target)
        spread = np.asarray(self.spread)
        return {
            "flows": self.flows,
            "C": 1 / packet,
            "R": self.delay,
            "base": np.where(given > 0, given, own) + self.per_hop * self.switches,
            "range_": self.fs_range,
            "a": slope,
            "b": -slope * most,
            "spread": np.where(spread < 0, self.flows * self.ai * packet, spread),
            "ai": self.ai,
            "beta": self.beta,
            "mdf": self.max_mdf,
        }

    def bounds(self) -> dict[str, tuple[float, float]]:
        return super().bounds() | {"W": (0.01, np.inf)}

    def start(self, rate_bps: float) -> dict[str, float]:
        return {"W": max(0.01, rate_bps * self.delay / self.unit_bits)}

    def explain(self, status: Status, state: Mapping[str, float]) -> str:
        if status == Status.SLIDING:
            return "without a spread the law switches at the target: these are means, and there is no margin"
        if status == Status.OFF_RAMP:
            return "the target is not above the round trip of the empty path: windows fall to the least"
        return ""
