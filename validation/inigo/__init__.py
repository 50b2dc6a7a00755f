"""Claims of TCP Inigo: a sender that answers late round trips, and a receiver that does so for any sender.

Source: Shewmaker, Maltzahn, Obraczka, Brandt and Stone, "TCP Inigo: Ambidextrous Congestion Control" (preprint), and the authors'
Mininet scripts.
"""

from validation.inigo import (
    fairness,
    five_flows,
    incast,
    queues,
    reach,
    round_trips,
)  # isort: skip
from validation.inigo.paper import INIGO

__all__ = [
    "INIGO",
    "fairness",
    "five_flows",
    "incast",
    "queues",
    "reach",
    "round_trips",
]  # the modules add their figures to the paper
