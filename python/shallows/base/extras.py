"""Optional libraries, which come with the extras of the package."""

import json
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import NotRequired, TypedDict
from urllib.parse import unquote, urlsplit

from shallows.errors import ScenarioError

LIBRARIES = {
    "plot": "matplotlib",
    "fluid": "numba",
    "graph": "networkx",
    "export": "perfetto",
    "arrow": "pyarrow",
    "gym": "gymnasium",
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
    """The command that installs an extra of this installation.

    It names the package index only if this installation came from an index: a wheel, a folder or a checkout
    is named by its path, because the index need not have it.
    """
    return f"pip install {_origin(extra)}"


class _Origin(TypedDict):
    """The origin of an installation, as in its `direct_url.json` (PEP 610)."""

    url: str
    dir_info: NotRequired[dict[str, bool]]


def _origin(extra: str) -> str:
    """Where this package was installed from (PEP 610), with an extra, as an argument of pip."""
    try:
        text = distribution("shallows").read_text("direct_url.json")
    except PackageNotFoundError:
        return f'-e "{Path(__file__).parents[3]}[{extra}]"'
    if text is None:
        return f'"shallows[{extra}]"'
    origin: _Origin = json.loads(text)
    editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
    return f'{editable}"{unquote(urlsplit(origin["url"]).path)}[{extra}]"'
