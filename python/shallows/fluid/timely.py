"""Raises the rate while the delay does not grow, and cuts it in proportion to the delay's gradient.

here            paper          meaning                                           unit
R, g            R_i, g_i       rate, and gradient of the delay (smoothed)        bit/s, 1
q, q_d, q_dd    q              queue: now, tau' ago, tau' + tau_i* ago           bit
C, delta, beta  C, delta, beta capacity, additive step, decrease factor          bit/s, bit/s, 1
alpha           alpha          weight of a new gradient                          1
T_low, T_high   T_low, T_high  delays below and above which the gradient is idle s
D_minRTT, Seg   D_minRTT, Seg  least interval of updates; a burst                s, bit
D_prop, wire    D_prop, MTU    delay without queue; what is serialised in (24)   s, bit

Source: ECN or Delay (CoNEXT 2016) eq. 20-24 and 28, Table 2. The thresholds are tested before the
gradient, as in Algorithm 1. Not modelled: hyperactive increase, pacing of bursts. Differs: a rate has
a floor of C/1000, without which eq. 23 has no bound. `inequality=changed` is eq. 28 (g < 0, g >= 0).
`serialization=seg` puts a burst in place of the MTU in eq. 24, as the paper's Fig. 8 was computed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shallows.errors import ScenarioError
from shallows.fluid.model import Constants, Model, Status, in_words, parameter
from shallows.fluid.system import System, equations

NONE, CONTINUUM = int(Status.NONE), int(Status.CONTINUUM)
LEAST_SHARE = 1e-3


@equations
def update_interval(R: float, Seg: float, D_floor: float) -> float:
    """tau_i*, eq. 23; D_floor is D_minRTT, or 0 to leave its maximum out."""
    if (Seg / R).real > D_floor:
        return Seg / R
    return D_floor + 0.0 * R


@equations
def feedback_delay(q: float, C: float, wire: float, D_prop: float) -> float:
    """tau', eq. 24."""
    return q / C + wire / C + D_prop


@equations
def feedback(
    R: float, q: float, C: float, wire: float, D_prop: float, Seg: float, D_floor: float
) -> tuple[float, float]:
    newest = feedback_delay(q, C, wire, D_prop)
    return newest, newest + update_interval(R, Seg, D_floor)


@equations
def gradient_change(
    g: float, q_d: float, q_dd: float, interval: float, alpha: float, C: float, D_minRTT: float
) -> float:
    """dg/dt, eq. 22."""
    return alpha / interval * (-g + (q_d - q_dd) / (C * D_minRTT))


@equations
def reaction(
    R: float, g: float, q_d: float, q_dd: float, C: float, delta: float, beta: float, alpha: float,
    T_low: float, T_high: float, D_minRTT: float, D_floor: float, Seg: float, changed: float,
) -> tuple[float, float]:  # fmt: skip
    """dR/dt (eq. 21, or eq. 28 where `changed`) and dg/dt."""
    interval = update_interval(R, Seg, D_floor)
    if q_d.real < C * T_low:
        dR = delta / interval
    elif q_d.real > C * T_high:
        dR = -beta / interval * (1 - C * T_high / q_d) * R
    elif g.real < 0.0 or (g.real == 0.0 and changed == 0.0):
        dR = delta / interval
    else:
        dR = -g * beta / interval * R
    return dR, gradient_change(g, q_d, q_dd, interval, alpha, C, D_minRTT)


@equations
def link(total: float, C: float) -> float:
    """Eq. 20."""
    return total - C


@equations
def sending(R: float) -> float:
    return R


@equations
def equilibrium(flows: float, C: float, changed: float) -> tuple[float, ...]:
    """Theorem 3: none; with the changed inequality, Theorem 4: any queue and any rates that fill the link."""
    status = CONTINUUM if changed > 0.0 else NONE
    return status, np.nan, C / flows, 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class Timely(Model):
    """TIMELY. Flows start at C/N with an empty queue."""

    delay: float = parameter("time", 4e-6, "D_prop: delay without queueing", least=0)
    delta: float = parameter("rate", 10e6, "delta: additive increase step", above=0)
    beta: float = parameter("number", 0.8, "beta: multiplicative decrease factor", above=0, most=1)
    alpha: float = parameter("number", 0.875, "alpha: weight of a new gradient", above=0, most=1)
    t_low: float = parameter("time", 50e-6, "T_low: below this delay, only increase", above=0)
    t_high: float = parameter("time", 500e-6, "T_high: above this delay, decrease", above=0)
    d_min_rtt: float = parameter("time", 20e-6, "D_minRTT: least interval of updates", above=0)
    seg: float = parameter("size", 64e3, "Seg: a burst, acknowledged as one", above=0)
    inequality: str = parameter(("printed", "changed"), "printed", "eq. 21, or eq. 28")
    serialization: str = parameter(("mtu", "seg"), "mtu", "what is serialised in eq. 24")
    interval: str = parameter(("max", "seg"), "max", "eq. 23, or without its maximum")

    name: ClassVar = "timely"
    source: ClassVar = "ECN or Delay (CoNEXT 2016) eq. 20-24, 28"
    outputs: ClassVar = {"g": ("gradient", False)}
    system: ClassVar = System(
        shared=("q",),
        flow=("R", "g"),
        delayed={"q_d": ("q", 0), "q_dd": ("q", 1)},
        reaction=reaction,
        link=link,
        sending=sending,
        feedback=feedback,
        equilibrium=equilibrium,
        lags=2,
        own_rate="R",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.all(np.asarray(self.t_high) > self.t_low):
            above = in_words("time", np.max(self.t_low))
            raise ScenarioError("t_high", in_words("time", self.t_high), f"a time above t_low = {above}")

    @property
    def unit_bits(self) -> float:
        return 1.0

    @property
    def measured_per_second(self) -> dict[str, float]:
        return {"q_d": self.rate, "q_dd": self.rate}

    def constants(self) -> Constants:
        return delay_constants(self) | {
            "alpha": self.alpha,
            "T_low": self.t_low,
            "changed": float(self.inequality == "changed"),
        }

    def bounds(self) -> dict[str, tuple[float, float]]:
        return super().bounds() | {"R": (LEAST_SHARE * self.rate, self.rate)}

    def start(self, rate_bps: float) -> dict[str, float]:
        return {"R": max(rate_bps, LEAST_SHARE * self.rate), "g": 0.0}

    def explain(self, status: Status, state: Mapping[str, float]) -> str:
        if status == Status.CONTINUUM:
            return (
                f"no single fixed point: any queue between {self.rate * self.t_low / 8e3:g} and "
                f"{self.rate * self.t_high / 8e3:g} KB, and any rates that fill the link, rest (Theorem 4)"
            )
        return "no fixed point: the rate rises while the gradient is 0, so the queue cycles (Theorem 3)"


def delay_constants(model: Timely) -> Constants:
    """What TIMELY's descendants share, in bits, from a model with TIMELY's parameters."""
    return {
        "flows": model.flows,
        "C": model.rate,
        "D_prop": model.delay,
        "wire": 8 * (model.seg if model.serialization == "seg" else model.mtu),
        "delta": model.delta,
        "beta": model.beta,
        "T_high": model.t_high,
        "D_minRTT": model.d_min_rtt,
        "D_floor": model.d_min_rtt * float(model.interval == "max"),
        "Seg": 8 * model.seg,
    }
