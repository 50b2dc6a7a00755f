"""Cuts the window by alpha/2 for every round with marks, alpha being the smoothed share of marks.

here       paper        meaning                                       unit
W, alpha   W, alpha     window; estimate of the marked share          pkt, 1
q, q_d     q, q(t-R*)   queue now, and one mean round trip ago        pkt
N, C, d    N, C, d      flows, capacity, round trip without queue     1, pkt/s, s
K, g       K, g         marking threshold, gain of alpha              pkt, 1
width      -            the ramp over which marking rises to 1        pkt

Source: Analysis of DCTCP (SIGMETRICS 2011) §3.1: dW/dt = 1/R - W alpha p(t-R*)/(2 R),
dalpha/dt = g (p(t-R*) - alpha)/R, dq/dt = N W/R - C, R = d + q/C, R* = d + K/C, p = 1 where q > K.
The step has no slope, so no margin: the queue cycles about K. `width` spreads the step into a ramp,
which is not DCTCP but says how wide a ramp would end the cycle. Not modelled: slow start, loss, the
one cut a round, windows of whole packets; `min_window` is not in the paper.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shallows.core.contract import F64
from shallows.fluid.model import Constants, Model, Status, parameter
from shallows.fluid.system import System, equations

FOUND, SLIDING, NONE = int(Status.FOUND), int(Status.SLIDING), int(Status.NONE)


@equations
def marking(q: float, K: float, width: float) -> float:
    if q.real <= K:
        return 0.0 * q
    if q.real >= K + width:
        return 0.0 * q + 1.0
    return (q - K) / width


@equations
def reaction(
    W: float, alpha: float, q: float, q_d: float, C: float, d: float, K: float, g: float, width: float
) -> tuple[float, float]:
    R = d + q / C
    p = marking(q_d, K, width)
    return 1 / R - W * alpha * p / (2 * R), g / R * (p - alpha)


@equations
def link(total: float, C: float) -> float:
    return total - C


@equations
def sending(W: float, q: float, C: float, d: float) -> float:
    return W / (d + q / C)


@equations
def feedback(C: float, d: float, K: float) -> float:
    """R*, which the model holds constant."""
    return d + K / C


@equations
def equilibrium(flows: float, C: float, d: float, K: float, width: float) -> tuple[float, ...]:
    """alpha = p and W p^2 = 2, with the queue on the ramp that marks with p; on a step, p is a mean."""
    low, high = 0.0, 1.0
    for _ in range(60):
        p = (low + high) / 2
        if (C * d + K + width * p) / flows * p * p < 2.0:
            low = p
        else:
            high = p
    p = (low + high) / 2
    q = K + width * p
    W = (C * d + q) / flows
    status = FOUND if width > 0.0 else SLIDING
    if W < 2.0:
        status, q = NONE, np.nan
    return status, q, W, p


@dataclass(frozen=True, kw_only=True, repr=False)
class Dctcp(Model):
    """DCTCP. Flows start with their share of the empty path and alpha = 0."""

    delay: float = parameter("time", 200e-6, "d: round trip without queueing", above=0)
    mtu: float = parameter("size", 1500.0, "a packet on the wire", above=0)
    k: float = parameter("size", 52500.0, "K: marking threshold", least=0)
    g: float = parameter("number", 1 / 16, "g: gain of alpha", above=0, most=1)
    width: float = parameter("size", 0.0, "ramp over which marking rises to 1; 0 is a step", least=0)
    min_window: float = parameter("number", 0.0, "W_min: the window is never less, in packets", least=0)

    name: ClassVar = "dctcp"
    source: ClassVar = "Analysis of DCTCP (SIGMETRICS 2011) §3.1"
    loop_at: ClassVar = "mark"
    outputs: ClassVar = {"W": ("window_pkt", False), "alpha": ("alpha", False)}
    system: ClassVar = System(
        shared=("q",),
        flow=("W", "alpha"),
        delayed={"q_d": ("q", 0)},
        reaction=reaction,
        link=link,
        sending=sending,
        feedback=feedback,
        equilibrium=equilibrium,
    )

    def constants(self) -> Constants:
        packet = self.unit_bits
        return {
            "flows": self.flows,
            "C": self.rate / packet,
            "d": self.delay,
            "K": 8 * self.k / packet,
            "g": self.g,
            "width": 8 * self.width / packet,
        }

    def bounds(self) -> dict[str, tuple[float, float]]:
        return super().bounds() | {"W": (self.min_window, np.inf), "alpha": (0.0, 1.0)}

    def start(self, rate_bps: float) -> dict[str, float]:
        window = rate_bps * self.delay / self.unit_bits
        return {"W": max(self.min_window, window), "alpha": 0.0}

    def feedback_at(self, state: Mapping[str, float]) -> float | None:
        return state["alpha"]

    def derived(self, time_s: F64, states: Mapping[str, F64]) -> dict[str, F64]:
        """p: [times]."""
        threshold, width = (8 * size / self.unit_bits for size in (self.k, self.width))
        return {"p": np.array([marking(q, threshold, width) for q in states["q"]])}

    def explain(self, status: Status, state: Mapping[str, float]) -> str:
        if status == Status.SLIDING:
            return "the mark is a step, so the queue cycles about K: these are means, and there is no margin"
        if status == Status.NONE:
            return f"no fixed point: windows of {state['W']:.3g} packets cannot be held, even by marking all"
        return ""
