"""ExpressPass' credit feedback as alternating rounds of rise and fall, to see where it settles.

here         paper         meaning                                                   unit
rates        R_n(t)        credit rates                                              bit/s
weights      w_n(t)        aggressiveness                                            1
capacity     C             max_rate (1 + target_loss)                                bit/s
swing        D*            change between rounds in the end                          bit/s

Source: ExpressPass (SIGCOMM 2017) §4, Algorithm 1 lines 8-12, eq. 2-5. Every flow updates at once, and
credits are lost in proportion to what each flow sent. Differs: eq. 3 and 4 print the constant C/N (or
its like) whole from the first round on; the recurrence they solve approaches it as 1 - (1-w)^k/A^k.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shallows.core.contract import F64


@dataclass(frozen=True)
class Rounds:
    """rates_bps, weights: [rounds + 1, flows]; row 0 is the start, odd rows follow a rise."""

    rates_bps: F64
    weights: F64


def rounds(
    rates_bps: Sequence[float],
    count: int,
    max_rate: float = 10e9,
    target_loss: float = 0.1,
    w_min: float = 0.01,
    w_max: float = 0.5,
) -> Rounds:
    """Iterates `count` update periods of flows that begin with `rates_bps` and weight w_max.

    A rise is R <- (1-w) R + w C; a fall scales all rates to a sum of C and halves w down to w_min.
    """
    capacity = max_rate * (1 + target_loss)
    rates = np.asarray(rates_bps, float)
    weights = np.full(len(rates), w_max)
    all_rates, all_weights = [rates], [weights]
    for n in range(count):
        if n % 2 == 0:
            rates = (1 - weights) * rates + weights * capacity
        else:
            rates = rates * capacity / rates.sum()
            weights = np.maximum(weights / 2, w_min)
        all_rates.append(rates)
        all_weights.append(weights)
    return Rounds(np.array(all_rates), np.array(all_weights))


def contraction(flows: int, w_min: float = 0.01) -> float:
    """The factor by which two rounds shrink a flow's distance from C/N: (1 - w)/A of eq. 4."""
    return (1 - w_min) / (1 + w_min * (flows - 1))


def steady_swing(flows: int, max_rate: float = 10e9, target_loss: float = 0.1, w_min: float = 0.01) -> float:
    """D* = C w_min (1 - 1/N) in bit/s: by how much a flow's credit rate swings in the end."""
    return max_rate * (1 + target_loss) * w_min * (1 - 1 / flows)
