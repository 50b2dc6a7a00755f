"""Hundreds of runs of one scenario: swept keys, algorithms, seeds; their table, intervals and figures.

`plans` says which runs there are, `where` runs them, `jobs` is one of them, `running` puts them together;
`result` is what is left in the end, `statistics` has the intervals, `figures` the figures, `estimate` what
runs will take.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shallows.sweeps.result import Sweep
    from shallows.sweeps.running import sweep

__all__ = ["Sweep", "sweep"]

_MODULES = {"Sweep": "shallows.sweeps.result", "sweep": "shallows.sweeps.running"}


def __getattr__(name: str) -> Any:
    """Loaded when used: a single run asks `estimate` alone."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'shallows.sweeps' has no attribute {name!r}")
