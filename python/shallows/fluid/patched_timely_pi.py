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

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shallows.core.contract import F64
from shallows.fluid.model import Constants, Status, parameter
from shallows.fluid.patched_timely import PatchedTimely, rate_change
from shallows.fluid.system import equations
from shallows.fluid.timely import (
    delay_constants,
    feedback_delay,
    gradient_change,
    update_interval,
)

FOUND, NONE = int(Status.FOUND), int(Status.NONE)


@equations
def reaction(
    R: float, g: float, Z: float, q_d: float, q_dd: float, C: float, delta: float, beta: float, alpha: float,
    T_low: float, T_high: float, D_minRTT: float, D_floor: float, Seg: float, slope: float, q_ref: float,
    K1: float, K2: float,
) -> tuple[float, float, float]:  # fmt: skip
    interval = update_interval(R, Seg, D_floor)
    p = K1 * (q_d - q_ref) + Z
    dR = rate_change(R, g, q_d, p, interval, C, delta, beta, T_low, T_high, slope)
    return dR, gradient_change(g, q_d, q_dd, interval, alpha, C, D_minRTT), K2 * (q_d - q_ref)


@equations
def equilibrium(
    flows: float, C: float, delta: float, beta: float, T_low: float, T_high: float, q_ref: float
) -> tuple[float, ...]:
    """Equal flows: p = delta N / (beta C) at q_ref."""
    status = FOUND if C * T_low < q_ref < C * T_high else NONE
    return status, q_ref, C / flows, 0.0, flows * delta / (beta * C)


@dataclass(frozen=True, kw_only=True, repr=False)
class PatchedTimelyPi(PatchedTimely):
    """Patched TIMELY with host PI. Give a flow's initial p by Flows(state={"Z": …}); see `integral_for`."""

    k1: float = parameter("number", 2.5e-7, "K_1: proportional gain, per bit", above=0)
    k2: float = parameter("number", 5e-6, "K_2: integral gain, per bit and second", above=0)
    q_ref: float = parameter("size", 300e3, "the queue it settles at", above=0)

    name: ClassVar = "patched-timely-pi"
    source: ClassVar = "ECN or Delay (CoNEXT 2016) eq. 29, 32"
    outputs: ClassVar = {**PatchedTimely.outputs, "Z": ("integral", False)}
    system: ClassVar = replace(
        PatchedTimely.system, flow=("R", "g", "Z"), reaction=reaction, equilibrium=equilibrium
    )

    def constants(self) -> Constants:
        return delay_constants(self) | {
            "alpha": self.alpha,
            "T_low": self.t_low,
            "slope": self.weight_slope,
            "q_ref": 8 * self.q_ref,
            "K1": self.k1,
            "K2": self.k2,
        }

    def integral_for(self, p: float) -> float:
        """The state I that makes p_i(0) = `p` over an empty queue."""
        return p + self.k1 * 8 * self.q_ref

    def start(self, rate_bps: float) -> dict[str, float]:
        return super().start(rate_bps) | {"Z": self.integral_for(0.0)}

    def feedback_at(self, state: Mapping[str, float]) -> float | None:
        return state["Z"]

    def derived(self, time_s: F64, states: Mapping[str, F64]) -> dict[str, F64]:
        """p: [flows, times]."""
        queue = states["q"]
        k = self.scalars()
        way = [k[symbol] for symbol in ("C", "wire", "D_prop")]
        lags = np.array([feedback_delay(q, *way) for q in queue])
        seen = np.interp(time_s - lags, time_s, queue)
        return {"p": self.k1 * (seen - 8 * self.q_ref) + states["Z"]}

    def explain(self, status: Status, state: Mapping[str, float]) -> str:
        if status == Status.NONE:
            return (
                f"no fixed point: q_ref = {self.q_ref / 1e3:g} KB is not between C T_low = "
                f"{self.rate * self.t_low / 8e3:g} KB and C T_high = {self.rate * self.t_high / 8e3:g} KB"
            )
        return "this holds for equal starts; unequal rates stay unequal at the same queue (Theorem 6)"
