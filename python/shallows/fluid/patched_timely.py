"""TIMELY mended: the decrease follows the delay itself, and increase and decrease are weighed smoothly.

here           paper    meaning                                        unit
w              w_i      weight of decrease against increase            1
slope          2        dw/dg of eq. 30                                1
q_ref          q'       reference queue, C T_low                       bit
the rest                as in timely.py

Source: ECN or Delay (CoNEXT 2016) eq. 29-31, Algorithm 2. Error is measured in queue, as in eq. 29;
Algorithm 2 measures it in RTT. Eq. 30 prints slope 2; the paper's Fig. 11 was computed with
`weight_slope=0.5 interval=seg`. Not modelled and differs: as timely.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from shallows.fluid.model import Constants, Status, parameter
from shallows.fluid.system import equations
from shallows.fluid.timely import (
    Timely,
    delay_constants,
    gradient_change,
    update_interval,
)

FOUND, NONE = int(Status.FOUND), int(Status.NONE)


@equations
def weight(g: float, slope: float) -> float:
    """w_i, eq. 30: 1/2 + slope g, kept between 0 and 1."""
    w = 0.5 + slope * g
    if w.real <= 0.0:
        return 0.0 * g
    if w.real >= 1.0:
        return 1.0 + 0.0 * g
    return w


@equations
def rate_change(
    R: float, g: float, q_d: float, error: float, interval: float, C: float, delta: float, beta: float,
    T_low: float, T_high: float, slope: float,
) -> float:  # fmt: skip
    """dR/dt, eq. 29, with the relative excess of the queue as `error`."""
    if q_d.real < C * T_low:
        return (delta + 0.0 * error) / interval
    if q_d.real > C * T_high:
        return -beta / interval * (1 - C * T_high / q_d) * R
    w = weight(g, slope)
    return ((1 - w) * delta - w * beta * R * error) / interval


@equations
def reaction(
    R: float, g: float, q_d: float, q_dd: float, C: float, delta: float, beta: float, alpha: float,
    T_low: float, T_high: float, D_minRTT: float, D_floor: float, Seg: float, slope: float, q_ref: float,
) -> tuple[float, float]:  # fmt: skip
    interval = update_interval(R, Seg, D_floor)
    error = (q_d - q_ref) / q_ref
    dR = rate_change(R, g, q_d, error, interval, C, delta, beta, T_low, T_high, slope)
    return dR, gradient_change(g, q_d, q_dd, interval, alpha, C, D_minRTT)


@equations
def equilibrium(
    flows: float, C: float, delta: float, beta: float, T_high: float, q_ref: float
) -> tuple[float, ...]:
    """Eq. 31: g = 0 and w = 1/2 leave delta = beta (C/N) (q - q') / q'."""
    q = q_ref * (1.0 + flows * delta / (beta * C))
    status = FOUND
    if q >= C * T_high:
        # Above T_high delta no longer acts, so the queue falls back: no rest there either.
        status = NONE
    return status, q, C / flows, 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class PatchedTimely(Timely):
    """Patched TIMELY."""

    beta: float = parameter("number", 0.008, "beta: multiplicative decrease factor", above=0, most=1)
    seg: float = parameter("size", 16e3, "Seg: a burst, acknowledged as one", above=0)
    weight_slope: float = parameter("number", 2.0, "dw/dg of eq. 30", above=0)

    name: ClassVar = "patched-timely"
    source: ClassVar = "ECN or Delay (CoNEXT 2016) eq. 29-31"
    system: ClassVar = replace(Timely.system, reaction=reaction, equilibrium=equilibrium)

    def constants(self) -> Constants:
        return delay_constants(self) | {
            "alpha": self.alpha,
            "T_low": self.t_low,
            "slope": self.weight_slope,
            "q_ref": self.rate * self.t_low,
        }

    def feedback_at(self, state: Mapping[str, float]) -> float | None:
        """The relative excess (q - q')/q', which stands where a marking probability would."""
        q_ref = self.rate * self.t_low
        return (state["q"] - q_ref) / q_ref

    def explain(self, status: Status, state: Mapping[str, float]) -> str:
        if status == Status.NONE:
            return (
                f"no fixed point: eq. 31 requires {state['q'] / 8e3:.6g} KB, not below "
                f"C T_high = {self.rate * self.t_high / 8e3:g} KB"
            )
        return ""
