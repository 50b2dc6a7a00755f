"""Settings of switches and NICs as parts of a scenario, and scenarios as settings.

`read` makes a `Fragment` of a scenario of SONiC's or mlx5's settings, and `apply` puts it into a scenario.
`describe` says what the settings of a scenario lead to, `recommend` searches better ones, and `to_sonic` and
`to_mlx5` write them. docs/settings.md and docs/advise.md describe the translations.

`config_db` reads the tables of SONiC that concern queues and buffers, `sonic` and `sonic_export` translate
them, and `mlx5` does the same for the DCQCN settings of NVIDIA's NICs. `writing` compares what is written
with the scenario.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shallows.settings.advise import Advice
    from shallows.settings.advise import advise as recommend
    from shallows.settings.explain import Explanation
    from shallows.settings.explain import explain as describe
    from shallows.settings.fragment import Fragment
    from shallows.settings.fragment import on as apply
    from shallows.settings.mlx5 import commands as to_mlx5
    from shallows.settings.reading import read_all as read
    from shallows.settings.sonic_export import entries as to_sonic

__all__ = [
    "Advice",
    "Explanation",
    "Fragment",
    "apply",
    "describe",
    "read",
    "recommend",
    "to_mlx5",
    "to_sonic",
]

_NAMES = {
    "Advice": "advise.Advice",
    "Explanation": "explain.Explanation",
    "Fragment": "fragment.Fragment",
    "apply": "fragment.on",
    "describe": "explain.explain",
    "read": "reading.read_all",
    "recommend": "advise.advise",
    "to_mlx5": "mlx5.commands",
    "to_sonic": "sonic_export.entries",
}


def __getattr__(name: str) -> object:
    """Import a name when it is used: a run needs none."""
    if name not in _NAMES:
        raise AttributeError(f"module 'shallows.settings' has no attribute {name!r}")
    module, _, own = _NAMES[name].partition(".")
    return getattr(import_module(f"shallows.settings.{module}"), own)
