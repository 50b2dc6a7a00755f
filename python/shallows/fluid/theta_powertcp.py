"""PowerTCP by round trips: once in each, divides the window by the power that delay and gradient show.

here         paper      meaning                                              unit
W            w          window                                               pkt
q            q          queue                                                pkt
q_d, q_dd    -          that before the answered packet, and a round earlier pkt
G            Gamma      (thetadot + 1) RTT / tau                             1
C, R, beta   b, tau     capacity, empty round trip, additive step            pkt/s, s, pkt
gamma        gamma      weight of the new window                             1

Source: PowerTCP (NSDI 2022) Algorithm 2. Once a round T = R + q/C the window becomes gamma (W/G + beta) +
(1 - gamma) W. The turns of many flows are spread over the round: W' = gamma (W/G + beta - W)/T, with G = (1
+ (q_d - q_dd)/(C T)) (R + q_d/C)/R; q' is that of ack_clock.py. At rest q is the sum of all beta. Flows
that start at one instant take their turns together; `largest_root` has the linear form of these rounds. Not
modelled: losses, whole packets.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shallows.fluid.ack_clock import queue_change, round_trip, sending
from shallows.fluid.model import Status
from shallows.fluid.powertcp import LEAST_POWER, Power
from shallows.fluid.system import System, equations

FOUND = int(Status.FOUND)


@equations
def reaction(
    W: float, q: float, q_d: float, q_dd: float, C: float, R: float, beta: float, gamma: float
) -> float:
    T = round_trip(q, C, R)
    power = (1 + (q_d - q_dd) / (C * T)) * round_trip(q_d, C, R) / R
    if power.real < LEAST_POWER:
        power = LEAST_POWER + 0.0 * q_d
    return gamma * (W / power + beta - W) / T


@equations
def feedback(q: float, C: float, R: float) -> tuple[float, float]:
    T = round_trip(q, C, R)
    return T, 2 * T


@equations
def equilibrium(flows: float, C: float, R: float, beta: float) -> tuple[float, ...]:
    q = flows * beta
    return FOUND, q, (C * R + q) / flows


@dataclass(frozen=True, kw_only=True, repr=False)
class ThetaPowerTcp(Power):
    """theta-PowerTCP."""

    name: ClassVar = "theta-powertcp"
    source: ClassVar = "PowerTCP (NSDI 2022) Algorithm 2"
    outputs: ClassVar = {"W": ("window_pkt", False)}
    system: ClassVar = System(
        shared=("q",),
        flow=("W",),
        delayed={"q_d": ("q", 0), "q_dd": ("q", 1)},
        reaction=reaction,
        link=queue_change,
        sending=sending,
        feedback=feedback,
        equilibrium=equilibrium,
        lags=2,
    )


def largest_root(model: ThetaPowerTcp) -> complex:
    """The largest root z of the rounds of flows that take turns together: they oscillate beyond |z| = 1.

    Windows of a round fill path and queue a round later, so that a round lasts W(k-1)/C. With
    r = C R/(C R + N beta) a small deviation d obeys
    d(k+1) = gamma r (d(k) - 2 d(k-1) + d(k-2)) + (1 - gamma) d(k).
    """
    rest = model.fixed_point()
    product = model.rate * model.delay / 8
    pull = model.gamma * product / (product + (rest.queue_bytes or 0.0))
    roots = np.roots([1, -(pull + 1 - model.gamma), 2 * pull, -pull])
    return complex(roots[np.argmax(np.abs(roots))])
