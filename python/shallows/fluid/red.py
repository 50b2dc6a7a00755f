"""Marks a packet with a probability that rises with the queue; the congestion point of DCQCN.

here        paper         meaning                                unit
q           q             queue                                  pkt
Kmin, Kmax  K_min, K_max  where the ramp begins and ends         pkt
pmax        P_max         probability at Kmax                    1
extended    -             1: the ramp goes on beyond Kmax        0 or 1

Source: ECN or Delay (CoNEXT 2016) eq. 3, eq. 9. Differs from the print: its third branch is q > Kmax.
The cliff is the rule: at Kmax the probability jumps from pmax to 1. The extended ramp is what the
paper's Fig. 4 was computed with.
"""

from shallows.fluid.system import equations


@equations
def marking(q: float, Kmin: float, Kmax: float, pmax: float, extended: float) -> float:
    """The probability that a packet is marked. Eq. 3."""
    if q.real <= Kmin:
        return 0.0 * q
    if q.real > Kmax and extended == 0.0:
        return 0.0 * q + 1.0
    p = pmax * (q - Kmin) / (Kmax - Kmin)
    if p.real > 1.0:
        return 0.0 * q + 1.0
    return p


@equations
def queue_at(p: float, Kmin: float, Kmax: float, pmax: float) -> float:
    """The queue at which the ramp, or its extension, marks with probability p. Eq. 9."""
    return Kmin + p / pmax * (Kmax - Kmin)
