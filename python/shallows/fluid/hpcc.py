"""Scales the window by the share of the fullest link that records show, and adds a step.

here           paper        meaning                                          unit
W, Wc          W, W_c       window, and that of the last round trip's end    pkt
U              U            smoothed share of the link in flight             1
q              qlen         queue                                            pkt
P, P_d         u            that share over the time between two answers;    1
                            as the answered packet left the port
C, T           B, T         capacity, empty round trip                       pkt/s, s
eta, ai        eta, W_AI    share of the link to use, additive step          1, pkt
adds           -            1 where U below eta only adds (maxStage above 0) 1

Source: HPCC (SIGCOMM 2019) Algorithm 1: W = Wc eta/U + W_AI at each answer, and Wc = W once a round trip,
which is spread over it: Wc' = (Wc eta/U + W_AI - Wc)/(T + q/C); U' = (P_d - U)/T. Two records of a flow are
N/C apart, and their mean is half of that old: P' = 2 C (q/(C T) + sent/C - P)/N. The pace W/T and the
window both limit a flow. A packet may leave while less than W is in flight, as in the authors' code
(rdma-queue-pair.cc), so that W + 1/2 packets are on the mean: a flow sends min(W/T, (W + 1/2)/(T + q/C)).
q' is that of ack_clock.py. At rest U = eta + N W_AI/(C T) with an empty queue, if that is below 1. Not
modelled: the end of additive rounds after maxStage, losses, several bottlenecks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shallows.fluid.ack_clock import AckClocked, queue_change
from shallows.fluid.model import Constants, Status, parameter
from shallows.fluid.system import System, equations

FOUND, OFF_RAMP = int(Status.FOUND), int(Status.OFF_RAMP)


@equations
def kept(Wc: float, U: float, eta: float, adds: float) -> float:
    """The part of the reference that a window keeps."""
    if adds > 0.0 and U.real < eta:
        return Wc + 0.0 * U
    return Wc * eta / U


@equations
def reaction(
    Wc: float, U: float, q: float, P_d: float, C: float, T: float, eta: float, ai: float, adds: float
) -> tuple[float, float]:
    return (kept(Wc, U, eta, adds) + ai - Wc) / (T + q / C), (P_d - U) / T


@equations
def link(q: float, P: float, total: float, C: float, T: float, flows: float) -> tuple[float, float]:
    """An empty queue stays empty while less arrives than leaves, and a disturbance of it drains."""
    rise, sent = queue_change(q, total, C, T, flows), 1.0 + 0.0 * total
    if q.real <= 0.0 and total.real < C:
        rise, sent = -C * q / flows, total / C
    return rise, 2 * C * (q / (C * T) + sent - P) / flows


@equations
def sending(
    Wc: float, U: float, q: float, C: float, T: float, eta: float, ai: float, adds: float, most: float
) -> float:
    window = kept(Wc, U, eta, adds) + ai
    if window.real > most:
        window = most + 0.0 * window
    by_window = (window + 0.5) / (T + q / C)
    if by_window.real < window.real / T:
        return by_window
    return window / T


@equations
def feedback(T: float) -> float:
    """A record is as old as the way from the port back to it."""
    return T


@equations
def equilibrium(flows: float, C: float, T: float, eta: float, ai: float) -> tuple[float, ...]:
    """W (1 - eta/U) = W_AI, and N flows send U C, or C if that is less: limited by pace or by window."""
    share = C * T / flows
    used = eta + ai / share
    if used < 1.0:
        return OFF_RAMP, 0.0, used, used * share, used
    # (U share - 1/2) (U - eta) = W_AI U, by the window
    middle = share * eta + 0.5 + ai
    used = (middle + np.sqrt(middle * middle - 2 * share * eta)) / (2 * share)
    window = used * share - 0.5
    if window < share:  # the pace is the limit
        window, used = share, eta * share / (share - ai)
    return FOUND, (used - 1.0) * C * T, used, window, used


@dataclass(frozen=True, kw_only=True, repr=False)
class Hpcc(AckClocked):
    """HPCC. Flows start with windows that fill their links."""

    rate: float = parameter("rate", 100e9, "B: capacity of the bottleneck", above=0)
    delay: float = parameter("time", 13e-6, "T: base round trip", above=0)
    mtu: float = parameter("size", 1500.0, "a packet on the wire", above=0)
    eta: float = parameter("number", 0.95, "eta: share of the link to use", above=0, most=1)
    max_stage: float = parameter("number", 5, "maxStage: 0 scales the window below eta too", least=0)
    w_ai: float = parameter("size", 80.0, "W_AI: additive step a round trip", above=0)

    name: ClassVar = "hpcc"
    loop_at: ClassVar = "mark"
    source: ClassVar = "HPCC (SIGCOMM 2019) Algorithm 1"
    outputs: ClassVar = {"Wc": ("reference_pkt", False), "U": ("in_flight", False)}
    system: ClassVar = System(
        shared=("q", "P"),
        flow=("Wc", "U"),
        delayed={"P_d": ("P", 0)},
        reaction=reaction,
        link=link,
        sending=sending,
        feedback=feedback,
        equilibrium=equilibrium,
    )

    @property
    def fastest_s(self) -> float:
        """Records are compared between two answers."""
        return self.flows * self.unit_bits / self.rate / 2

    def constants(self) -> Constants:
        C = self.rate / self.unit_bits
        return {
            "flows": self.flows,
            "C": C,
            "T": self.delay,
            "eta": self.eta,
            "ai": 8 * self.w_ai / self.unit_bits,
            "adds": np.asarray(self.max_stage, float),
            "most": C * self.delay,
        }

    def bounds(self) -> dict[str, tuple[float, float]]:
        most = self.rate * self.delay / self.unit_bits
        return super().bounds() | {"Wc": (0.0, most), "U": (1e-3, np.inf)}

    def initial_rate(self, total_flows: float) -> float:
        return self.rate

    def start(self, rate_bps: float) -> dict[str, float]:
        return {"Wc": rate_bps * self.delay / self.unit_bits, "U": 1.0}

    def explain(self, status: Status, state: Mapping[str, float]) -> str:
        if status == Status.OFF_RAMP:
            return f"the queue is empty: the flows use {state['U']:.4g} of the link"
        return ""
