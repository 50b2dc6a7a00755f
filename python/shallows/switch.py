"""Memory of switches: shared by ports or not, with pauses or trimming.

`Shared`, `Pauses` and `Trimming` are tables of a scenario; `to_core` gives the schedule of a request.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from pydantic import field_validator, model_validator

from shallows import contract
from shallows.literal import is_table
from shallows.settings import switch as names
from shallows.table import Key, Table
from shallows.units import NEVER, Count, DefaultCount, DefaultWireSize, Headroom, WireSize

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from shallows.contract import U32, Class, Discipline, Pacer, Shaper, TrafficClass
    from shallows.scenario import Scenario
    from shallows.topology import Network


class Schedule(NamedTuple):
    """How ports schedule: the discipline of each link, 0 or one more than an index into `disciplines`."""

    of_link: "U32"
    disciplines: "list[Discipline]"


class Shared(Table):
    """`[network.shared]`: one memory for all ports of a switch, with a dynamic threshold."""

    size: DefaultWireSize = Key(
        None,
        description="memory of each switch, without headroom; by default 12MB, or 0.3MB per Gbps",
    )
    alpha: float = Key(
        1.0, strict=True, description="a port, or a pausable link, may hold this multiple of the free memory"
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

    threshold: DefaultWireSize = Key(
        None,
        description="data from one link above which it is paused; by default 100KB, or 2.5KB per Gbps",
    )
    hysteresis: WireSize = Key("2pkt", description="the link resumes this far below the threshold")
    headroom: Headroom = Key(
        "auto", description='room for data that still arrives; "auto": as much as the link can need'
    )

    @model_validator(mode="before")
    @classmethod
    def _names_of_switches(cls, table: Any) -> Any:
        return names.translated("pfc", table) if is_table(table) else table

    def in_core(self) -> contract.Pause:
        """The pauses in a request to the core; with shared memory its dynamic threshold decides."""
        headroom = None if self.headroom == NEVER else self.headroom
        return {
            "threshold_bytes": self.threshold or 0,
            "hysteresis_bytes": self.hysteresis,
            "headroom_bytes": headroom,
        }


class Trimming(Table):
    """`[network.trimming]`: switch ports trim packets to their headers instead of dropping them (NDP)."""

    queue: DefaultCount = Key(
        None,
        description="data packets that a port holds; by default 8, or twice the largest marking threshold",
    )
    headers: WireSize = Key("16pkt", description="queue of headers, answers and pulls")
    ratio: Count = Key(10, description="headers sent per waiting data packet")


def to_core(scenario: "Scenario", network: "Network") -> Schedule:
    """How the ports of a scenario schedule, in a request to the core."""
    schedule, marking = _in_switches(scenario, network), scenario.network_options.marking
    if not isinstance(marking, str) and marking.judges_heads:
        links = np.flatnonzero(marking_ports(scenario, network)).tolist()
        schedule = with_classes(schedule, links, network, scenario.network_options.buffer)
    return _with_pacers(scenario.pacer, network, schedule) if scenario.pacer else schedule


def traffic_classes(scenario: "Scenario") -> "tuple[list[TrafficClass], list[contract.Shared]]":
    """The traffic classes of a request in order of priority, and the pools of memory of each switch."""
    options = scenario.network_options
    if scenario.flows.priority.any():
        return [{}, {}], []
    pools = [options.shared.to_core(contract.Shared)] if options.shared else []
    pool = 0 if pools else None
    of_all: TrafficClass = {"pool": pool, "pause": options.pfc.in_core() if options.pfc else None}
    return [of_all], cast("list[contract.Shared]", pools)


def class_of_flows(scenario: "Scenario") -> "U32":
    """The traffic class of each flow; those with priority are in the first of two."""
    priority = scenario.flows.priority
    return 1 - priority if priority.any() else priority


def marking_ports(scenario: "Scenario", network: "Network") -> "NDArray[np.bool_]":
    """By link, whether its port marks. Ports of hosts mark only if they are one queue."""
    return ~network.is_nic | (scenario.hosts.nic == "fifo")


def with_classes(schedule: Schedule, links: "Iterable[int]", network: "Network", buffer: int) -> Schedule:
    """The same with one class at the ports of `links` that have none; it holds as much as their buffer."""
    of_link, disciplines = schedule.of_link.copy(), list(schedule.disciplines)
    for limit_bytes, nics in ((NEVER, True), (buffer, False)):
        bare = [link for link in links if not of_link[link] and network.is_nic[link] == nics]
        if bare:
            disciplines.append(discipline((["other"], class_of(limit_bytes))))
            of_link[bare] = len(disciplines)
    return Schedule(of_link, disciplines)


def _in_switches(scenario: "Scenario", network: "Network") -> Schedule:
    options, switches = scenario.network_options, (~network.is_nic).astype(np.uint32)
    if scenario.trimming:
        return Schedule(switches, [_trimming(scenario.trimming)])
    if scenario.credits:
        return _credits_first(scenario, network)
    if options.pfc:
        return Schedule(np.ones_like(switches), [discipline(*_LOSSLESS)])
    if options.shared:
        return Schedule(switches, [discipline((["other"], class_of()))])
    if scenario.flows.priority.any():
        return Schedule(switches, [_priorities(options.buffer)])
    return Schedule(np.zeros_like(switches), [])


def _priorities(limit_bytes: int) -> "Discipline":
    """Flows with priority go first; each class may hold as much as a port without classes."""
    both = [class_of(limit_bytes)] * 2
    return {"classes": both, "class_of": [{"other": 0}, {"other": 1}], "paced": None}


def _trimming(trimming: Trimming) -> "Discipline":
    """Headers and answers go before data, except for its turns. Data that exceeds the queue is cut."""
    data: Class = {"limit": {"packets": trimming.queue}, "trims": True, "turn": trimming.ratio}
    return discipline((["other"], class_of(trimming.headers)), (["data"], data))


def _credits_first(scenario: "Scenario", network: "Network") -> Schedule:
    """A shaped class of credits at every port.

    Credits may take what the full frames that they request leave of a link.
    """
    assert scenario.credits is not None
    size, burst, queue = scenario.credits
    kinds, place = np.unique(np.stack([network.rate_bps, network.is_nic]).T, axis=0, return_inverse=True)
    disciplines: list[Discipline] = []
    for rate, is_nic in kinds.tolist():
        shaper: Shaper = {"rate_bps": rate * size // (size + scenario.mtu), "burst_bytes": burst}
        credits: Class = {"limit": {"packets": queue}, "trims": False, "shaper": shaper}
        if scenario.network_options.pfc:
            first, *rest = _LOSSLESS
            disciplines.append(discipline(first, (["credit"], credits), *rest))
        else:
            other = class_of(NEVER if is_nic else scenario.network_options.buffer)
            disciplines.append(discipline((["credit"], credits), (["other"], other)))
    return Schedule((1 + place.ravel()).astype(np.uint32), disciplines)


def _with_pacers(parameters: dict[str, float], network: "Network", schedule: Schedule) -> Schedule:
    """The same with a pacer in every NIC: paced data waits for tokens, everything else passes."""
    of_link, disciplines = schedule.of_link.copy(), list(schedule.disciplines)
    for rate in sorted(set(network.rate_bps[network.is_nic].tolist())):
        pacer: Pacer = {
            "eta": parameters["eta"],
            "beta": parameters["beta"],
            "period_ps": round(parameters["period"] * 1e12),
            "least_bps": round(parameters["least_rate"] * rate),
            "most_bps": rate,
        }
        shaper: Shaper = {"rate_bps": rate, "burst_bytes": int(parameters["bucket"]), "pacer": pacer}
        paced: Class = {**class_of(), "shaper": shaper}
        disciplines.append(discipline((["other"], class_of()), (["paced"], paced)))
        of_link[network.is_nic & (network.rate_bps == rate)] = len(disciplines)
    return Schedule(of_link, disciplines)


def class_of(limit_bytes: int = NEVER) -> "Class":
    """A class that holds so many bytes."""
    return {"limit": {"bytes": limit_bytes}, "trims": False}


def discipline(*classes: "tuple[list[str], Class]") -> "Discipline":
    """Classes in order of priority, each with the packets that it carries.

    Packets are named by kind, or are "other" or "paced". The traffic class does not matter.
    """
    number = {name: place for place, (carries, _) in enumerate(classes) for name in carries}
    paced = number.pop("paced", None)
    made = [of_packets for _, of_packets in classes]
    return {"classes": made, "class_of": [number], "paced": paced}


_LOSSLESS = (
    (["pause", "resume"], class_of()),
    (["other"], class_of()),
    (["data", "credit_stop"], class_of()),
)
"""Pauses before feedback before data. A stop of credits must not overtake the data that precedes it."""
