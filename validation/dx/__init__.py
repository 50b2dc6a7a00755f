"""Claims of DX: its feedback, its measurement of delay, its queue, and its flows beside DCTCP's and HULL's.

Source: Lee, Park, Jang, Moon and Han, "DX: Latency-Based Congestion Control for Datacenters", IEEE/ACM Transactions on Networking
25(1), 2017.
"""

from validation.dx import (
    analysis,
    fairness,
    feedback,
    incast,
    reach,
    simulations,
    testbed,
    timestamps,
    workloads,
)  # isort: skip
from validation.dx.paper import DX

__all__ = [
    "DX",
    "analysis",
    "fairness",
    "feedback",
    "incast",
    "reach",
    "simulations",
    "testbed",
    "timestamps",
    "workloads",
]  # the modules add their figures to the paper
