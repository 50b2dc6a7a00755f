"""Claims of ECN or Delay: DCQCN and TIMELY, their fluid models and their packets.

Source: Zhu, Ghobadi, Misra and Padhye, "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016.
"From the plotted data" means the data files of the figures, which a co-author published.
"""

from validation.ecn_or_delay import (
    convergence,
    dcqcn,
    jitter,
    margins,
    marking,
    patched,
    pi,
    reach,
    short_flows,
    timely,
)  # isort: skip
from validation.ecn_or_delay.paper import ECN_OR_DELAY

__all__ = [
    "ECN_OR_DELAY",
    "convergence",
    "dcqcn",
    "jitter",
    "margins",
    "marking",
    "patched",
    "pi",
    "reach",
    "short_flows",
    "timely",
]  # the modules add their figures to the paper
