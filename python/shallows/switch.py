"""Memory of switches: shared by ports or not, with pauses or trimming.

`Shared`, `Pauses` and `Trimming` are tables of a scenario.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import field_validator, model_validator

from shallows.literal import is_table
from shallows.settings import switch as names
from shallows.table import Key, Table
from shallows.units import NEVER, Count, Headroom, WireSize

if TYPE_CHECKING:
    from shallows.contract import U32
    from shallows.scenario import Scenario
    from shallows.topology import Network


Scheduling = tuple[dict[str, Any], dict[str, Any]]
"""Columns of the links, and keys of the request."""


class Shared(Table):
    """`[network.shared]`: one memory for all ports of a switch, with a dynamic threshold."""

    size: WireSize = Key("12MB", description="the memory of each switch, headroom apart")
    alpha: float = Key(
        1.0, description="a port, or a link that can be paused, may hold this many times what is free"
    )

    @model_validator(mode="before")
    @classmethod
    def _names_of_switches(cls, table: Any) -> Any:
        return names.translated("shared", table) if is_table(table) else table

    @field_validator("alpha", mode="before")
    @classmethod
    def _above_zero(cls, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1024:
            raise ValueError("a number above 0 and at most 1024, such as 1")
        return float(value)


class Pauses(Table):
    """`[network.pfc]`: a switch pauses links that bring too much data."""

    threshold: WireSize = Key("100KB", description="data that one link brought above which it is paused")
    hysteresis: WireSize = Key("2pkt", description="it goes on this far below")
    headroom: Headroom = Key("auto", description='what may still come then; "auto": what the link can need')

    @model_validator(mode="before")
    @classmethod
    def _names_of_switches(cls, table: Any) -> Any:
        return names.translated("pfc", table) if is_table(table) else table


class Trimming(Table):
    """`[network.trimming]`: switch ports trim packets to their headers instead of dropping them (NDP)."""

    queue: Count = Key(8, description="data packets that a port holds; of one more only the header goes on")
    headers: WireSize = Key("16pkt", description="what it holds of headers, answers and pulls")
    ratio: Count = Key(10, description="of these, how many go before one data packet that waits")


def crossing(scenario: "Scenario", network: "Network") -> Scheduling:
    """(columns of the links, other keys of the request) for the scheduling of ports."""
    columns, request = _in_switches(scenario, network)
    return _with_pacers(scenario, network, columns, request) if scenario.pacer else (columns, request)


def _in_switches(scenario: "Scenario", network: "Network") -> Scheduling:
    shared, pauses, credits = scenario.network_options.shared, scenario.network_options.pfc, scenario.credits
    if scenario.trimming:
        return _trimming(scenario.trimming, network)
    if shared is None and pauses is None and credits is None:
        return _priorities(scenario, network) if scenario.flows.priority.any() else ({}, {})
    if credits:
        discipline, disciplines = _credits_first(scenario, network)
    else:
        everywhere = np.full(len(network.is_nic), bool(pauses))
        discipline = (everywhere | ~network.is_nic).astype(np.uint32)
        disciplines = [_lossless() if pauses else [class_of(["other"])]]
    request: dict[str, Any] = {"disciplines": disciplines}
    if shared:
        request["shared"] = {"size_bytes": shared.size, "alpha": shared.alpha}
    if pauses:
        request["pause"] = {
            "threshold_bytes": pauses.threshold,
            "hysteresis_bytes": pauses.hysteresis,
            "headroom_bytes": None if pauses.headroom == NEVER else pauses.headroom,
        }
    return {"discipline": discipline}, request


def _priorities(scenario: "Scenario", network: "Network") -> Scheduling:
    """Strict priority at switch ports; each class may hold as much as a port without classes."""
    limit_bytes = scenario.network_options.buffer
    classes = [class_of(["priority"], limit_bytes), class_of(["other"], limit_bytes)]
    return {"discipline": (~network.is_nic).astype(np.uint32)}, {"disciplines": [classes]}


def _trimming(trimming: Trimming, network: "Network") -> Scheduling:
    """Headers and answers before data, except in turns of data; data without room is trimmed into their
    class.
    """
    turns = {"trims": True, "turn": trimming.ratio}
    data = {**class_of(["data"], None), "limit_packets": trimming.queue, **turns}
    classes = [class_of(["other"], trimming.headers), data]
    return {"discipline": (~network.is_nic).astype(np.uint32)}, {"disciplines": [classes]}


def _lossless() -> list[dict[str, Any]]:
    """Pauses before feedback before data. A stop of credits must not overtake the data that it reports."""
    return [class_of(["pause", "resume"]), class_of(["other"]), class_of(["data", "credit_stop"])]


def _credits_first(scenario: "Scenario", network: "Network") -> "tuple[U32, list[Any]]":
    """(discipline of every link, the disciplines): a shaped class of credits at every port.

    Credits may use the share of a link that the full frames they call leave over.
    """
    assert scenario.credits is not None
    size, burst, queue = scenario.credits
    kinds, place = np.unique(np.stack([network.rate_bps, network.is_nic]).T, axis=0, return_inverse=True)
    disciplines: list[list[dict[str, Any]]] = []
    for rate, is_nic in kinds.tolist():
        shaper = {"shaper_bps": rate * size // (size + scenario.mtu), "shaper_burst_bytes": burst}
        credits = {"carries": ["credit"], "limit_packets": queue, **shaper}
        if scenario.network_options.pfc:
            first, *rest = _lossless()
            disciplines.append([first, credits, *rest])
        else:
            disciplines.append(
                [credits, class_of(["other"], NEVER if is_nic else scenario.network_options.buffer)]
            )
    return (1 + place.ravel()).astype(np.uint32), disciplines


def _with_pacers(
    scenario: "Scenario", network: "Network", columns: dict[str, Any], request: dict[str, Any]
) -> Scheduling:
    """The same with a pacer in every NIC: its data waits for tokens, everything else passes."""
    parameters: dict[str, float] = scenario.pacer or {}
    disciplines: list[Any] = list(request.get("disciplines", []))
    discipline = columns.get("discipline", np.zeros(len(network.is_nic), np.uint32)).copy()
    for rate in sorted(set(network.rate_bps[network.is_nic].tolist())):
        pacer = {
            "eta": parameters["eta"],
            "beta": parameters["beta"],
            "period_ps": round(parameters["period"] * 1e12),
            "least_bps": round(parameters["least_rate"] * rate),
        }
        shaper = {"shaper_bps": rate, "shaper_burst_bytes": int(parameters["bucket"]), "pacer": pacer}
        disciplines.append([class_of(["other"]), {**class_of(["paced"]), **shaper}])
        discipline[network.is_nic & (network.rate_bps == rate)] = len(disciplines)
    return {**columns, "discipline": discipline}, {**request, "disciplines": disciplines}


def class_of(carries: list[str], limit_bytes: int | None = NEVER) -> dict[str, Any]:
    """A class of a port in the request."""
    return {"carries": carries, "limit_packets": None, "limit_bytes": limit_bytes, "shaper_bps": None}
