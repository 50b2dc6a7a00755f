"""Keys and names that several kinds of topologies share."""

from typing import Annotated, Self

from pydantic import model_validator

from shallows.base.limits import ENTITIES
from shallows.base.table import Key, Table
from shallows.base.toml import is_list
from shallows.errors import ScenarioError
from shallows.units import Rate

HOST_RATE = "rate of the hosts' links"
LINK_DELAY = "one-way propagation delay of every link"
"""What keys of several kinds mean."""


class Sized(Table, frozen=True):
    """A kind of topology whose keys say how many cables it has, so that a large one is not built first."""

    def sizes(self) -> tuple[int, int]:
        """(hosts, cables)."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _fits(self) -> Self:
        hosts, cables = self.sizes()
        if 2 * cables + hosts > ENTITIES.most:
            counts = {key: at for key in type(self).model_fields if (at := _largest(getattr(self, key)))}
            # The rates and delays are much larger than the counts.
            key = max((key for key in counts if not key.endswith(QUANTITIES)), key=counts.__getitem__)
            expected = (
                f"at most {ENTITIES.most} links and hosts together, not {2 * cables} links and {hosts} hosts"
            )
            raise ScenarioError(key, getattr(self, key), expected)
        return self


QUANTITIES = ("rate", "rtt", "delay")
"""Ends of the names of keys that are no counts."""


def _largest(value: object) -> int:
    values = value if is_list(value) else [value]
    return max((one for one in values if isinstance(one, int)), default=0)


def named(prefix: str, count: int) -> list[str]:
    """The names of `count` nodes: the prefix and a number from 0."""
    return [f"{prefix}{i}" for i in range(count)]


def _same_rate(tables: dict[str, int]) -> int:
    return tables["rate"]


EdgeRate = Annotated[
    Rate, Key(default_factory=_same_rate, validate_default=False, description="absent: `rate`")
]
"""A rate that is `rate` unless set otherwise."""
