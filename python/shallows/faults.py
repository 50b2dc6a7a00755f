"""`[[faults]]`: changes of links during a run."""

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pydantic import field_validator, model_validator

from shallows.errors import ScenarioError, collect
from shallows.limits import LINK_RATE
from shallows.literal import is_table
from shallows.switch import Schedule, with_classes
from shallows.table import Key, Table
from shallows.units import RATE, Time

if TYPE_CHECKING:
    from shallows.contract import Fault as FaultToCore
    from shallows.scenario import Scenario
    from shallows.topology import Network


LEAST_RATE_BPS = LINK_RATE.least
"""The least rate of a link, also after a fault."""


class Fault(Table):
    """A table of `[[faults]]`: one change of one link, or of both links of a cable."""

    link: str = Key(description='"s0->s1", "s0<->s1" for both ways, or a pattern such as "p1.*<->*"')
    kind: Literal["down", "up", "rate", "loss"] = Key(description="what happens to the link")
    at: Time = Key("0s", description="when")
    value: Any = Key(
        None, description='the rate, such as "2.5Gbps", or the probability of a loss, such as 1e-3'
    )

    @model_validator(mode="before")
    @classmethod
    def _kinds_are_no_keys(cls, table: Any) -> Any:
        """Refuse a kind as a key: `kind` names the fault, and `value` is its amount."""
        for kind in ("rate", "loss"):
            if is_table(table) and isinstance(table.get(kind), str | int | float):
                # Users often write rate for the probability of a loss.
                meant = "loss" if table.get("kind") == "loss" and not isinstance(table[kind], str) else kind
                value = json.dumps(table[kind])
                raise ScenarioError(kind, table[kind], f'it as value: kind = "{meant}", value = {value}')
        return table

    @field_validator("link", mode="before")
    @classmethod
    def _two_ends(cls, link: list[str]) -> list[str]:
        if not isinstance(link, str) or "->" not in link:
            raise ValueError('the two ends of a link, "s0->s1", or "s0<->s1" for both ways')
        return link

    @model_validator(mode="after")
    def _means_something(self) -> "Fault":
        if self.kind in ("down", "up"):
            if self.value is not None:
                raise ScenarioError("value", self.value, f'nothing: a link that goes "{self.kind}" has none')
        elif self.kind == "rate":
            self._check(lambda value: RATE.parse(value, least=LEAST_RATE_BPS))
        else:
            self._check(_share)
        return self

    def _check(self, parse: Callable[[Any], Any]) -> Any:
        try:
            parse(self.value)
        except ValueError as error:
            raise ScenarioError("value", self.value, str(error)) from None

    @property
    def number(self) -> int | float:
        """The value in bit/s or as a share; 0 without one."""
        return {"rate": RATE.parse, "loss": _share}.get(self.kind, lambda value: 0)(self.value)

    def of_link(self, link: int) -> "FaultToCore":
        """The change of a link in a request to the core."""
        key = {"rate": "rate_bps", "loss": "loss"}.get(self.kind)
        return {"time_ps": self.at, "link": link, "change": {key: self.number} if key else self.kind}

    def links(self, network: "Network") -> list[int]:
        """The numbers of its links, of parallel ones all unless a number is given. Raises `ScenarioError`."""
        a, both, b = self.link.partition("<->")
        try:
            links = network.ports([f"{a}->{b}" if both else self.link])
        except ValueError as error:
            raise ScenarioError("link", self.link, f'{error.args[1]}, or "s0<->s1" for both ways') from None
        # The two links of a cable follow each other.
        return list(dict.fromkeys(way for link in links for way in (link, link ^ 1))) if both else links


def _share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise ValueError("a share of at least 0 and below 1, such as 1e-3")
    return float(value)


def check(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for faults that hit no link, or that make a link faster than before."""
    collect(partial(_check, scenario.network, i, fault) for i, fault in enumerate(scenario.faults))


def _check(network: "Network", number: int, fault: Fault) -> None:
    try:
        own = int(network.rate_bps[fault.links(network)].min())
        if fault.kind == "rate" and fault.number > own:
            raise ScenarioError("value", fault.value, f"at most the link's own rate, {RATE.text(own)}")
    except ScenarioError as error:
        raise error.under(f"faults[{number}]") from None


def to_core(
    scenario: "Scenario", network: "Network", schedule: Schedule
) -> "tuple[Schedule, list[FaultToCore]]":
    """The schedule of ports and the faults in a request to the core.

    A link that goes down or slows down needs a port with classes; where it has none it gets one class, as
    large as its buffer.
    """
    every = [(fault, link) for fault in scenario.faults for link in fault.links(network)]
    every.sort(key=lambda row: row[0].at)
    scheduled = {link for fault, link in every if fault.kind != "loss"}
    changed = with_classes(schedule, scheduled, network, scenario.network_options.buffer)
    return changed, [fault.of_link(link) for fault, link in every]
