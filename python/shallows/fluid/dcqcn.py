"""Cuts the rate by alpha/2 when marks arrive, recovers half-way to a target, and raises the target.

here             paper         meaning                                          unit
R_C, R_T         R_C, R_T      current and target rate                          pkt/s
alpha            alpha         estimate of the share of marked intervals        1
q                q             queue                                            pkt
q_d, R_d         (t - tau*)    queue and own rate, one feedback delay ago       pkt, pkt/s
total, C         sum R_C, C    arrivals and capacity                            pkt/s
tau, tau_prime   tau, tau'     intervals of notifications and of alpha          s
T, B             T, B          timer and byte counter of rate increases         s, pkt
F, R_AI, g       F, R_AI, g    recovery steps, additive increase, gain of alpha 1, pkt/s, 1
tau_star         tau*          delay of the control loop                        s

Source: ECN or Delay (CoNEXT 2016) eq. 4-7 and 10-12, Table 1. The print divides the increase terms
of eq. 7 by 2 tau; 2 is meant. Not modelled: hyper increase, fast recovery as discrete steps, a least
rate, PFC. Marking is by packet, so the size of a packet (mtu) is a physical parameter.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shallows.core.contract import F64, Flags
from shallows.errors import ScenarioError
from shallows.fluid.model import Constants, Model, Status, in_words, parameter
from shallows.fluid.red import marking, queue_at
from shallows.fluid.system import System, equations

FOUND, OFF_RAMP, NONE = (int(status) for status in (Status.FOUND, Status.OFF_RAMP, Status.NONE))


@equations
def _saturation(x: float) -> float:
    """x / (1 - e^-x) for x <= 0: 1 at 0, and 0 at minus infinity, without overflow on the way."""
    if x.real == 0.0 and x.imag == 0.0:
        return x + 1.0
    return x * np.exp(x) / np.expm1(x)


@equations
def increase_rates(p: float, R: float, B: float, T: float, F: float) -> tuple[float, float]:
    """R(b + d) and R(c + e) of eq. 12: how often a flow at rate R sees any increase, and an additive one.

    Written with ln(1 - p): the printed (1-p)^-B overflows, and R d stays finite where R goes to 0.
    """
    if p.real >= 1.0:
        return 0.0 * R, 0.0 * R
    unmarked = np.log1p(-p)
    scale = 1.0 + 0.0 * p
    if p.real > 0.0:
        scale = -p / unmarked
    Rb = R * scale * _saturation(B * unmarked) / B
    Rd = scale * _saturation(T * R * unmarked) / T
    return Rb + Rd, Rb * np.exp(F * B * unmarked) + Rd * np.exp(F * T * R * unmarked)


@equations
def any_marked(p: float, packets: float) -> float:
    """1 - (1-p)^packets: the probability that at least one of `packets` is marked."""
    if p.real >= 1.0:
        return 0.0 * packets + (1.0 if packets.real > 0.0 else 0.0)
    return -np.expm1(packets * np.log1p(-p))


@equations
def sender(
    R_C: float, R_T: float, alpha: float, p: float, R_d: float, tau: float, tau_prime: float, T: float,
    B: float, F: float, R_AI: float, g: float,
) -> tuple[float, float, float]:  # fmt: skip
    """dR_C/dt (eq. 7), dR_T/dt (eq. 6) and dalpha/dt (eq. 5) under the delayed marking probability p."""
    a = any_marked(p, tau * R_d)
    increases, additive = increase_rates(p, R_d, B, T, F)
    dR_C = -R_C * alpha * a / (2 * tau) + (R_T - R_C) / 2 * increases
    dR_T = -(R_T - R_C) * a / tau + R_AI * additive
    dalpha = g / tau_prime * (any_marked(p, tau_prime * R_d) - alpha)
    return dR_C, dR_T, dalpha


@equations
def reaction(
    R_C: float, R_T: float, alpha: float, q_d: float, R_d: float, Kmin: float, Kmax: float, pmax: float,
    extended: float, tau: float, tau_prime: float, T: float, B: float, F: float, R_AI: float, g: float,
) -> tuple[float, float, float]:  # fmt: skip
    p = marking(q_d, Kmin, Kmax, pmax, extended)
    return sender(R_C, R_T, alpha, p, R_d, tau, tau_prime, T, B, F, R_AI, g)


@equations
def link(total: float, C: float) -> float:
    """Eq. 4."""
    return total - C


@equations
def sending(R_C: float) -> float:
    return R_C


@equations
def feedback(q: float, C: float, tau_star: float, enqueue: float) -> float:
    """A mark made as the packet leaves is as old as the way back; one made as it enters also waits."""
    return tau_star + enqueue * q / C


@equations
def _imbalance(
    log_p: float, R: float, tau: float, tau_prime: float, T: float, B: float, F: float, R_AI: float
) -> float:
    """ln of the left side of eq. 11 over its right side: nearly a straight line in ln p, rising."""
    p = np.exp(log_p)
    a, alpha = any_marked(p, tau * R), any_marked(p, tau_prime * R)
    increases, additive = increase_rates(p, R, B, T, F)
    return np.log(a * a * alpha * R) - np.log(tau * tau * R_AI * increases * additive)


@equations
def marking_at_rest(
    R: float, tau: float, tau_prime: float, T: float, B: float, F: float, R_AI: float
) -> float:
    """The marking probability that holds a flow at rate R (eq. 11); -1 where none does.

    False position in ln p that halves a side used twice (Illinois), and bisects where a side overflows.
    """
    low, high = np.log(1e-12), np.log(1.0 - 1e-9)
    f_low = _imbalance(low, R, tau, tau_prime, T, B, F, R_AI)
    f_high = _imbalance(high, R, tau, tau_prime, T, B, F, R_AI)
    if not f_low < 0.0 or not f_high > 0.0:
        return -1.0
    last = 0
    for _ in range(200):
        middle = high - f_high * (high - low) / (f_high - f_low)
        if not low < middle < high:
            middle = (low + high) / 2
        f = _imbalance(middle, R, tau, tau_prime, T, B, F, R_AI)
        if abs(f) < 1e-14 or high - low < 1e-15 * abs(low):
            return np.exp(middle)
        side = -1 if f < 0.0 else 1
        if side < 0:
            low, f_low = middle, f
            f_high = f_high / 2 if last == side else f_high
        else:
            high, f_high = middle, f
            f_low = f_low / 2 if last == side else f_low
        last = side
    return np.exp((low + high) / 2)


@equations
def at_rest(
    p: float, R: float, tau: float, tau_prime: float, T: float, B: float, F: float
) -> tuple[float, float]:
    """R_T and alpha of a flow held at rate R by marking with probability p: eq. 10, eq. 7 at zero."""
    alpha = any_marked(p, tau_prime * R)
    increases, _ = increase_rates(p, R, B, T, F)
    return R + any_marked(p, tau * R) * alpha * R / (tau * increases), alpha


@equations
def equilibrium(
    flows: float, C: float, Kmin: float, Kmax: float, pmax: float, extended: float, tau: float,
    tau_prime: float, T: float, B: float, F: float, R_AI: float,
) -> tuple[float, ...]:  # fmt: skip
    R = C / flows
    p = marking_at_rest(R, tau, tau_prime, T, B, F, R_AI)
    if p < 0.0:
        return NONE, np.nan, R, np.nan, np.nan
    R_T, alpha = at_rest(p, R, tau, tau_prime, T, B, F)
    q = queue_at(p, Kmin, Kmax, pmax)
    status = FOUND
    if q > Kmax:
        status = OFF_RAMP if extended > 0.0 else NONE
    return status, q, R, R_T, alpha


@dataclass(frozen=True, kw_only=True, repr=False)
class Dcqcn(Model):
    """DCQCN with RED. All flows start at line rate with alpha = 1 and an empty queue."""

    rate: float = parameter("rate", 40e9, "C: capacity of the bottleneck", above=0)
    delay: float = parameter("time", 4e-6, "tau*: delay of the control loop", least=0)
    r_ai: float = parameter("rate", 40e6, "R_AI: additive increase of the target rate", above=0)
    kmin: float = parameter("size", 5e3, "K_min: marking begins", least=0)
    kmax: float = parameter("size", 200e3, "K_max: the ramp ends", above=0)
    pmax: float = parameter("number", 0.01, "P_max: marking probability at kmax", above=0, most=1)
    ramp: str = parameter(("cliff", "extended"), "cliff", "beyond kmax: mark everything, or go on rising")
    at: str = parameter(("dequeue", "enqueue"), "dequeue", "a packet is marked as it leaves, or as it enters")
    g: float = parameter("number", 1 / 256, "g: gain of alpha", above=0, most=1)
    tau: float = parameter("time", 50e-6, "tau: least time between notifications", above=0)
    tau_prime: float = parameter("time", 55e-6, "tau': interval of alpha's decay", above=0)
    t: float = parameter("time", 55e-6, "T: timer of rate increases", above=0)
    b: float = parameter("size", 10e6, "B: byte counter of rate increases", above=0)
    f: float = parameter("number", 5, "F: recovery steps before additive increase", least=0)

    name: ClassVar = "dcqcn"
    source: ClassVar = "ECN or Delay (CoNEXT 2016) eq. 3-7"
    outputs: ClassVar = {"R_T": ("target_rate_bps", True), "alpha": ("alpha", False)}
    system: ClassVar = System(
        shared=("q",),
        flow=("R_C", "R_T", "alpha"),
        delayed={"q_d": ("q", 0), "R_d": ("R_C", 0)},
        reaction=reaction,
        link=link,
        sending=sending,
        feedback=feedback,
        equilibrium=equilibrium,
        own_rate="R_C",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ramp(self)

    def possible(self, grid: Mapping[str, F64]) -> Flags:
        """Where kmax is above kmin."""
        everywhere = super().possible(grid)
        return everywhere & (grid.get("kmax", self.kmax) > grid.get("kmin", self.kmin))

    def constants(self) -> Constants:
        return sender_constants(self) | red_constants(self)

    @property
    def drain(self) -> float:
        return self.rate / self.unit_bits if self.at == "enqueue" else 0.0

    def bounds(self) -> dict[str, tuple[float, float]]:
        line_rate = self.rate / self.unit_bits
        return super().bounds() | {"R_C": (0.0, line_rate), "R_T": (0.0, line_rate), "alpha": (0.0, 1.0)}

    def initial_rate(self, total_flows: float) -> float:
        return self.rate

    def start(self, rate_bps: float) -> dict[str, float]:
        return {"R_C": rate_bps / self.unit_bits, "R_T": rate_bps / self.unit_bits, "alpha": 1.0}

    def feedback_at(self, state: Mapping[str, float]) -> float | None:
        k = self.scalars()
        symbols = ("tau", "tau_prime", "T", "B", "F", "R_AI")
        p = marking_at_rest(k["C"] / self.flows, *(k[symbol] for symbol in symbols))
        return p if p > 0 else None

    def derived(self, time_s: F64, states: Mapping[str, F64]) -> dict[str, F64]:
        k = self.scalars()
        red = [k[symbol] for symbol in ("Kmin", "Kmax", "pmax", "extended")]
        return {"p": np.array([marking(q, *red) for q in states["q"]])}

    def explain(self, status: Status, state: Mapping[str, float]) -> str:
        if status == Status.OFF_RAMP:
            return f"the queue is on the extension of the ramp, beyond kmax = {self.kmax / 1e3:g} KB"
        if status != Status.NONE:
            return ""
        p = self.feedback_at(state)
        if p is None:
            return "no fixed point: no marking probability balances decrease and increase (eq. 11)"
        return (
            f"no fixed point: it needs a marking probability of {p:.6g}, but RED jumps from "
            f"pmax = {self.pmax:g} to 1 at kmax = {self.kmax / 1e3:g} KB; ramp=extended continues the slope"
        )


def sender_constants(model: Dcqcn) -> Constants:
    """The constants of `sender` and of the link, in packets, from a model with DCQCN's parameters."""
    packet = model.unit_bits
    return {
        "flows": model.flows,
        "C": model.rate / packet,
        "tau_star": model.delay,
        "tau": model.tau,
        "tau_prime": model.tau_prime,
        "T": model.t,
        "B": 8 * model.b / packet,
        "F": model.f,
        "R_AI": model.r_ai / packet,
        "g": model.g,
        "enqueue": float(model.at == "enqueue"),
    }


def red_constants(model: Dcqcn) -> Constants:
    """RED's constants in packets, from a model with kmin, kmax, pmax and ramp."""
    packet = model.unit_bits
    return {
        "Kmin": 8 * model.kmin / packet,
        "Kmax": 8 * model.kmax / packet,
        "pmax": model.pmax,
        "extended": float(model.ramp == "extended"),
    }


def require_ramp(model: Dcqcn) -> None:
    """Raises ScenarioError where kmax is not above kmin."""
    kmin, kmax = np.broadcast_arrays(model.kmin, model.kmax)
    for at in np.flatnonzero(~(kmax > kmin))[:1]:  # of a grid the first such pair
        low, high = (in_words("size", float(one.flat[at])) for one in (kmin, kmax))
        raise ScenarioError("kmax", high, f"a size above kmin = {low}")
