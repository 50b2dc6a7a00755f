"""Adds a packet a round while no queueing delay is measured, and else drains the queue it measured.

here      paper   meaning                                               unit
W         CWND    window                                                pkt
q         -       queue                                                 pkt
S         -       integral of the queueing delay q/C                    s^2
S_d, S_dd -       S one and two round trips ago                         s^2
R, C, N   R, C, N base round trip, capacity, flows                      s, pkt/s, 1
h         -       headroom: a shorter queueing delay counts as none     s

Source: DX (IEEE/ACM ToN 2017) eq. 1 with V from eq. 8; derived here. Once a round T = R + q/C the
window changes by +1, or by -W Q/V; with V = R W/(W - 1) that is -(W - 1) Q/R. Spread over the round:
dW/dt = 1/T where Q <= h, and -(W - 1) Q/(R T) above; dq/dt = N W/T - C. Q is the mean over the round
of which the acknowledgements have just arrived, (S_d - S_dd)/T. A fluid has no packet at a time, so
less than a packet of queue counts as none: h is a packet's transmission time unless set. Not
modelled: slow start, noise of the measurement, clock drift, loss.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shallows.fluid.model import Constants, Model, Status, parameter
from shallows.fluid.system import System, equations

OFF_RAMP, SLIDING = int(Status.OFF_RAMP), int(Status.SLIDING)


@equations
def round_trip(q: float, C: float, R: float) -> float:
    return R + q / C


@equations
def reaction(W: float, q: float, S_d: float, S_dd: float, C: float, R: float, h: float) -> float:
    T = round_trip(q, C, R)
    Q = (S_d - S_dd) / T
    if Q.real <= h:
        return 1 / T
    return -(W - 1) * Q / (R * T)


@equations
def link(q: float, total: float, C: float) -> tuple[float, float]:
    return total - C, q / C


@equations
def sending(W: float, q: float, C: float, R: float) -> float:
    return W / round_trip(q, C, R)


@equations
def feedback(q: float, C: float, R: float) -> tuple[float, float]:
    T = round_trip(q, C, R)
    return T, 2 * T


@equations
def equilibrium(flows: float, C: float, R: float, h: float) -> tuple[float, ...]:
    """Switching about the headroom; or, with more flows than packets fit, every window at its least."""
    q = C * h
    W = (C * R + q) / flows
    if W > 1.0:
        return SLIDING, q, np.nan, W
    return OFF_RAMP, flows - C * R, np.nan, 1.0


@dataclass(frozen=True, kw_only=True, repr=False)
class Dx(Model):
    """DX. Flows start with their share of the empty path."""

    delay: float = parameter("time", 200e-6, "R: base round trip", above=0)
    mtu: float = parameter("size", 1500.0, "a packet on the wire", above=0)
    headroom: float = parameter("time", -1.0, "queueing delay that counts as none; below 0: a packet's time")

    name: ClassVar = "dx"
    source: ClassVar = "DX (IEEE/ACM ToN 2017) eq. 1, 8"
    outputs: ClassVar = {"W": ("window_pkt", False)}
    system: ClassVar = System(
        shared=("q", "S"),
        flow=("W",),
        delayed={"S_d": ("S", 0), "S_dd": ("S", 1)},
        reaction=reaction,
        link=link,
        sending=sending,
        feedback=feedback,
        equilibrium=equilibrium,
        lags=2,
    )

    def constants(self) -> Constants:
        packet_time = self.unit_bits / self.rate
        return {
            "flows": self.flows,
            "C": 1 / packet_time,
            "R": self.delay,
            "h": np.where(np.asarray(self.headroom) < 0, packet_time, self.headroom),
        }

    def bounds(self) -> dict[str, tuple[float, float]]:
        return super().bounds() | {"W": (1.0, np.inf)}

    def start(self, rate_bps: float) -> dict[str, float]:
        return {"W": max(1.0, rate_bps * self.delay / self.unit_bits)}

    def explain(self, status: Status, state: Mapping[str, float]) -> str:
        if status == Status.SLIDING:
            return "the window switches about the headroom: these are means, and there is no margin"
        return "every window is at its least of 1 packet; what does not fit on the path is queued"
