"""Traits of algorithms that the core's catalog lacks: a kernel's own algorithms, and classes in Python.

The catalog states those of its algorithms (crates/cc/src/traits.rs). What is not known counts as what asks
for more care: an unknown algorithm may react to delays.
"""

from functools import cache

from shallows.algorithms import user_algorithms
from shallows.core.rows import Traits

UNKNOWN: Traits = {
    "reacts_to_delay": True,
    "reacts_to_queues_alone": False,
    "reads_switches": False,
    "chooses_paths": False,
    "least_rtt": (True, None),
    "returns_by_timer": False,
    "has_target_queue": False,
    "corrected_by": None,
    "least_threshold": None,
    "step": None,
    "ect1": False,
    "is_driven": False,
    "probes": None,
    "reference_bps": None,
}
"""Traits of an algorithm of which nothing is known."""

NATIVE: dict[str, Traits] = {
    # it takes the least round trip alone, which waits in a host do not change
    "bbr": {**UNKNOWN, "reacts_to_delay": False},
}
"""The algorithms that a kernel alone has."""

LOSSES = "reno"
"""The row that stands for a kernel's own algorithm where the law of the sender has no effect."""
CARRIERS: dict[str, tuple[str, str | None]] = {
    "tcp": ("dctcp", "fixed"),
    "roce": ("dcqcn", "timely"),
    "unordered": ("nscc", None),
}
"""Transports of a class in Python, and the rows whose packets and acknowledgements it has: with `ecn`, and
without. Over `unordered` each answer says whether its packet was marked.
"""


@cache
def of_class(algorithm: type) -> Traits:
    """The traits of a class: its attributes `reacts_to_delay` and `takes_least_rtt`, by default true.

    A class with a parameter `base_rtt` is told its base round trip.
    """
    reacts = bool(getattr(algorithm, "reacts_to_delay", True))
    told = "base_rtt" in user_algorithms.parameters(algorithm)
    least = bool(getattr(algorithm, "takes_least_rtt", not told))
    made = UNKNOWN.copy()
    made["reacts_to_delay"], made["reacts_to_queues_alone"] = reacts, not reacts
    made["least_rtt"] = least, None
    return made
