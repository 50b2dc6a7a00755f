"""The tables of a scenario with every default, which a `Scenario` holds.

A `Draft` has some of the defaults; `scenario/resolve.py` makes a `Resolved` of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from shallows.algorithms.algorithm import Algorithm
from shallows.algorithms.marking import Marking
from shallows.scenario import supported_keys
from shallows.scenario.faults import Fault
from shallows.scenario.ports import marking_begins, queues_of
from shallows.scenario.queues import AnyMarking, Pool, PortTable, TrafficClass
from shallows.scenario.tables import HostTable, NetworkTable, RecordTable
from shallows.topology import Network, Topology
from shallows.traffic import AlgorithmChoice, Traffic
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
