"""Hundreds of runs of one scenario: swept keys, algorithms, seeds; their table, intervals and figures.

`plans` lists the runs, `jobs` is one of them, `executors` runs them, `running` combines these; `result` is
the outcome, `statistics` has the intervals, `figures` the figures, and `shards` merges parts that ran apart.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shallows.sweeps.result import Sweep
    from shallows.sweeps.running import sweep
    from shallows.sweeps.shards import merge

__all__ = ["Sweep", "merge", "sweep"]

_MODULES = {
    "Sweep": "shallows.sweeps.result",
    "merge": "shallows.sweeps.shards",
    "sweep": "shallows.sweeps.running",
}


def __getattr__(name: str) -> object:
    """Import a name when it is used: a single run needs none."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'shallows.sweeps' has no attribute {name!r}")
