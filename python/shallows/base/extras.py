"""Optional libraries, which `pip install shallows` does not install."""

from importlib.util import find_spec

from shallows.errors import ScenarioError

LIBRARIES = {
    "plot": "matplotlib",
    "fluid": "numba",
    "graph": "networkx",
    "export": "perfetto",
    "arrow": "pyarrow",
}
"""The library of each extra."""


def has(extra: str) -> bool:
    """True if the library of `extra` is installed."""
    return find_spec(LIBRARIES[extra]) is not None


def need(extra: str, what: str) -> None:
    """Raise `ScenarioError` with the command to install the library that `what` needs, if it is missing."""
    if not has(extra):
        brings = f"{LIBRARIES[extra]} to be installed; write: pip install 'shallows[{extra}]'"
        raise ScenarioError(what, None, brings)
