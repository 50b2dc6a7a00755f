"""A judge of congestion controls: families of tests with two-sided rules, beside baselines.

A family is a file (`family`). `plan` lists the runs, `processes` and `worker` perform each in a process of
its own behind the walls of `guard`, `verdict` decides, `judgement` is the outcome, `page` and `report` show
it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shallows.judging.judgement import Judgement
    from shallows.judging.running import judge

__all__ = ["Judgement", "judge"]

_MODULES = {"Judgement": "shallows.judging.judgement", "judge": "shallows.judging.running"}


def __getattr__(name: str) -> object:
    """Import a name when it is used."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'shallows.judging' has no attribute {name!r}")
