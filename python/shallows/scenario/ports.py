"""The queues of ports: one list for every scenario, which all others read.

A scenario without `[[classes]]` has one class of all data, or two by `traffic.priority`. `[[ports]]` changes
the queues of some ports. `scenario/port_request.py` says which other queues a port has beside these.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import TYPE_CHECKING

import numpy as np

from shallows.algorithms.defaults import distinct_rows
from shallows.errors import ScenarioError
from shallows.scenario.queues import Pauses, PortTable, QueueTable, Shared, Trimming
from shallows.units import NEVER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.algorithms.algorithm import Algorithm
    from shallows.algorithms.marking import Marking
    from shallows.scenario.model import Scenario
    from shallows.scenario.queues import TrafficClass
    from shallows.scenario.resolved import Draft
    from shallows.scenario.tables import NetworkTable
    from shallows.topology import Network


@dataclass(frozen=True)
class Memory:
    """The memory of a switch that queues share: bytes, and the multiple of free bytes that each may hold."""

    size: int
    alpha: float

    @classmethod
    def of(cls, table: Shared) -> "Memory":
        """That of a table; without a size until its default is filled in."""
        return cls(table.size or 0, table.alpha)

    @property
    def lone(self) -> int:
        """Bytes that a port, or a pausable link, can hold while nothing else holds any."""
        return int(self.size * self.alpha / (1 + self.alpha))


@dataclass(frozen=True)
class Queue:
    """The queue of a class at every port; without `[[classes]]` that of all data, or of one priority.

    key: of its table, "network" or "classes[2]", whose keys of a queue are `own`. name: None without
    `[[classes]]`. turn: bytes that it sends in a turn (DWRR), or None with strict priority. memory: what it
    shares, whose key is `memory_key`; pool: its number in the request. algorithms: those of its traffic.
    """

    key: str
    own: QueueTable
    name: str | None
    turn: int | None
    memory: Memory | None
    memory_key: str
    pool: int | None
    algorithms: "Sequence[Algorithm]"

    @property
    def marking(self) -> "Marking | str":
        """How it marks, or "none"."""
        return self.own.marking or "none"

    @property
    def buffer(self) -> int:
        """Bytes that a port holds, unlimited with pauses or a memory."""
        return self.own.buffer or NEVER

    @property
    def pauses(self) -> Pauses | None:
        """When switches pause it; None if they do not."""
        return self.own.pfc or None

    @property
    def trimming(self) -> Trimming | None:
        """At which length it trims; None if it does not."""
        return self.own.trimming or None

    @property
    def marks(self) -> "Marking | None":
        """Its marking; None if it has none."""
        return None if isinstance(self.marking, str) else self.marking

    def marking_begins(self, network: "Network") -> int:
        """Bytes at which the last switch port begins to mark it; 0 if no queue decides."""
        rates = network.rate_bps[~network.is_nic]
        return self.marks.largest_threshold(rates) if self.marks else 0

    def longest(self, incoming: int, mtu: int) -> int:
        """Bytes that a port can hold of it, where `incoming` links bring data before a pause."""
        if self.trimming:
            return self.trimming.holds(mtu)
        if self.memory:
            return self.memory.lone
        if self.pauses:
            return (self.pauses.threshold or 0) * incoming
        return self.buffer

    def pauses_begin(self) -> tuple[str, int]:
        """Return (key, bytes of one link in a switch at which a lone link is paused at the latest)."""
        if self.memory:
            return f"{self.memory_key}.alpha", self.memory.lone
        return f"{self.key}.pfc.threshold", (self.pauses.threshold if self.pauses else None) or 0

    def changed(self, table: PortTable) -> "Queue":
        """This queue at the ports of a table of `[[ports]]`."""
        if self.name is not None and table.traffic_class not in (None, self.name):
            return self
        return replace(self, own=self.own.changed(table))


def queues_of(scenario: "Draft") -> list[Queue]:
    """The queue of each class, in order of priority."""
    if scenario.classes:
        return _of_classes(scenario)
    options = scenario.network
    memory = Memory.of(options.shared) if options.shared else None
    all_data = Queue(
        key="network",
        own=options,
        name=None,
        turn=None,
        memory=memory,
        memory_key="network.shared" if memory else "",
        pool=0 if memory else None,
        algorithms=scenario.algorithms,
    )
    if not any(table.priority for table in scenario.traffic):
        return [all_data]
    used = list(zip(scenario.algorithms, scenario.traffic, strict=True))
    return [
        replace(all_data, algorithms=[one for one, table in used if table.priority == priority])
        for priority in (1, 0)
    ]


def _of_classes(scenario: "Draft") -> list[Queue]:
    pools, numbers = [pool.name for pool in scenario.pools], class_numbers(scenario)
    used = list(zip(numbers, scenario.algorithms, strict=True))
    found: list[Queue] = []
    turns = turns_of([one.weight for one in scenario.classes], scenario.mtu)
    for number, (one, turn) in enumerate(zip(scenario.classes, turns, strict=True)):
        place = pools.index(one.pool) if one.pool else None
        memory, key = (None, "") if place is None else (Memory.of(scenario.pools[place]), f"pools[{place}]")
        found.append(
            Queue(
                key=f"classes[{number}]",
                own=one,
                name=one.name,
                turn=turn,
                memory=memory,
                memory_key=key,
                pool=place,
                algorithms=[algorithm for at, algorithm in used if at == number],
            )
        )
    return found


def turns_of(weights: Sequence[int | None], mtu: int) -> list[int | None]:
    """Bytes of a turn of each class, None without one: its weight in lowest terms times a full frame."""
    turns: list[int | None] = []
    for place, weight in enumerate(weights):
        if weight is None:
            turns.append(None)
            continue
        group = [weight]
        for beside in (weights[place + 1 :], weights[:place][::-1]):
            for other in beside:
                if other is None:
                    break
                group.append(other)
        turns.append(weight // gcd(*group) * mtu)
    return turns


def marking_begins(scenario: "Draft", queue: Queue) -> int:
    """Bytes at which the last switch port begins to mark a queue, with the settings of `[[ports]]`."""
    everywhere = [queue, *(queue.changed(table) for table in scenario.ports)]
    return max(one.marking_begins(scenario.graph) for one in everywhere)


def algorithms_of_tables(
    scenario: "Draft",
) -> "list[tuple[str, NetworkTable | TrafficClass, Sequence[Algorithm]]]":
    """(key, table, algorithms of its data) of each class; without `[[classes]]` those of `[network]`."""
    if not scenario.classes:
        return [("network", scenario.network, scenario.algorithms)]
    return [
        (queue.key, one, queue.algorithms)
        for queue, one in zip(_of_classes(scenario), scenario.classes, strict=True)
    ]


def class_numbers(scenario: "Draft") -> list[int]:
    """The number of the class of each traffic table; by default the last class, of lowest priority."""
    known = [one.name for one in scenario.classes]
    return [
        known.index(table.traffic_class) if table.traffic_class else len(known) - 1
        for table in scenario.traffic
    ]


def algorithms_by_marking(scenario: "Scenario") -> "dict[str, tuple[Marking | str, Sequence[Algorithm]]]":
    """By its key the marking of the network or of each class, and the algorithms whose data it marks."""
    if not scenario.classes:
        return {"network.marking": (scenario.network.marking, scenario.algorithms)}
    return {f"{queue.key}.marking": (queue.marking, queue.algorithms) for queue in scenario.queues}


def paused(scenario: "Scenario") -> list[Queue]:
    """The queues that switches pause."""
    return [queue for queue in scenario.queues if queue.pauses]


@dataclass(frozen=True)
class PortGroups:
    """Groups of switch ports with the same tables of `[[ports]]`.

    matched: the links of each table. group: of each link. tables: those of each group, in their order.
    """

    matched: "list[NDArray[np.intp]]"
    group: "NDArray[np.intp]"
    tables: list[list[PortTable]]

    @classmethod
    def of(cls, scenario: "Scenario", network: "Network") -> "PortGroups":
        """The groups of a scenario. Raises `ScenarioError` for a name without a port."""
        of_link = np.zeros((len(network.is_nic), len(scenario.ports)), bool)
        matched: list[NDArray[np.intp]] = []
        for i, table in enumerate(scenario.ports):
            try:
                links = np.array(network.ports(table.patterns), np.intp)
            except ValueError as error:
                raise ScenarioError(f"ports[{i}].names", *error.args) from None
            of_link[links, i] = ~network.is_nic[links]
            matched.append(links)
        index, group = distinct_rows(np.zeros(len(of_link), bool), *of_link.T)
        tables = [
            [table for table, has in zip(scenario.ports, row, strict=True) if has]
            for row in of_link[index].tolist()
        ]
        return cls(matched, group, tables)

    def queues(self, scenario: "Scenario") -> list[list[Queue]]:
        """The queues of each group."""
        found: list[list[Queue]] = []
        for tables in self.tables:
            changed = list(scenario.queues)
            for table in tables:
                changed = [queue.changed(table) for queue in changed]
            found.append(changed)
        return found
