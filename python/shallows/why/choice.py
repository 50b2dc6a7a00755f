"""The choice of flows: the slowest, those of a size class, those above its 99th percentile."""

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from shallows.errors import ScenarioError
from shallows.printing.report import SIZES

if TYPE_CHECKING:
    from shallows.results.run import RunData


class Choice(TypedDict, total=False):
    """The options of `flows`."""

    slowest: int | None
    size: str | None
    p99: bool


def flows(
    run: "RunData", *, slowest: int | None = None, size: str | None = None, p99: bool = False
) -> list[int]:
    """Numbers of finished flows of `run`, the slowest first: all, or of the class `size` ("< 10 KB").

    `slowest` limits their number, `p99` selects those at or above the 99th percentile of slowdown.
    """
    table = run.columns("flows")
    slowdown, size_bytes = (np.asarray(table[name], float) for name in ("slowdown", "bytes"))
    chosen = np.isfinite(slowdown)
    if size is not None:
        low, high = _class(size)
        chosen &= (size_bytes >= low) & (size_bytes < high)
    if not chosen.any():
        where = f" with {size}" if size else ""
        raise ScenarioError("flows", 0, f"at least one finished flow{where} in this run")
    if p99:
        chosen &= slowdown >= np.quantile(slowdown[chosen], 0.99)
    found = np.flatnonzero(chosen)
    found = found[np.argsort(-slowdown[found], kind="stable")]
    return found[:slowest].tolist()


def _class(text: str) -> tuple[float, float]:
    """(least size, first size above) of a size class as reports name it, with or without blanks."""
    low = 0.0
    for limit, title in SIZES.items():
        high = limit or np.inf
        if title.replace(" ", "").lower() == text.replace(" ", "").lower():
            return low, high
        low = high
    raise ScenarioError("class", text, "one of " + ", ".join(f'"{title}"' for title in SIZES.values()))
