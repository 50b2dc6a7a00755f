"""DCQCN with a switch that marks by a proportional-integral controller instead of RED.

here         paper      meaning                                        unit
p            p          marking probability, a state of the switch     1
p_d          p(t-tau*)  the same, one feedback delay ago               1
K1, K2       K_1, K_2   proportional and integral gain                 1/pkt, 1/(pkt s)
q_ref, q_max q_ref, -   the queue it settles at; the buffer            pkt
the rest                as in dcqcn.py

Source: ECN or Delay (CoNEXT 2016) eq. 32, §5.2. The paper prints no gains; K1 = 5.8e-6 and K2/K1 = 30/s
settle in 0.05 to 0.25 s for 2 to 64 flows. p is kept in [0, 1] and does not wind up there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from shallows.core.contract import F64
from shallows.fluid.dcqcn import Dcqcn, at_rest, marking_at_rest, sender, sender_constants
from shallows.fluid.model import Constants, Status, parameter
from shallows.fluid.system import equations

FOUND, NONE = int(Status.FOUND), int(Status.NONE)


@equations
def reaction(
    R_C: float, R_T: float, alpha: float, p_d: float, R_d: float, tau: float, tau_prime: float, T: float,
    B: float, F: float, R_AI: float, g: float,
) -> tuple[float, float, float]:  # fmt: skip
    return sender(R_C, R_T, alpha, p_d, R_d, tau, tau_prime, T, B, F, R_AI, g)


@equations
def link(
    q: float, total: float, C: float, K1: float, K2: float, q_ref: float, q_max: float
) -> tuple[float, float]:
    """dq/dt (eq. 4) and dp/dt (eq. 32), where de/dt is the queue's true change: 0 while empty or full."""
    dq = total - C
    if (q.real <= 0.0 and dq.real < 0.0) or (q.real >= q_max and dq.real > 0.0):
        dq = 0.0 * dq
    return dq, K1 * dq + K2 * (q - q_ref)


@equations
def equilibrium(
    flows: float, C: float, q_ref: float, tau: float, tau_prime: float, T: float, B: float, F: float,
    R_AI: float,
) -> tuple[float, ...]:  # fmt: skip
    R = C / flows
    p = marking_at_rest(R, tau, tau_prime, T, B, F, R_AI)
    R_T, alpha = at_rest(p, R, tau, tau_prime, T, B, F)
    return FOUND if p > 0.0 else NONE, q_ref, p, R, R_T, alpha


@dataclass(frozen=True, kw_only=True, repr=False)
class DcqcnPi(Dcqcn):
    """DCQCN with PI marking. Starts like DCQCN, with p = 0."""

    k1: float = parameter("number", 5.8e-6, "K_1: proportional gain, per packet", above=0)
    k2: float = parameter("number", 1.74e-4, "K_2: integral gain, per packet and second", above=0)
    q_ref: float = parameter("size", 200e3, "the queue it settles at", above=0)

    name: ClassVar = "dcqcn-pi"
    source: ClassVar = "ECN or Delay (CoNEXT 2016) eq. 5-7, 32"
    outputs: ClassVar = {**Dcqcn.outputs, "p": ("p", False)}
    system: ClassVar = replace(
        Dcqcn.system,
        shared=("q", "p"),
        delayed={"p_d": ("p", 0), "R_d": ("R_C", 0)},
        reaction=reaction,
        link=link,
        equilibrium=equilibrium,
    )

    def constants(self) -> Constants:
        packet = self.unit_bits
        return sender_constants(self) | {
            "K1": self.k1,
            "K2": self.k2,
            "q_ref": 8 * self.q_ref / packet,
            "q_max": 8 * self.buffer / packet,
        }

    def bounds(self) -> dict[str, tuple[float, float]]:
        return super().bounds() | {"p": (0.0, 1.0)}

    def derived(self, time_s: F64, states: Mapping[str, F64]) -> dict[str, F64]:
        return {}

    def explain(self, status: Status, state: Mapping[str, float]) -> str:
        return "" if status == Status.FOUND else "no fixed point: no marking probability balances eq. 11"
