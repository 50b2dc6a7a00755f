"""A scenario with every default: what a run, its checks and its results read.

A `Draft` is a scenario of which some defaults are absent; `scenario/resolve.py` makes a `Resolved` of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from shallows.algorithms.algorithm import Algorithm
from shallows.algorithms.marking import Marking
from shallows.scenario import supported_keys
from shallows.scenario.faults import Fault
from shallows.scenario.ports import Queue, marking_begins, queues_of
from shallows.scenario.queues import AnyMarking, Pool, PortTable, TrafficClass
from shallows.scenario.tables import HostTable, NetworkTable, RecordTable
from shallows.topology import Network, Topology
from shallows.traffic import AlgorithmChoice, Flows, Traffic, draw
from shallows.units import NEVER, Buffer, Frame, Interval

if TYPE_CHECKING:
    ChosenMarking = Marking | Literal["none"]
else:
    ChosenMarking = AnyMarking


class ResolvedNetwork(NetworkTable, frozen=True):
    """`[network]` with every default. `buffer` is unlimited with pauses or a memory."""

    buffer: Buffer = NEVER
    marking: ChosenMarking = "none"


class ResolvedHosts(HostTable, frozen=True):
    """`[hosts]` with every default."""

    rto_min: Interval = NEVER
    rto_initial: Interval = NEVER
    rto_max: Interval = NEVER
    ack_delay: Interval = NEVER


class ResolvedClass(TrafficClass, frozen=True):
    """A table of `[[classes]]` with every default. `buffer` is unlimited with pauses or a pool."""

    buffer: Buffer = NEVER
    marking: ChosenMarking = "none"


@dataclass(frozen=True, eq=False)
class Draft:
    """The tables of a scenario, with some of the defaults.

    frame: the size of one "pkt". graph: the nodes and links, with the ports to record.
    derived: by key, defaults that follow the network and that a key of the file can replace.
    """

    name: str
    seed: int
    duration: int
    warmup: int
    cooldown: int
    topology: Topology
    network: NetworkTable
    hosts: HostTable
    cc: AlgorithmChoice
    traffic: Sequence[Traffic]
    faults: Sequence[Fault]
    classes: Sequence[TrafficClass]
    pools: Sequence[Pool]
    ports: Sequence[PortTable]
    record: RecordTable
    frame: Frame
    graph: Network
    derived: Mapping[str, int]

    @property
    def mtu(self) -> int:
        """Bytes of a full frame on the wire."""
        return self.network.mtu

    @property
    def buffer(self) -> int:
        """Bytes that a switch port holds without `[[classes]]`; unlimited with pauses or a memory."""
        return self.network.buffer or NEVER

    @property
    def algorithms(self) -> list[Algorithm]:
        """The algorithm of each traffic table."""
        return [used for _, used in supported_keys.algorithms(self)]

    @property
    def marking_begins(self) -> int:
        """Bytes of queue at which the last switch port begins to mark."""
        return max(marking_begins(self, queue) for queue in queues_of(self))


@dataclass(frozen=True, eq=False)
class Resolved(Draft):
    """The tables of a scenario with every default."""

    network: ResolvedNetwork
    hosts: ResolvedHosts
    classes: Sequence[ResolvedClass]

    @property
    def marking(self) -> Marking | None:
        """The marking of `[network]`; None without one, and with "none"."""
        chosen = self.network.marking
        return chosen if isinstance(chosen, Marking) else None

    @property
    def warmup_ps(self) -> int:
        """Picoseconds left out of the summary."""
        return self.warmup

    @property
    def last_arrival_ps(self) -> int | None:
        """When the last flow of open-loop traffic arrives; None without such traffic."""
        flows = self.flows
        its = np.array([one is not None for one in flows.offered])[flows.group]
        return min(int(flows.start_ps[its].max()), self.duration) if its.any() else None

    @property
    def cooldown_ps(self) -> int | None:
        """Picoseconds from which on starting flows are not in statistics; None if all are."""
        last = self.last_arrival_ps if self.cooldown else None
        return None if last is None else last - self.cooldown

    @property
    def duration_ps(self) -> int | None:
        """When the run ends, in picoseconds; None if it ends with its flows."""
        return None if self.duration == NEVER else self.duration

    @property
    def flow_count(self) -> int:
        """The number of flows."""
        return len(self.flows)

    @cached_property
    def queues(self) -> list[Queue]:
        """The queue of each class at every port; of all data without `[[classes]]`."""
        return queues_of(self)

    @cached_property
    def flows(self) -> Flows:
        """The `Flows` of all traffic tables."""
        return draw(self.traffic, self.graph, self.seed, self.frame, self.cc)

    @property
    def probed_flows(self) -> NDArray[np.uint32]:
        """The numbers of the flows whose senders are probed (u32)."""
        wanted = self.record.flows
        if isinstance(wanted, list):
            return np.asarray(wanted, np.uint32)
        count = len(self.flows) if wanted == "all" else min(wanted, len(self.flows))
        return np.arange(count, dtype=np.uint32)

    @property
    def credits(self) -> tuple[int, int, int, int] | None:
        """Bytes of a credit, bytes of a burst, queued credits and the jitter of switches in picoseconds, for
        ports with a class of credits; else None.
        """
        return next((used.credits for used in self.algorithms if used.credits), None)

    @property
    def trims(self) -> bool:
        """True if switch ports trim packets of some class."""
        return any(queue.trimming for queue in self.queues)

    @property
    def pacer(self) -> dict[str, float] | None:
        """Parameters of the pacer of every host, in SI base units; None without pacers."""
        return next((used.pacer for used in self.algorithms if used.pacer), None)
