"""Keys and names that several kinds of topologies share."""

from typing import Annotated, Any

from shallows.errors import ScenarioError
from shallows.limits import ENTITIES
from shallows.table import Key
from shallows.units import Rate


def named(prefix: str, count: int) -> list[str]:
    """The names of `count` nodes: the prefix and a number from 0."""
    if count > ENTITIES.most:
        raise ScenarioError("topology", f"{count} nodes", f"at most {ENTITIES.most} links and hosts together")
    return [f"{prefix}{i}" for i in range(count)]


def _same_rate(tables: Any) -> None:
    return tables["rate"]


EdgeRate = Annotated[
    Rate, Key(default_factory=_same_rate, validate_default=False, description="absent: `rate`")
]
"""A rate that is `rate` unless set otherwise."""
