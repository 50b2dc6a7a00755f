"""Patched TIMELY with a proportional-integral controller in every sender instead of the relative error.

here        paper     meaning                                           unit
p           p_i       what replaces (q - q')/q' in eq. 29               1
Z           -         its integral part: p = K1 (q_d - q_ref) + Z       1
K1, K2      K_1, K_2  proportional and integral gain                    1/bit, 1/(bit s)
q_ref       q_ref     the queue it settles at                           bit
the rest              as in patched_timely.py

Source: ECN or Delay (CoNEXT 2016) eq. 32, §5.2, Theorem 6. The paper prints no gains. Holding the
integral part as the state is eq. 32 integrated, and needs no derivative of the past. Every sender
integrates the same signal, so p_i - p_j never changes: equal starts share fairly, others never do.
`published.ScriptHostPi` is what the paper's Fig. 19 was computed with. p is not clamped.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shallows.fluid.model import Status, parameter
from shallows.fluid.patched_timely import PatchedTimely, rate_change
from shallows.fluid.system import System, equations
from shallows.fluid.timely import (
    delay_constants,
    feedback,
    feedback_delay,
    gradient_change,
    link,
    sending,
    update_interval,
)

FOUND, NONE = int(Status.FOUND), int(Status.NONE)


@equations
def reaction(
    R, g, Z, q_d, q_dd, C, delta, beta, alpha, T_low, T_high, D_minRTT, D_floor, Seg, slope, q_ref, K1, K2
):  # fmt: skip
    interval = update_interval(R, Seg, D_floor)
    p = K1 * (q_d - q_ref) + Z
    dR = rate_change(R, g, q_d, p, interval, C, delta, beta, T_low, T_high, slope)
    return dR, gradient_change(g, q_d, q_dd, interval, alpha, C, D_minRTT), K2 * (q_d - q_ref)


@equations
def equilibrium(flows, C, delta, beta, T_low, T_high, q_ref):
    """Equal flows: p = delta N / (beta C) at q_ref."""
    status = FOUND if C * T_low < q_ref < C * T_high else NONE
    return status, q_ref, C / flows, 0.0, flows * delta / (beta * C)


@dataclass(frozen=True, kw_only=True)
class PatchedTimelyPi(PatchedTimely):
    """Patched TIMELY with host PI. Give a flow's initial p by Flows(state={"Z": …}); see `integral_for`."""

    k1: float = parameter("number", 2.5e-7, "K_1: proportional gain, per bit", above=0)
    k2: float = parameter("number", 5e-6, "K_2: integral gain, per bit and second", above=0)
    q_ref: float = parameter("size", 300e3, "the queue it settles at", above=0)

    name: ClassVar = "patched-timely-pi"
    source: ClassVar = "ECN or Delay (CoNEXT 2016) eq. 29, 32"
    outputs: ClassVar = PatchedTimely.outputs | {"Z": ("integral", False)}
    system: ClassVar = System(
        shared=("q",),
        flow=("R", "g", "Z"),
        delayed={"q_d": ("q", 0), "q_dd": ("q", 1)},
        reaction=reaction,
        link=link,
        sending=sending,
        feedback=feedback,
        equilibrium=equilibrium,
        lags=2,
        own_rate="R",
    )

    def constants(self):
        return delay_constants(self) | {
            "alpha": self.alpha,
            "T_low": self.t_low,
            "slope": self.weight_slope,
            "q_ref": 8 * self.q_ref,
            "K1": self.k1,
            "K2": self.k2,
        }

    def integral_for(self, p):
        """The state I that makes p_i(0) = `p` over an empty queue."""
        return p + self.k1 * 8 * self.q_ref

    def start(self, rate_bps):
        return super().start(rate_bps) | {"Z": self.integral_for(0.0)}

    def feedback_at(self, state):
        return state["Z"]

    def derived(self, time_s, states):
        """p: [flows, times]."""
        queue = states["q"]
        constants = self.constants()
        lag = feedback_delay(queue, constants["C"], constants["wire"], constants["D_prop"])
        seen = np.interp(time_s - lag, time_s, queue)
        return {"p": self.k1 * (seen - 8 * self.q_ref) + states["Z"]}

    def explain(self, status, state):
        if status == Status.NONE:
            return (
                f"no fixed point: q_ref = {self.q_ref / 1e3:g} KB is not between C T_low = "
                f"{self.rate * self.t_low / 8e3:g} KB and C T_high = {self.rate * self.t_high / 8e3:g} KB"
            )
        return "this is with equal starts; unequal ones stay unequal, about the same queue (Theorem 6)"
