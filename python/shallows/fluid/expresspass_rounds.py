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

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Rounds:
    """rates_bps, weights: [rounds + 1, flows]; row 0 is the start, odd rows follow a rise."""

    rates_bps: np.ndarray
    weights: np.ndarray


def rounds(rates_bps, count, max_rate=10e9, target_loss=0.1, w_min=0.01, w_max=0.5):
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


def contraction(flows, w_min=0.01):
    """The factor by which two rounds shrink a flow's distance from C/N: (1 - w)/A of eq. 4."""
    return (1 - w_min) / (1 + w_min * (flows - 1))


def steady_swing(flows, max_rate=10e9, target_loss=0.1, w_min=0.01):
    """D* = C w_min (1 - 1/N) in bit/s: by how much a flow's credit rate swings in the end."""
    return max_rate * (1 + target_loss) * w_min * (1 - 1 / flows)
