"""Rules of defaults that follow the network, in words. `algorithms/defaults.py` has them in code."""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from shallows.base import markdown

FILE = Path(__file__).parents[1] / "data" / "defaults.toml"


class Rule(NamedTuple):
    """The default of some keys or parameters, in Markdown.

    of: the algorithm or the condition that it is for, empty if it always holds.
    """

    keys: tuple[str, ...]
    of: str
    rule: str
    source: str


@cache
def rules() -> list[Rule]:
    """Every rule."""
    rows = tomllib.loads(FILE.read_text("utf-8"))["rows"]
    return [Rule(tuple(row["keys"]), row.get("of", ""), row["rule"], row["source"]) for row in rows]


def of_key(path: str) -> list[Rule]:
    """The rules of a key of a scenario, such as `network.buffer`; other rules are those of parameters."""
    return [one for one in rules() if path in {at for key in one.keys for at in (key, f"network.{key}")}]


def table() -> Iterator[str]:
    """The lines of the table of all rules."""
    known = rules()
    names = (", ".join(f"`{key}`" for key in one.keys) for one in known)
    of = (" ".join(filter(None, (name, one.of))) for name, one in zip(names, known, strict=True))
    cells = ((key, one.rule, one.source) for key, one in zip(of, known, strict=True))
    return markdown.table(("key", "default", "source"), cells)
