"""Settings that are written for hardware, read back and compared with the scenario.

Every format is compared here, key by key, through its own reader. A value that the hardware holds only
roughly is named as rounded; one that is further away than `nic.FAR` is an error.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from shallows.algorithms import nic
from shallows.algorithms.nic import FAR
from shallows.base.toml import is_table
from shallows.errors import ScenarioError, collect
from shallows.scenario.headroom import of_any_link
from shallows.settings.fragment import Fragment, on
from shallows.units import RATE, SIZE, TIME

if TYPE_CHECKING:
    from shallows.scenario import Scenario

EQUAL = 1e-9
"""Values that differ by a smaller share are equal."""


@dataclass(frozen=True, kw_only=True)
class Notes:
    """Sentences about written settings, by the key of the scenario that each is about.

    rounded: the hardware holds another value, close by. equivalent: it holds another value with the same
    effect. chosen: the scenario leaves the value open. not_expressed: there is no counterpart.
    """

    rounded: Mapping[str, str]
    equivalent: Mapping[str, str]
    chosen: Mapping[str, str]
    not_expressed: Mapping[str, str]

    def lines(self) -> list[str]:
        """The sentences as a user reads them."""
        kinds = {
            "Rounded": self.rounded,
            "Equivalent": self.equivalent,
            "Assumed": self.chosen,
            "Not expressed": self.not_expressed,
        }
        return [f"{kind}: {text}" for kind, texts in kinds.items() for text in texts.values()]

    def explains(self, key: str) -> bool:
        """Whether a sentence says why the value of `key` differs."""
        known = (*self.equivalent, *self.not_expressed)
        return any(key == one or key.startswith((f"{one}.", f"{one}[")) for one in known)


@dataclass(frozen=True)
class Held:
    """The setting that holds the value of a key, and the values that it can have."""

    setting: str
    range: str


def rounded(scenario: "Scenario", stated: Fragment, held: Mapping[str, Held], notes: Notes) -> dict[str, str]:
    """Sentences about values that differ a little, by key. Raises `ScenarioError` for all that differ more.

    stated: what reading gives of the settings. held: by key of the scenario, or by its last part.
    """
    asked, found = _values(scenario, scenario), _values(on(scenario, stated), scenario)
    sentences: dict[str, str] = {}

    def compare(key: str) -> None:
        one = held.get(key) or held.get(key.rpartition(".")[2])
        text = _compared(scenario, key, asked.get(key), found.get(key), one)
        if text:
            sentences[key] = text

    differing = [key for key in {**asked, **found} if not notes.explains(key)]
    collect(partial(compare, key) for key in differing)
    return sentences


def _compared(scenario: "Scenario", key: str, asked: object, stated: object, held: Held | None) -> str | None:
    """A sentence if the value that settings state is close to the one that is asked, None if it is equal."""
    if asked == stated:
        return None
    amounts = [_amount(value, scenario.mtu) for value in (asked, stated)]
    if held is None or amounts[0] is None or amounts[1] is None:
        expected = (
            "a value that these settings express" if stated is None else f"{_text(stated)}, as read back"
        )
        raise ScenarioError(key, asked, expected)
    away = abs(amounts[1] - amounts[0])
    if away <= EQUAL * abs(amounts[0]):
        return None
    if away > FAR * abs(amounts[0]):
        expected = (
            f"a value that {held.setting} can hold within {FAR:.0%} ({held.range}): the nearest is "
            f"{_text(stated)}"
        )
        raise ScenarioError(key, asked, expected)
    return f"{key} = {asked}: {held.setting} is {stated}"


def _text(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _amount(value: object, frame: int) -> float | None:
    """A number, or a text with a unit, as a number; None of anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    for dimension in (TIME, SIZE, RATE):
        try:
            return float(dimension.amount(value, frame))
        except ValueError:
            continue
    return None


def _values(scenario: "Scenario", order: "Scenario") -> dict[str, Any]:
    """Every value that settings can express, by its key: network, classes, pools and DCQCN's parameters.

    Classes and pools are numbered as in `order`, because settings have another order of those that share a
    link. Weights are in lowest terms, markings those of the switch ports, each watchdog restores, and an open
    headroom is the largest need of a link.
    """
    tables = scenario.resolved()
    for table in (tables["network"], *tables.get("classes", ())):
        pfc: dict[str, object] = table.get("pfc") or {}
        if "watchdog" in pfc:
            pfc.setdefault("restoration", pfc["watchdog"])
        if pfc.get("headroom") == "auto":
            pfc["headroom"] = SIZE.text(of_any_link(scenario.graph, scenario.mtu), scenario.mtu)
    for table, queue in zip(tables.get("classes", ()), scenario.queues, strict=False):
        table["marking"] = _marking(scenario, queue.marking)
        if queue.turn is not None:
            table["weight"] = queue.turn // scenario.mtu
    tables["network"]["marking"] = _marking(scenario, scenario.network.marking)
    used = [one for one in scenario.algorithms if one.name == nic.ALGORITHM]
    cc = used[0].table(None) | {"name": used[0].name} if used else {}
    numbered: dict[str, Any] = {}
    for name, known in (("classes", order.classes), ("pools", order.pools)):
        places = [one.name for one in known]
        numbered |= {f"{name}[{places.index(one['name'])}]": one for one in tables.get(name, ())}
    return dict(_leaves({"network": tables["network"], "cc": cc, **numbered}))


def _marking(scenario: "Scenario", marking: Any) -> Any:
    """The table of a marking with the values of switch ports, where these have one value."""
    if isinstance(marking, str) or marking is None:
        return marking
    network = scenario.graph
    points, _ = marking.at_rates(network.rate_bps[~network.is_nic])
    one = len(points) == 1
    return (replace(marking, parameters=points[0]["parameters"]) if one else marking).table(None)


def _leaves(table: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if is_table(value):
            yield from _leaves(value, f"{above}{key}.")
        elif value is not None:
            yield f"{above}{key}", value
