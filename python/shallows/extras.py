"""Libraries that `pip install shallows` leaves out until somebody asks for what they do."""

from importlib.util import find_spec

from shallows.errors import ScenarioError

LIBRARIES = {
    "plot": "matplotlib",
    "fluid": "numba",
    "graph": "networkx",
    "export": "perfetto",
    "arrow": "pyarrow",
}
"""The library that each extra brings."""


def has(extra: str) -> bool:
    """Whether the library of `extra` is installed."""
    return find_spec(LIBRARIES[extra]) is not None


def need(extra: str, what: str) -> None:
    """Raise `ScenarioError`, saying what to install, if the library that `what` needs is missing."""
    if not has(extra):
        brings = f"{LIBRARIES[extra]} to be installed; write: pip install 'shallows[{extra}]'"
        raise ScenarioError(what, None, brings)
