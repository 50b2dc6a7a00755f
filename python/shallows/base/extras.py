"""Optional libraries, which come with the extras of the package."""

import json
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote, urlsplit

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
        raise ScenarioError(what, None, f"{LIBRARIES[extra]} to be installed; write: {command(extra)}")


def command(extra: str) -> str:
    """The command that installs an extra. It names a file, because the index has no package of this name."""
    place, editable = _installed_from()
    return f'pip install {"-e " * editable}"{place}[{extra}]"'


def _installed_from() -> tuple[str, bool]:
    """The wheel or folder that this package was installed from, and whether it is editable (PEP 610)."""
    try:
        text = distribution("shallows").read_text("direct_url.json")
    except PackageNotFoundError:
        text = None
    if text is None:
        return "shallows-….whl", False
    origin: dict[str, Any] = json.loads(text)
    url: str = origin["url"]
    return unquote(urlsplit(url).path), bool(origin.get("dir_info", {}).get("editable"))
