"""Claims of ExpressPass, with DCTCP and RCP beside it.

Source: Cho, Jang and Han, "Credit-Scheduled Delay-Bounded Congestion Control for Datacenters", SIGCOMM 2017, §4 to 6.2.
"""

from validation.expresspass import (
    convergence,
    forms,
    reach,
    scalability,
    stability,
    testbed,
    theory,
)  # isort: skip
from validation.expresspass.paper import EXPRESSPASS

__all__ = [
    "EXPRESSPASS",
    "convergence",
    "forms",
    "reach",
    "scalability",
    "stability",
    "testbed",
    "theory",
]  # the modules add their figures to the paper
