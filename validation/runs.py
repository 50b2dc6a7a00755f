"""Quantities that the figures of several papers read from a run."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pandas import DataFrame

    from shallows import Run

F64 = NDArray[np.float64]

BOTTLENECK = "s0->s1"
"""The port of a dumbbell that all flows cross."""


def probe(run: "Run", name: str, after_us: float = 0, flow: int | None = None) -> "DataFrame":
    """The samples of one probe after `after_us`, of one flow or of all."""
    table = run.probes
    its = table[(table.name == name) & (table.time_us >= after_us)]
    return its if flow is None else its[its.flow == flow]


def jain(rates: Any) -> float:
    """Jain's index of fairness, 1 where all are equal."""
    return rates.sum() ** 2 / (len(rates) * (rates**2).sum())


def noisy(us: float) -> dict[str, Any]:
    """Timestamps whose only error is noise with this standard deviation."""
    return {"kind": "hardware", "poll": "0s", "bucket": 1, "burst": 1, "noise": f"{us}us"}
