"""The ports of a scenario in a request to the core: the queues of each port, and the queue of each packet.

A port has these queues, in this order of service:

| queue | where it exists | what it carries |
|---|---|---|
| pause | a class is paused | pause frames |
| credits | an algorithm sends on credits | credits, shaped |
| headers | a class is trimmed | headers of trimmed packets; all but data and probes of these classes |
| control | with `[[classes]]`, pauses, `gap`; if a class is not trimmed | the same of the other classes |
| one for each class | always | data, probes of paths (MRC), and without a queue before it all else |
| paced | NICs of an algorithm with a pacer | its data |

A port that needs none of the queues before data, and has one class, is a FIFO. A port that marks by
`dualpi2` has two queues instead, which its controller serves: `QUEUES`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shallows.algorithms.defaults import distinct, distinct_rows
from shallows.core import contract
from shallows.scenario import faults
from shallows.scenario.ports import PortGroups, Queue, class_numbers
from shallows.units import NEVER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.algorithms.marking import Marking
    from shallows.core.contract import U32, U64, Class, Discipline, Pacer, Shaper
    from shallows.scenario import Scenario
    from shallows.topology import Network

PAUSE, CREDITS, HEADERS, CONTROL, PACED = "pause", "credits", "headers", "control", "paced"
"""The names of the queues that no class has."""
RESERVED = (PAUSE, CREDITS, HEADERS, CONTROL, PACED)
QUEUES = ("L", "C")
"""The queues of a port with two: for packets of L4S, with low delay, and for all others (RFC 9332)."""


def has_two_queues(scenario: "Scenario") -> bool:
    """True if some port has a queue for packets of L4S beside that of all others."""
    settings = [scenario.network.marking, *(table.marking for table in scenario.ports)]
    return any(marking and not isinstance(marking, str) and marking.has_two_queues for marking in settings)


def links_with_two_queues(scenario: "Scenario") -> "NDArray[np.bool_]":
    """By link, whether its port is one of these."""
    network = scenario.graph
    ports = PortGroups.of(scenario, network)
    found = [_of_port(scenario, queues) for queues in ports.queues(scenario)]
    has = np.array([marking is not None and marking.has_two_queues for marking in found])
    return has[ports.group] & marking_ports(scenario, network)


def names(scenario: "Scenario") -> list[str]:
    """The queues of a port by name, in a scenario with `[[classes]]`, or of one with two queues."""
    if not scenario.classes:
        return list(QUEUES)
    layout = _Layout.of(scenario, scenario.queues, is_nic=True)
    return [*layout.first, *(one.name for one in scenario.classes), *([PACED] if layout.pacer else [])]


class Schedule(NamedTuple):
    """How ports schedule: the discipline of each link, 0 or one more than an index into `disciplines`."""

    of_link: "U32"
    disciplines: "list[Discipline]"


@dataclass(frozen=True)
class PortRequest:
    """The part of a request that describes ports: columns of links, and the tables to which they refer."""

    buffer_bytes: "U64"
    marking: "U32"
    markings: "list[contract.Marking]"
    schedule: Schedule
    classes: "list[contract.TrafficClass]"
    pools: "list[contract.Shared]"


@dataclass(frozen=True)
class _Layout:
    """The queues before data at a port, by name and in order, and whether it has a pacer and probes first."""

    first: list[str]
    pacer: bool
    probes_first: bool
    is_plain: bool

    @classmethod
    def of(cls, scenario: "Scenario", found: Sequence[Queue], *, is_nic: bool) -> "_Layout":
        """The queues of a port; a plain one has none of its own, because a FIFO does the same."""
        classes, trims = bool(scenario.classes), any(queue.trimming for queue in found)
        pauses, credits = any(queue.pauses for queue in found), scenario.credits is not None
        headers = trims and (classes or not is_nic)
        probes_first = any(used.probes for used in scenario.algorithms)
        separate = classes or pauses or probes_first
        control = separate and not all(queue.trimming for queue in found)
        wanted = {PAUSE: pauses, CREDITS: credits, HEADERS: headers, CONTROL: control}
        first = [name for name, is_wanted in wanted.items() if is_wanted]
        pacer = is_nic and scenario.pacer is not None
        shares = not is_nic and (len(found) > 1 or any(queue.memory for queue in found))
        acts = not is_nic and any(queue.own.to_class() for queue in found)
        return cls(first, pacer, probes_first, not (first or classes or pacer or shares or acts))


def to_core(scenario: "Scenario", network: "Network") -> PortRequest:
    """The ports of a scenario, in a request to the core."""
    ports = PortGroups.of(scenario, network)
    of_group = ports.queues(scenario)
    markings: list[contract.Marking] = []
    schedule = _schedule(scenario, network, (ports.group, of_group), markings)
    limits = np.array([max(queue.buffer for queue in found) for found in of_group], np.uint64)[ports.group]
    buffer_bytes = np.where(network.is_nic, np.uint64(NEVER), limits)
    marking_of_link = np.zeros(len(network.is_nic), np.uint32)
    for group, found in enumerate(of_group):
        chosen = _of_port(scenario, found)
        links = np.flatnonzero(marking_ports(scenario, network) & (ports.group == group))
        if chosen is None or not len(links):
            continue
        points, place = chosen.in_core(network.rate_bps[links])
        numbers = np.array([_number(markings, point) for point in points], np.uint32)
        marking_of_link[links] = 1 + numbers[place]
        if chosen.judges_heads:
            count = len(QUEUES) if chosen.has_two_queues else 1
            schedule = _with_classes(schedule, links.tolist(), buffer_bytes, count)
    links = faults.scheduled_links(scenario, network)
    schedule = _with_classes(schedule, links, buffer_bytes)
    classes, pools = _traffic_classes(scenario)
    return PortRequest(buffer_bytes, marking_of_link, markings, schedule, classes, pools)


def _of_port(scenario: "Scenario", found: Sequence[Queue]) -> "Marking | None":
    """The marking that observes a whole port: that of its only queue, or one that tells rates or records."""
    if not scenario.classes:
        return found[0].marks
    return next((queue.marks for queue in found if queue.marks and queue.marks.tells != "marks"), None)


def _number(markings: "list[contract.Marking]", point: "contract.Marking") -> int:
    """The index of a marking, which is added if it is new."""
    if point not in markings:
        markings.append(point)
    return markings.index(point)


def marking_ports(scenario: "Scenario", network: "Network") -> "NDArray[np.bool_]":
    """By link, whether its port marks. Ports of hosts mark only if they are one queue."""
    return ~network.is_nic | (scenario.hosts.nic == "fifo")


def _traffic_classes(scenario: "Scenario") -> "tuple[list[contract.TrafficClass], list[contract.Shared]]":
    made: list[contract.TrafficClass] = [
        {
            "quantum_bytes": queue.turn,
            "pool": queue.pool,
            "pause": queue.pauses.in_core() if queue.pauses else None,
        }
        for queue in scenario.queues
    ]
    memories = {queue.pool: queue.memory for queue in scenario.queues if queue.memory}
    pools: list[contract.Shared] = [
        {"size_bytes": memory.size, "alpha": memory.alpha} for _, memory in sorted(memories.items())
    ]
    return made, pools


def class_of_tables(scenario: "Scenario") -> "U32":
    """For each traffic table, the number of the class of its flows."""
    if scenario.classes:
        return np.array(class_numbers(scenario.settled), np.uint32)
    priority = np.array([table.priority for table in scenario.traffic], np.uint32)
    return 1 - priority if priority.any() else priority


def class_of_flows(scenario: "Scenario") -> "U32":
    """For each flow, the number of its class."""
    return class_of_tables(scenario)[scenario.flows.group]


def _schedule(
    scenario: "Scenario",
    network: "Network",
    groups: "tuple[NDArray[np.intp], list[list[Queue]]]",
    markings: "list[contract.Marking]",
) -> Schedule:
    """How the ports schedule. The markings to which their queues refer are added to `markings`."""
    group, of_group = groups
    marks = marking_ports(scenario, network)
    index, place = distinct_rows(network.rate_bps, network.is_nic, marks, group)
    disciplines: list[Discipline] = []
    numbers: list[int] = []
    for link in index.tolist():
        rate, is_nic, found = int(network.rate_bps[link]), bool(network.is_nic[link]), of_group[group[link]]
        layout = _Layout.of(scenario, found, is_nic=is_nic)
        if layout.is_plain:
            numbers.append(0)
            continue
        own = markings if marks[link] and scenario.classes else None
        made = _Port(scenario, found, layout, rate, is_nic=is_nic, markings=own).discipline()
        if made not in disciplines:
            disciplines.append(made)
        numbers.append(1 + disciplines.index(made))
    return Schedule(np.array(numbers, np.uint32)[place], disciplines)


@dataclass(frozen=True)
class _Port:
    """A port of a request. markings: the list to which its queues add theirs; None if they have none."""

    scenario: "Scenario"
    queues: Sequence[Queue]
    layout: _Layout
    rate_bps: int
    is_nic: bool
    markings: "list[contract.Marking] | None"

    def discipline(self) -> "Discipline":
        """Its queues, and the queue of each packet."""
        makers = {PAUSE: class_of, CREDITS: self._credits, HEADERS: self._headers, CONTROL: class_of}
        classes = [makers[name]() for name in self.layout.first] + [
            self._data(queue) for queue in self.queues
        ]
        by_class = [dict(self._class_of(number, queue)) for number, queue in enumerate(self.queues)]
        paced = None
        if self.layout.pacer:
            paced = len(classes)
            classes.append(self._paced())
        return {"classes": classes, "class_of": by_class, "paced": paced}

    def _class_of(self, number: int, queue: Queue) -> Iterator[tuple[str, int]]:
        """The queue of each kind of packet of a class.

        A stop of credits must not overtake the data before it. Nor must a probe of a path, whose answer tells
        which data before it is lost; probes that measure an empty queue (`gap`) must, with all others then.
        """
        first, data = self.layout.first, len(self.layout.first) + number
        for name, kinds in ((PAUSE, ("pause", "resume")), (CREDITS, ("credit",))):
            if name in first:
                yield from ((kind, first.index(name)) for kind in kinds)
        before = HEADERS if queue.trimming and HEADERS in first else CONTROL
        other = first.index(before) if before in first else data
        yield "other", other
        if other != data:
            behind = ("data", "credit_stop") if self.layout.probes_first else ("data", "credit_stop", "probe")
            yield from ((kind, data) for kind in behind)

    def _data(self, queue: Queue) -> "Class":
        made: Class = {**class_of(NEVER if self.is_nic else queue.buffer), "quantum_bytes": queue.turn}
        if queue.trimming and not self.is_nic:
            limit = queue.trimming.threshold
            made["limit"] = {"bytes": limit} if limit else {"packets": queue.trimming.queue or 0}
            made["trims"] = True
        if not self.is_nic:
            made |= queue.own.to_class()
        if self.markings is not None and queue.marks and queue.marks.tells == "marks":
            (point,), _ = queue.marks.in_core(np.array([self.rate_bps], np.uint64))
            made["marking"] = _number(self.markings, point)
        return made

    def _headers(self) -> "Class":
        """Headers and answers go before data, except for its turns."""
        trimming = next(queue.trimming for queue in self.queues if queue.trimming)
        return class_of() if self.is_nic else {**class_of(trimming.headers), "turn": trimming.ratio}

    def _credits(self) -> "Class":
        """Credits may take what the full frames that they request leave of a link."""
        assert self.scenario.credits is not None
        size, burst, queue, jitter = self.scenario.credits
        rate = self.rate_bps * size // (size + self.scenario.mtu)
        shaper: Shaper = {
            "rate_bps": rate,
            "burst_bytes": burst,
            "jitter_ps": 0 if self.is_nic else jitter,
        }
        return {"limit": {"packets": queue}, "trims": False, "shaper": shaper}

    def _paced(self) -> "Class":
        """Paced data waits for tokens, everything else passes."""
        assert self.scenario.pacer is not None
        parameters, rate = self.scenario.pacer, self.rate_bps
        pacer: Pacer = {
            "eta": parameters["eta"],
            "beta": parameters["beta"],
            "period_ps": round(parameters["period"] * 1e12),
            "least_bps": round(parameters["least_rate"] * rate),
            "most_bps": rate,
        }
        burst = int(parameters["bucket"])
        shaper: Shaper = {"rate_bps": rate, "burst_bytes": burst, "jitter_ps": 0, "pacer": pacer}
        return {**class_of(), "shaper": shaper}


def class_of(limit_bytes: int = NEVER) -> "Class":
    """A queue that holds so many bytes."""
    return {"limit": {"bytes": limit_bytes}, "trims": False}


def _with_classes(schedule: Schedule, links: Iterable[int], buffer_bytes: "U64", count: int = 1) -> Schedule:
    """The same with `count` classes at the ports of `links` that have none; each may fill their buffer.

    Ports whose marking looks at packets that leave, and those of links that fail or slow down, need one. The
    last one has all packets, of which the controller of two queues takes those of L4S.
    """
    of_link, disciplines = schedule.of_link.copy(), list(schedule.disciplines)
    bare = np.array([link for link in links if not of_link[link]], np.intp)
    for limit in distinct(buffer_bytes[bare]).tolist():
        disciplines.append(
            {"classes": [class_of(limit)] * count, "class_of": [{"other": count - 1}], "paced": None}
        )
        of_link[bare[buffer_bytes[bare] == limit]] = len(disciplines)
    return Schedule(of_link, disciplines)
