"""Held-out draws: rows of a family with other parameters, drawn within its ranges by a seed."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from shallows.judging.family import Family, Row

DIGITS = 3
"""Significant digits of a drawn quantity, so that it can be written down."""
DRAWN = "draw: "
"""What the name of a row with drawn parameters has before these."""


def held_out(family: Family, seed: int, quick: bool) -> list[Row]:
    """Each row of a family once more, with its ranges' parameters drawn uniformly in their logarithms.

    The draws depend on the seed and the names of family and row alone.
    """
    found: list[Row] = []
    for row in (one for one in family.rows if family.ranges and (one.quick or not quick)):
        digest = hashlib.sha256(f"{family.name}\0{row.name}".encode()).digest()
        random = np.random.default_rng([seed, int.from_bytes(digest[:8])])
        values = {key: uniform(random, pair) for key, pair in family.ranges.items()}
        found.append(row_of(family, row, values))
    return found


def uniform(random: np.random.Generator, pair: tuple[float, float]) -> float:
    """A number between two, uniform in its logarithm."""
    low, high = pair
    return math.exp(random.uniform(math.log(low), math.log(high)))


def row_of(family: Family, row: Row, values: Mapping[str, float]) -> Row:
    """A row with other values of parameters, rounded, and named by them."""
    rounded = {
        key: round(value) if key in family.whole else float(f"{value:.{DIGITS}g}")
        for key, value in values.items()
    }
    shown = ", ".join(f"{key} {family.shown(key, value)}" for key, value in rounded.items())
    own = f"{row.name}, " if row.changes or row.rival else ""
    return replace(row, name=f"{own}{DRAWN}{shown}", parameters={**row.parameters, **rounded})
