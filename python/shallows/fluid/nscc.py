"""Grows below a target delay, and cuts by the excess of the average delay where packets are also marked.

here               specification    meaning                                          unit
W                  cwnd             window                                           pkt
V                  avg              average queueing delay                           s
q, q_d, q_m        -                queue now, before the answered packet, behind it pkt
D, p               -                delay of the answered packet q_d/C; its mark     s, 1
B, target          base_rtt, …      base round trip, target of the delay             s
alpha, fi, eta     alpha, fi, eta   increases: below the target, above it unmarked,  pkt
                                    and whatever the signals
gamma, jump        gamma, max_md_…  share of the excess that is cut, least factor    1
gain               -                weight of an answer in the average               1
C, R               -                capacity, empty round trip                       pkt/s, s

Source: Ultra Ethernet 1.0 §3.6.13, 1.0.3 table 3-82; the average is that of uet-htsim, in which an unmarked
late answer counts as B/4. With T = R + q/C there are W/T answers a second, and marks p are RED's as a
packet leaves. W' = (1 - p) alpha (1 - D/target)/T below the target and (1 - p) fi/T above it, and eta/B
always. Where V and D are above the target, a cut of W min(gamma (V - target)/V, 1 - jump) comes once in B.
V' = gain W/T (sample - V). q' is that of ack_clock.py. Not modelled: fast increase on an empty path, quick
adapt, losses, trims, adjustments in steps of 8 packets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shallows.core.contract import F64, Flags
from shallows.errors import ScenarioError
from shallows.fluid.ack_clock import AckClocked, queue_change, round_trip, sending
from shallows.fluid.model import Constants, Status, in_words, parameter
from shallows.fluid.red import marking
from shallows.fluid.system import System, equations

FOUND, OFF_RAMP, NONE = int(Status.FOUND), int(Status.OFF_RAMP), int(Status.NONE)
REFERENCE_BDP, REFERENCE_TARGET_S = 150e3, 12e-6
"""Bytes in flight and target delay for which the specification has its gains."""


@equations
def increase(D: float, p: float, target: float, alpha: float, fi: float) -> float:
    """Packets that a window of answers adds."""
    if D.real < target:
        return (1 - p) * alpha * (1 - D / target)
    return (1 - p) * fi


@equations
def cut(W: float, V: float, D: float, target: float, gamma: float, jump: float) -> float:
    """Packets that one decrease takes."""
    if V.real <= target or D.real < target:
        return 0.0 * V
    share = gamma * (V - target) / V
    if share.real > 1 - jump:
        share = 1 - jump + 0.0 * V
    return W * share


@equations
def sample(D: float, p: float, B: float, target: float) -> float:
    if D.real <= target:
        return D + 0.0 * p
    return p * D + (1 - p) * B / 4


@equations
def reaction(
    W: float, V: float, q: float, q_d: float, q_m: float, C: float, R: float, B: float, target: float,
    alpha: float, fi: float, eta: float, gamma: float, jump: float, gain: float,
    Kmin: float, Kmax: float, pmax: float, extended: float,
) -> tuple[float, float]:  # fmt: skip
    T = round_trip(q, C, R)
    D, p = q_d / C, marking(q_m, Kmin, Kmax, pmax, extended)
    dW = increase(D, p, target, alpha, fi) / T + eta / B - cut(W, V, D, target, gamma, jump) / B
    return dW, gain * W / T * (sample(D, p, B, target) - V)


@equations
def feedback(q: float, C: float, R: float) -> tuple[float, float]:
    """A delay is that of the packet that waited; a mark is made as it leaves."""
    return round_trip(q, C, R), R


@equations
def equilibrium(
    flows: float, C: float, R: float, B: float, target: float, fi: float, eta: float, gamma: float,
    jump: float, Kmin: float, Kmax: float, pmax: float, extended: float,
) -> tuple[float, ...]:  # fmt: skip
    """The delay above the target at which cuts balance increases, by bisection."""
    low, high = target, target + 8 * B
    delay, window, average = low, 0.0, low
    for _ in range(60):
        delay = (low + high) / 2
        p = marking(C * delay, Kmin, Kmax, pmax, extended)
        window = C * (R + delay) / flows
        average = sample(delay, p, B, target)
        if (1 - p) * fi / (R + delay) + eta / B > cut(window, average, delay, target, gamma, jump) / B:
            low = delay
        else:
            high = delay
    queue = C * delay
    status = OFF_RAMP if queue > Kmax else FOUND
    if high >= target + 8 * B:
        status = NONE
    return status, queue, window, average


def _ramp(rate: object, delay: object, base_rtt: object, kmin: object, kmax: object) -> tuple[F64, F64]:
    """K_min and K_max in bytes: by default 0.2 and 0.8 of rate times base round trip (UE 1.0.3)."""
    stated, otherwise = np.asarray(base_rtt, np.float64), np.asarray(delay, np.float64)
    product = np.asarray(rate, np.float64) / 8 * np.where(stated > 0, stated, otherwise)
    low, high = np.asarray(kmin, np.float64), np.asarray(kmax, np.float64)
    return np.where(low > 0, low, 0.2 * product), np.where(high > 0, high, 0.8 * product)


@dataclass(frozen=True, kw_only=True, repr=False)
class Nscc(AckClocked):
    """NSCC. Flows start with their share of the empty path, near which quick adapt leaves them."""

    rate: float = parameter("rate", 400e9, "C: capacity of the bottleneck", above=0)
    delay: float = parameter("time", 8e-6, "round trip without queueing", above=0)
    mtu: float = parameter("size", 4096.0, "a packet on the wire", above=0)
    base_rtt: float = parameter("time", 0.0, "config_base_rtt; 0: the delay", least=0)
    trimming: float = parameter("number", 1.0, "1: ports trim, and the target is shorter", least=0, most=1)
    target: float = parameter(
        "time", 0.0, "target_qdelay; 0: 3/4 of base_rtt if ports trim, else base_rtt", least=0
    )
    max_window_bdp: float = parameter("number", 1.5, "MaxWnd in products of rate and base_rtt", above=0)
    alpha: float = parameter("number", 4.0, "increase of a window without delay, in packets a b", least=0)
    fi: float = parameter("number", 5.0, "increase of an unmarked late window, in packets a", least=0)
    eta: float = parameter("number", 0.15, "increase a round trip, in packets a", least=0)
    gamma: float = parameter("number", 0.8, "decrease, as a share of the excess", above=0, most=1)
    max_md_jump: float = parameter("number", 0.5, "least factor of a decrease", above=0, most=1)
    average_gain: float = parameter("number", 0.0125, "weight of an answer in the average", above=0, most=1)
    kmin: float = parameter("size", 0.0, "K_min: marking begins; 0: at 0.2 of rate x base_rtt", least=0)
    kmax: float = parameter("size", 0.0, "K_max: the ramp ends; 0: at 0.8 of rate x base_rtt", least=0)
    ramp: str = parameter(("cliff", "extended"), "cliff", "beyond kmax: mark everything, or go on rising")
    pmax: float = parameter("number", 1.0, "P_max: marking probability at kmax", above=0, most=1)

    name: ClassVar = "nscc"
    loop_at: ClassVar = "mark"
    source: ClassVar = "Ultra Ethernet 1.0 §3.6.13"
    outputs: ClassVar = {"W": ("window_pkt", False), "V": ("average_delay_s", False)}
    system: ClassVar = System(
        shared=("q",),
        flow=("W", "V"),
        delayed={"q_d": ("q", 0), "q_m": ("q", 1)},
        reaction=reaction,
        link=queue_change,
        sending=sending,
        feedback=feedback,
        equilibrium=equilibrium,
        lags=2,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = np.broadcast_arrays(*self.ramp_bytes)
        for at in np.flatnonzero(~(high > low))[:1]:  # of a grid the first such pair
            ends = (in_words("size", float(one.flat[at])) for one in (high, low))
            raise ScenarioError("kmax", next(ends), f"a size above kmin = {next(ends)}")

    def possible(self, grid: Mapping[str, F64]) -> Flags:
        """Where kmax is above kmin."""
        columns = {
            key: grid.get(key, getattr(self, key)) for key in ("rate", "delay", "base_rtt", "kmin", "kmax")
        }
        low, high = _ramp(**columns)
        return super().possible(grid) & (high > low)

    @property
    def base_s(self) -> F64:
        """B in seconds."""
        return np.where(np.asarray(self.base_rtt) > 0, self.base_rtt, self.delay)

    @property
    def ramp_bytes(self) -> tuple[F64, F64]:
        """K_min and K_max in bytes."""
        return _ramp(self.rate, self.delay, self.base_rtt, self.kmin, self.kmax)

    def constants(self) -> Constants:
        packet = self.unit_bits
        C, B = self.rate / packet, self.base_s
        share = np.where(np.asarray(self.trimming) > 0, 0.75, 1.0)
        target = np.where(np.asarray(self.target) > 0, self.target, share * B)
        a, b = self.rate / 8 * B / REFERENCE_BDP, target / REFERENCE_TARGET_S
        kmin, kmax = self.ramp_bytes
        return {
            "flows": self.flows,
            "C": C,
            "R": self.delay,
            "B": B,
            "target": target,
            "alpha": self.alpha * a * b,
            "fi": self.fi * a,
            "eta": self.eta * a,
            "gamma": self.gamma,
            "jump": self.max_md_jump,
            "gain": self.average_gain,
            "Kmin": 8 * kmin / packet,
            "Kmax": 8 * kmax / packet,
            "pmax": self.pmax,
            "extended": float(self.ramp == "extended"),
        }

    def bounds(self) -> dict[str, tuple[float, float]]:
        most = float(self.max_window_bdp * self.rate * self.base_s) / self.unit_bits
        return super().bounds() | {"W": (1.0, max(1.0, most)), "V": (0.0, np.inf)}

    def start(self, rate_bps: float) -> dict[str, float]:
        return {"W": rate_bps * self.delay / self.unit_bits, "V": 0.0}

    def feedback_at(self, state: Mapping[str, float]) -> float | None:
        """The probability of a mark at rest."""
        k = self.scalars()
        return float(marking(state["q"], k["Kmin"], k["Kmax"], k["pmax"], k["extended"]))

    def explain(self, status: Status, state: Mapping[str, float]) -> str:
        if status == Status.OFF_RAMP:
            return f"the queue is beyond kmax = {self.ramp_bytes[1] / 1e3:g} KB, where every packet is marked"
        if status == Status.NONE:
            return "no fixed point: no delay balances increases and cuts"
        return ""
