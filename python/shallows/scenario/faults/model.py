"""A table of `[[faults]]`."""

import json
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

from pydantic import field_validator, model_validator

from shallows.base.limits import DELAY, HOLD, LINK_RATE
from shallows.base.table import Key, Table
from shallows.base.toml import is_table
from shallows.errors import ScenarioError
from shallows.units import RATE, TIME, OptionalInterval, OptionalTime, Time, did_you_mean

if TYPE_CHECKING:
    from shallows.topology import Network


LEAST_RATE_BPS = LINK_RATE.least
"""The least rate of a link, also after a fault."""
MOST_BIT_ERRORS = 1e-3
"""The largest bit error rate: it loses all but five in a million frames of 1500 B."""
BOTH_ENDS = 'the two ends of a link, "s0->s1", or "s0<->s1" for both ways'
EXPECTED = {
    "rate": 'a rate such as "2.5Gbps"',
    "delay": 'a delay of the link such as "30ms"',
    "hold": 'a time such as "20ms"',
    "reorder": '{ share = 0.01, delay = "5ms" }, with a share above 0 and below 1',
    "slow": "the share of its rate that each link keeps, above 0 and below 1, such as 0.25",
    "loss": "a share of at least 0 and below 1, such as 1e-3",
    "silent-drop": "the share of packets that are lost, above 0 and at most 1, or no value for all",
    "bit-errors": f"a bit error rate above 0 and at most {MOST_BIT_ERRORS:g}, such as 1e-9",
}
"""The value of each kind that has one."""
_TIMES = {kind: EXPECTED[kind] for kind in ("delay", "hold")}
_SHARES = ("slow", "loss", "silent-drop", "bit-errors")
SETTINGS = {
    "marking": 'a table of parameters such as { threshold = "20pkt" }',
    "weights": "a table of classes and their weights such as { gold = 3 }",
}
"""The value of each kind that changes how ports mark or share, and not links."""
REPAIRS = {"up": "down", "undrain": "drain"}
"""The kinds that end others."""


class Fault(Table, frozen=True):
    """A table of `[[faults]]`: what happens to links, or to all links of nodes, and for how long."""

    link: str | None = Key(
        None, description='"s0->s1", "s0<->s1" for both ways, or a pattern such as "p1.*<->*"'
    )
    node: str | None = Key(
        None, description='in place of a link: a switch or host, or a pattern such as "spine*"'
    )
    kind: Literal[
        "down",
        "up",
        "flap",
        "drain",
        "undrain",
        "rate",
        "slow",
        "delay",
        "hold",
        "reorder",
        "loss",
        "bit-errors",
        "silent-drop",
        "pause-storm",
        "marking",
        "weights",
    ] = Key(description="what happens")
    at: Time = Key("0s", description="when it begins")
    until: OptionalTime = Key(None, description="when it ends; by default it lasts")
    value: Any = Key(
        None,
        description='a rate such as "2.5Gbps", a time, a share left or lost, bit errors, or parameters',
    )
    period: OptionalInterval = Key(None, description="flap: from one failure to the next")
    duty: float | None = Key(
        None, strict=True, description="flap: the share of the period that links are down; 0.5"
    )

    @model_validator(mode="before")
    @classmethod
    def _kinds_are_no_keys(cls, table: object) -> object:
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
    def _two_ends(cls, link: object) -> object:
        if link is not None and (not isinstance(link, str) or "->" not in link):
            raise ValueError(BOTH_ENDS)
        return link

    @model_validator(mode="after")
    def _means_something(self) -> "Fault":
        if self.link is None and self.node is None:
            raise ScenarioError("link", None, f'{BOTH_ENDS}; or node = "spine0"')
        if self.link is not None and self.node is not None:
            raise ScenarioError("node", self.node, "no such key beside link: a fault is of links or of nodes")
        if self.until is not None:
            self._check_until(self.until)
        self._check_flap()
        self._check_value()
        return self

    def _check_until(self, until: int) -> None:
        if self.kind in SETTINGS:
            expected = f"no such key: a later table changes the {self.kind} again"
            raise ScenarioError("until", TIME.text(until), expected)
        if self.kind in REPAIRS:
            expected = f'no such key: kind = "{REPAIRS[self.kind]}" has one'
            raise ScenarioError("until", TIME.text(until), expected)
        if until <= self.at:
            expected = f"a time after at = {TIME.text(self.at)}, or no such key: the fault would last no time"
            raise ScenarioError("until", TIME.text(until), expected)

    def _check_flap(self) -> None:
        if self.kind != "flap":
            for key in ("period", "duty"):
                if getattr(self, key) is not None:
                    shown = TIME.text(self.period) if key == "period" and self.period else self.duty
                    raise ScenarioError(key, shown, f'no such key: only kind = "flap" has a {key}')
            return
        if self.period is None:
            raise ScenarioError("period", None, 'the time from one failure to the next, such as "1ms"')
        if not 0 < self.down_share < 1:
            raise ScenarioError("duty", self.duty, "a share of the period, above 0 and below 1, such as 0.1")
        if not 0 < self.down_ps < self.period:
            raise ScenarioError(
                "period", TIME.text(self.period), "a longer one, so that duty is at least 1ps of it"
            )

    def _check_value(self) -> None:
        value = self.value
        if self.kind in SETTINGS:
            if not is_table(value) or not value:
                raise ScenarioError("value", value, SETTINGS[self.kind])
        elif self.kind not in EXPECTED:
            if value is not None:
                raise ScenarioError("value", value, f'nothing: kind = "{self.kind}" has no value')
        elif self.kind == "rate":
            try:
                RATE.parse(value, least=LEAST_RATE_BPS)
            except ValueError as error:
                stops = isinstance(value, str) and value.strip().startswith("0")
                hint = '; kind = "down" stops a link' if stops else ""
                raise ScenarioError("value", value, f"{error}{hint}") from None
        elif self.kind in _TIMES:
            self._check_time(value, "value")
        elif self.kind == "reorder":
            self._check_reorder(value)
        elif not _is_right(self.kind, value):
            raise ScenarioError("value", value, EXPECTED[self.kind])

    def _check_time(self, value: object, key: str) -> None:
        limit = DELAY if self.kind == "delay" else HOLD
        try:
            time = TIME.parse(value, least=limit.least)
        except ValueError as error:
            raise ScenarioError(key, value, f"{_TIMES.get(self.kind, EXPECTED['hold'])} ({error})") from None
        if time > limit.most:
            raise ScenarioError(key, value, f"at most {TIME.text(limit.most)}: {limit.why}")

    def _check_reorder(self, value: object) -> None:
        if not is_table(value) or {*value} != {"share", "delay"}:
            raise ScenarioError("value", value, EXPECTED["reorder"])
        share = value["share"]
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
            expected = "a share above 0 and below 1: if all packets are late, none overtakes another"
            raise ScenarioError("value.share", share, expected)
        self._check_time(value["delay"], "value.delay")

    @property
    def name(self) -> str:
        """The link or the node that it names."""
        return self.link or self.node or ""

    @property
    def down_share(self) -> float:
        """The share of a flap's period during which links are down."""
        return 0.5 if self.duty is None else self.duty

    @property
    def down_ps(self) -> int:
        """Picoseconds of a flap's period during which links are down."""
        return round((self.period or 0) * self.down_share)

    @property
    def share(self) -> float:
        """Its value as a share: of packets or bits that are lost, or of the rate; 0 without one."""
        if self.kind == "silent-drop":
            return 1.0 if self.value is None else float(self.value)
        return 0.0 if self.value is None or self.kind not in _SHARES else float(self.value)

    @property
    def is_of_links(self) -> bool:
        """False for the kinds that change how ports mark or share, and not links."""
        return self.kind not in SETTINGS

    @property
    def loses(self) -> bool:
        """True if packets are lost on its links."""
        return self.kind in ("down", "flap") or (self.at_random and self.share > 0)

    @property
    def at_random(self) -> bool:
        """True for the kinds that lose packets without a link going down."""
        return self.kind in ("loss", "bit-errors", "silent-drop")

    def rate_of(self, own_bps: int) -> int:
        """The rate that it leaves to a link of this rate, in bit/s."""
        if self.kind == "slow":
            return round(own_bps * self.share)
        return RATE.parse(self.value) if self.kind == "rate" else own_bps

    def delay_of(self, own_ps: int) -> int:
        """The delay that a link with this delay then has, in picoseconds."""
        return TIME.parse(self.value) if self.kind == "delay" else own_ps

    @property
    def reordering(self) -> tuple[float, int]:
        """Its share of packets that arrive later, and by how many picoseconds."""
        return self.value["share"], TIME.parse(self.value["delay"])

    def links(self, network: "Network") -> list[int]:
        """The numbers of its links, of parallel ones all unless a number is given. Raises `ScenarioError`."""
        if self.kind == "pause-storm":
            return self._to_hosts(network)
        if self.kind == "marking":
            return self._of_switches(network)
        return self._named(network)

    def _of_switches(self, network: "Network") -> list[int]:
        """Those of its links that begin at a switch, whose port marks. Raises `ScenarioError`."""
        found = [link for link in self._named(network) if not network.is_nic[link]]
        if not found:
            expected = 'a port of a switch, such as "s0->h1" or "*->*"'
            raise ScenarioError("link" if self.link else "node", self.name, expected)
        return found

    def _to_hosts(self, network: "Network") -> list[int]:
        """Those of its links that lead to a host, which sends the pauses. Raises `ScenarioError`."""
        found = [link for link in self._named(network) if network.link_to[link] < network.hosts]
        if not found:
            expected = 'a host that sends the pauses, node = "h3", or a link to one, "leaf0->h3"'
            raise ScenarioError("link" if self.link else "node", self.name, expected)
        return found

    def _named(self, network: "Network") -> list[int]:
        """All links that its link or node names."""
        if self.node is not None:
            return _of_nodes(self.node, network)
        name = self.link or ""
        a, both, b = name.partition("<->")
        try:
            links = network.ports([f"{a}->{b}" if both else name])
        except ValueError as error:
            raise ScenarioError("link", name, f'{error.args[1]}, or "s0<->s1" for both ways') from None
        # The two links of a cable follow each other.
        return list(dict.fromkeys(way for link in links for way in (link, link ^ 1))) if both else links


def _of_nodes(name: str, network: "Network") -> list[int]:
    """All links to and from the nodes of this name or pattern."""
    names = network.host_names + network.switch_names
    found = {at for at, one in enumerate(names) if one == name}
    found = found or {at for at, one in enumerate(names) if fnmatchcase(one, name)}
    if not found:
        what = "a pattern of at least one node" if set(name) & set("*?[") else "a node"
        near = did_you_mean(name, names)
        raise ScenarioError("node", name, f'{what} such as "{names[-1]}"{near}')
    ends = zip(network.link_from.tolist(), network.link_to.tolist(), strict=True)
    return [link for link, (a, b) in enumerate(ends) if a in found or b in found]


def _is_right(kind: str, value: object) -> bool:
    """Whether this is a value of the kind."""
    if kind == "silent-drop" and value is None:
        return True
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return {
        "slow": 0 < value < 1,
        "loss": 0 <= value < 1,
        "silent-drop": 0 < value <= 1,
        "bit-errors": 0 < value <= MOST_BIT_ERRORS,
    }[kind]
