"""DCQCN as rounds of one cut and many raises, to see how fast flows become equal.

here             paper       meaning                                             unit
rates            R_C(T_k)    rates at the peaks                                  bit/s
alphas           alpha(T_k)  the estimates there                                 1
units            Delta T_k   length of a round                                   tau'
t                t           from full link to the mark                          tau'

Source: ECN or Delay (CoNEXT 2016) §3.3, Appendix B, eq. 15, 16, 35-46. All flows peak together.
Differs: the paper's eq. 16 decays alpha Delta T_k - 1 times after the cut, its eq. 42 and 43 Delta T
times; eq. 43 is used here (`alpha_decays` says which). Not modelled: fast recovery, hyper increase.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shallows.core.contract import F64


@dataclass(frozen=True)
class Cycles:
    """time_s: [cycles] of the peaks. rates_bps, alphas: [cycles, flows]. units: [cycles - 1] lengths."""

    time_s: F64
    rates_bps: F64
    alphas: F64
    units: F64


@dataclass(frozen=True)
class Steady:
    """The cycle in the end. units: its length in tau'. efolding_s: a rate difference falls to 1/e in it."""

    alpha: float
    units: float
    efolding_s: float


def longest_marking_time(flows: int, r_ai: float, kmax: float = 200e3, tau_prime: float = 55e-6) -> float:
    """The upper bound of t in units of tau' (eq. 41): rates in bit/s, sizes in bytes."""
    return (np.sqrt(1 + 8 * (8 * kmax) / (flows * r_ai * tau_prime)) - 1) / 2


def cycle_length(alpha: float, flows: int, rate: float, r_ai: float, t: float) -> float:
    """Delta T_k in units of tau' (eq. 40)."""
    return 2 + (t / 2 + rate / (2 * flows * r_ai)) * alpha


def steady(
    flows: int,
    rate: float = 40e9,
    r_ai: float = 40e6,
    g: float = 1 / 256,
    t: float = 0.0,
    tau_prime: float = 55e-6,
    alpha_decays: str = "eq43",
) -> Steady:
    """The `Steady` cycle: alpha* by bisection of eq. 42, the e-folding time from eq. 18.

    t: 0, or up to `longest_marking_time`. alpha_decays: "eq43", or "eq16" for one decay fewer.
    """
    fewer = {"eq43": 0, "eq16": 1}[alpha_decays]
    low, high = 0.0, 1.0
    alpha = 0.5
    for _ in range(60):
        alpha = (low + high) / 2
        units = cycle_length(alpha, flows, rate, r_ai, t)
        after = (1 - g) ** (units - fewer) * ((1 - g) * alpha + g)
        low, high = (alpha, high) if after > alpha else (low, alpha)
    units = cycle_length(alpha, flows, rate, r_ai, t)
    return Steady(alpha, units, -units * tau_prime / math.log1p(-alpha / 2))


def cycles(
    rates_bps: Sequence[float],
    count: int,
    rate: float = 40e9,
    r_ai: float = 40e6,
    g: float = 1 / 256,
    t: float = 0.0,
    tau_prime: float = 55e-6,
    alphas: Sequence[float] | None = None,
) -> Cycles:
    """Iterates eq. 15, 38, 39 and 43 from `rates_bps` at the first peak (alpha 1 each unless given)."""
    rates, flows = np.asarray(rates_bps, float), len(rates_bps)
    estimates = np.ones(flows) if alphas is None else np.asarray(alphas, float)
    peak = rate + t * flows * r_ai
    all_rates, all_alphas = [rates], [estimates]
    units: list[float] = []
    for _ in range(count - 1):
        cut = (1 - estimates / 2) * rates
        # Eq. 39: after one unit of cutting, the targets climb to a step above the next peak (eq. 38).
        length = 1 + (peak + flows * r_ai - cut.sum()) / (flows * r_ai)
        rates = cut + (length - 1) * r_ai - (1 - 0.5 ** (length - 1)) * r_ai
        estimates = (1 - g) ** length * ((1 - g) * estimates + g)
        units.append(length)
        all_rates.append(rates)
        all_alphas.append(estimates)
    times = np.concatenate([[0.0], np.cumsum(units)]) * tau_prime
    return Cycles(times, np.array(all_rates), np.array(all_alphas), np.array(units))
