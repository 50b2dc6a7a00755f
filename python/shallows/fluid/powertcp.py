"""Divides the window of the last round trip by the power at the bottleneck, and adds a step.

here             paper        meaning                                           unit
W, Wc            w, cwnd_old  window, and that of the last round trip's end     pkt
G                Gamma        smoothed power, relative to a full, empty link    1
q                q            queue                                             pkt
P, P_d           -            power over the time between two answers; as the   1
                              answered packet left the port
C, R, beta       b, tau, beta capacity, empty round trip, additive step         pkt/s, s, pkt
gamma, eta       gamma, -     weight of the new window, share of the link       1
floor            -            least arrivals that count, as a share of C        1

Source: PowerTCP (NSDI 2022) Algorithm 1. With each answer W' = gamma (Wc eta/G + beta - W)/(time between
answers), and Wc = W once a round trip, which is spread over it: Wc' = (W - Wc)/(R + q/C). Power is smoothed
over R, G' = (P_d - G)/R. It is arrivals (q + C R)/(C C R), and as two records of a flow are N/C apart,
their mean is half of that old: P' = 2 C (arrivals (q + C R)/(C C R) - P)/N. q' is that of ack_clock.py. At
rest G = 1 + q/(C R), so that q is the sum of all beta where eta is 1. Not modelled: losses, several
bottlenecks, pacing, whole packets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shallows.fluid.ack_clock import AckClocked, queue_change, round_trip, sending
from shallows.fluid.model import Constants, Status, parameter
from shallows.fluid.system import System, equations

FOUND, OFF_RAMP = int(Status.FOUND), int(Status.OFF_RAMP)
LEAST_POWER = 0.01


@equations
def reaction(
    W: float, Wc: float, G: float, q: float, P_d: float, C: float, R: float, beta: float, gamma: float,
    eta: float,
) -> tuple[float, float, float]:  # fmt: skip
    T = round_trip(q, C, R)
    return gamma * W / T * (Wc * eta / G + beta - W), (W - Wc) / T, (P_d - G) / R


@equations
def link(
    q: float, P: float, total: float, C: float, R: float, flows: float, floor: float
) -> tuple[float, float]:
    rise = queue_change(q, total, C, R, flows)
    arrivals = 1 + rise / C
    if arrivals.real < floor:
        arrivals = floor + 0.0 * rise
    return rise, 2 * C * (arrivals * (q + C * R) / (C * R) - P) / flows


@equations
def feedback(R: float) -> float:
    """A record is as old as the way from the port back to it."""
    return R


@equations
def equilibrium(flows: float, C: float, R: float, beta: float, eta: float) -> tuple[float, ...]:
    """W (1 - eta/G) = beta, and N W = G C R; without a queue G is the share of the link in use."""
    G = eta + flows * beta / (C * R)
    q = max((G - 1.0) * C * R, 0.0)
    W = G * C * R / flows
    status = FOUND
    if G < 1.0:
        status = OFF_RAMP
    return status, q, G, W, W, G


@dataclass(frozen=True, kw_only=True, repr=False)
class Power(AckClocked):
    """What both forms of PowerTCP share. Flows start with windows that fill their links."""

    rate: float = parameter("rate", 100e9, "C: capacity of the bottleneck", above=0)
    delay: float = parameter("time", 10e-6, "tau: base round trip", above=0)
    mtu: float = parameter("size", 1500.0, "a packet on the wire", above=0)
    beta: float = parameter("size", 0.0, "beta: additive step; 0: C tau / expected_flows", least=0)
    expected_flows: float = parameter("number", 10, "N of beta: flows that share a link", least=1)
    gamma: float = parameter("number", 0.9, "gamma: weight of the new window", above=0, most=1)

    loop_at: ClassVar = "mark"

    def constants(self) -> Constants:
        C = self.rate / self.unit_bits
        given = np.asarray(8 * self.beta / self.unit_bits)
        beta = np.where(given > 0, given, C * self.delay / self.expected_flows)
        return {"flows": self.flows, "C": C, "R": self.delay, "beta": beta, "gamma": self.gamma}

    def bounds(self) -> dict[str, tuple[float, float]]:
        return super().bounds() | {"W": (0.5, self.rate * self.delay / self.unit_bits)}

    def initial_rate(self, total_flows: float) -> float:
        return self.rate

    def start(self, rate_bps: float) -> dict[str, float]:
        return {"W": rate_bps * self.delay / self.unit_bits}


@dataclass(frozen=True, kw_only=True, repr=False)
class PowerTcp(Power):
    """PowerTCP with records of the hops."""

    utilization: float = parameter("number", 1.0, "eta: share of the link to use", above=0, most=1)
    current_floor: float = parameter("number", 0.5, "least arrivals that count, of C", least=0, most=1)

    name: ClassVar = "powertcp"
    source: ClassVar = "PowerTCP (NSDI 2022) Algorithm 1"
    outputs: ClassVar = {"W": ("window_pkt", False), "G": ("power", False)}
    system: ClassVar = System(
        shared=("q", "P"),
        flow=("W", "Wc", "G"),
        delayed={"P_d": ("P", 0)},
        reaction=reaction,
        link=link,
        sending=sending,
        feedback=feedback,
        equilibrium=equilibrium,
    )

    @property
    def fastest_s(self) -> float:
        """A window is renewed with each answer, and arrivals are measured between two of them."""
        return self.unit_bits / self.rate / max(self.gamma, 2 / self.flows)

    def constants(self) -> Constants:
        return super().constants() | {"eta": self.utilization, "floor": self.current_floor}

    def bounds(self) -> dict[str, tuple[float, float]]:
        return super().bounds() | {"G": (LEAST_POWER, np.inf)}

    def start(self, rate_bps: float) -> dict[str, float]:
        window = super().start(rate_bps)["W"]
        return {"W": window, "Wc": window, "G": 1.0}

    def explain(self, status: Status, state: Mapping[str, float]) -> str:
        if status == Status.OFF_RAMP:
            return "the queue is empty: flows use less than the link by their own target"
        return ""
