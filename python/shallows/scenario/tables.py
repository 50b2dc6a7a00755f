"""Tables of a scenario without kinds: network, hosts with their timestamps, and recording.

Pydantic models with exact integers as fields (picoseconds, bytes, bits per second); their texts carry units.
"""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeGuard

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema, field_validator, model_validator

from shallows.base.table import Key, Table
from shallows.base.toml import is_list, is_table
from shallows.core import contract
from shallows.errors import ScenarioError
from shallows.scenario import queues
from shallows.scenario.queues import OrFalse, QueueTable, Shared
from shallows.traffic.costs import CostTable
from shallows.units import (
    NEVER,
    TIME,
    Count,
    HeaderSize,
    OptionalCount,
    OptionalInterval,
    OptionalSmallCount,
    OptionalTime,
    Payload,
    Sampling,
    Stop,
    Time,
    TypeName,
)

if TYPE_CHECKING:
    from shallows.core.rows import BalancingRow

FLOWLET_GAP = 100 * 10**6
"""LetFlow's gap in the simulator of ConWeave: 100 us in picoseconds."""


@cache
def balancings() -> "dict[str, BalancingRow]":
    """What each value of `balancing` does."""
    from shallows import _core

    return {row["name"]: row for row in _core.balancings()}


def _share(value: float) -> float:
    if not 0 <= value <= 1:
        raise ValueError("a share from 0 to 1")
    return value


def _port_list(value: object) -> object:
    if value is not None and not (is_list(value) and all(isinstance(one, str) for one in value)):
        raise ValueError('a list of the names of ports, such as ["s0->h1", "h1->s0"]')
    return value


if TYPE_CHECKING:
    PortList = list[str] | None
else:
    PortList = Annotated[
        object, TypeName("Sequence[str]"), BeforeValidator(_port_list, json_schema_input_type=list[str])
    ]


class NetworkTable(QueueTable, frozen=True):
    """`[network]`: what is true of every link and port."""

    mtu: HeaderSize = Key("1500B", description="a full frame on the wire")
    header: HeaderSize = Key("40B", description="header bytes of a frame; the size of an ack")
    shared: OrFalse[Shared] = Key(
        None, description="one memory for the ports of each switch, instead of buffer"
    )
    balancing: contract.Balancing = Key(
        "flow",
        description="choice among equal paths, by switches or by hosts; mrc if all traffic is of mrc",
    )
    entropies: OptionalCount = Key(
        None, description="entropy values among which a host chooses, a power of two up to 65536"
    )
    flowlet_gap: OptionalTime = Key(
        None, description='pause after which a flowlet begins; 100us with balancing = "flowlet"'
    )
    convergence: Stop = Key(
        "never", description="time that switches need to reroute after a link breaks or is repaired"
    )
    delay_spread: Annotated[float, AfterValidator(_share)] = Key(
        0.0, strict=True, description="each cable is longer by up to this share of its delay, at random"
    )

    changing: PortList = Key(
        None, description="ports whose links a program may change while it drives the run, by name or pattern"
    )

    @model_validator(mode="before")
    @classmethod
    def _memory(cls, table: object) -> object:
        return queues.filled_in(table) if is_table(table) else table

    @property
    def sprays(self) -> bool:
        """Whether packets of a flow take several paths at the same time."""
        return balancings()[self.balancing]["sprays"]

    @property
    def sprays_by_chance(self) -> bool:
        """Whether the path of each packet is chosen without a look at queues."""
        return balancings()[self.balancing]["is_by_chance"]

    @model_validator(mode="after")
    def _paths(self) -> Self:
        """Keys of a choice of paths need that choice."""
        if self.entropies is not None:
            if not balancings()[self.balancing]["takes_entropies"]:
                expected = f'no such key: balancing = "{self.balancing}" has no entropy values'
                raise ScenarioError("entropies", self.entropies, expected)
            if self.entropies > 1 << 16 or self.entropies & (self.entropies - 1):
                raise ScenarioError("entropies", self.entropies, "a power of two up to 65536")
        if self.flowlet_gap is not None and not balancings()[self.balancing]["has_flowlets"]:
            expected = f'no such key: balancing = "{self.balancing}" has no flowlets'
            raise ScenarioError("flowlet_gap", TIME.text(self.flowlet_gap), expected)
        return self

    @model_validator(mode="after")
    def _lossless(self) -> Self:
        """With shared memory or pauses, single ports have no limit of their own."""
        return self.without_limit("shared" if self.shared else None, "a port has no buffer", "network.")

    def filled_in(self, derived: Mapping[str, int]) -> Self:
        """This table with a buffer for the network."""
        return self if self.buffer else self.model_copy(update={"buffer": derived["network.buffer"]})


_RTO = {
    "datacenter": {"rto_min": 10**9, "rto_initial": 10**10, "rto_max": 10**12, "ack_delay": 5 * 10**8},
    "internet": {"rto_min": 10**12, "rto_initial": 10**12, "rto_max": 60 * 10**12, "ack_delay": 4 * 10**10},
}


class TimestampTable(Table, frozen=True):
    """`hosts.timestamps`: how hosts stamp packets. A kind's values hold where a key is not given."""

    kind: Literal["software", "hardware"] = Key("software", description="whose errors")
    burst: OptionalCount = Key(None, description="packets handed to the NIC at once, bursts not reduced")
    bucket: OptionalCount = Key(None, description="packets handed to the NIC at once with it")
    poll: OptionalTime = Key(None, description="time between two polls of received packets, at most")
    stack: OptionalTime = Key(
        None, description="the receiver's time between data and acknowledgement, at most"
    )
    noise: Time = Key("0s", description="standard deviation of additional Gaussian noise")
    drift: float = Key(
        0.0, strict=True, ge=-1e-3, le=1e-3, description="share by which the receiver's clock is faster"
    )
    host_delay_removed: bool = Key(
        True, strict=True, description="subtract the receiver's time from the round trip"
    )
    burst_reduced: bool = Key(True, strict=True, description="pace bursts at the link's rate")
    calibrated: bool = Key(
        True, strict=True, description="space the timestamps of a batch by the transmission time"
    )

    @model_validator(mode="after")
    def _errors(self) -> Self:
        """Fill in the defaults of the kind."""
        absent = {key: value for key, value in _STAMPS[self.kind].items() if getattr(self, key) is None}
        return self.model_copy(update=absent) if absent else self


_STAMPS = {
    "software": {"burst": 44, "bucket": 4, "poll": 6 * 10**6, "stack": 280 * 10**6},
    "hardware": {"burst": 4, "bucket": 4, "poll": 1_600_000, "stack": 0},
}
"""Software: 64 KB of full frames at once, polls within 6 us, a stack with a spread of 80 us; hardware: DMA
bursts and 1.6 us.
"""


class HostTable(Table, frozen=True):
    """`[hosts]`: NIC and transport of every host."""

    nic: contract.Nic = Key("fair", description="round robin over its flows, or one marked queue")
    initial_window: Payload = Key("10pkt", description="window before the first feedback")
    rto: Literal["datacenter", "internet"] = Key("datacenter", description="a preset for the times below")
    rto_min: OptionalInterval = Key(None, description="the shortest retransmission timeout")
    rto_initial: OptionalInterval = Key(None, description="timeout before the first RTT sample")
    rto_max: OptionalInterval = Key(None, description="upper bound of the doubled timeout")
    acks_every: OptionalSmallCount = Key(
        None, description="data packets per acknowledgement; by default 1, and 2 of presets called `linux`"
    )
    ack_delay: OptionalInterval = Key(None, description="how long an ack may wait for the next packet")
    prr: bool = Key(False, strict=True, description="spread cuts of the window over a round trip (RFC 9937)")
    option: HeaderSize = Key(
        "0B", description="TCP options in the headers of data and acks, beyond network.header"
    )
    segment: Count = Key(1, description="the most packets that leave together (TSO)")
    segment_time: Time = Key(
        "0s", description="data of this time at a flow's rate leaves together; 0: `segment` packets do"
    )
    poll: Time = Key(
        "0s", description="time between two polls of the host's token bucket; 0: data need not wait for one"
    )
    batch: Count = Key(10, description="with `poll`, the most full frames that leave at one poll")
    piggyback: bool = Key(
        False, strict=True, description="whether acks ride on data that goes the other way between two hosts"
    )
    ack_jitter: Time = Key("0s", description="the longest random time for which a host holds back an ack")
    loss_detection: contract.LossDetection = Key(
        "duplicate-acks", description="loss by three later packets (RFC 6675), or by time (RFC 8985)"
    )
    retransmission: contract.Retransmission = Key(
        "go-back-n", description="what RoCE sends again: all from the first loss on, or the losses (IRN)"
    )
    gap: Annotated[float, AfterValidator(_share)] = Key(
        0.002,
        strict=True,
        description="largest random gap after a data frame, as a share of its time; 0 turns it off",
    )
    timestamps: TimestampTable | None = Key(None, description="errors of timestamps; by default none")
    costs: list[CostTable] = Key(
        default_factory=lambda: list[CostTable](), description="tables of the costs of hosts; by default none"
    )

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        """Keys that act only beside another one need that one."""
        if self.batch != HostTable.model_fields["batch"].default and not self.poll:
            raise ScenarioError("batch", self.batch, "no such key: without hosts.poll hosts do not poll")
        if self.segment_time and self.segment == 1:
            expected = "no such key: with hosts.segment = 1 packets leave one by one"
            raise ScenarioError("segment_time", TIME.text(self.segment_time), expected)
        if self.piggyback and self.ack_jitter:
            expected = "no such key: with hosts.piggyback acks have no time of their own"
            raise ScenarioError("ack_jitter", TIME.text(self.ack_jitter), expected)
        if self.poll and self.nic == "fifo":
            expected = 'no such key: with hosts.nic = "fifo" data waits for no token'
            raise ScenarioError("poll", TIME.text(self.poll), expected)
        return self

    @model_validator(mode="after")
    def _timeouts(self) -> Self:
        """Times that are set go together, with the values of the preset for the others."""
        self._derived(_RTO[self.rto]["rto_min"])
        return self

    def filled_in(self, derived: Mapping[str, int]) -> Self:
        """This table with the timeouts of the network, unless others or another preset are set.

        `acks_every` is that of all algorithms, if it is the same.
        """
        low, first = _RTO[self.rto]["rto_min"], None
        if self.rto == "datacenter":
            low = derived["hosts.rto_min"]
            first = min(derived["hosts.rto_initial"], self._set("rto_max") or NEVER)
        acks_every = self._set("acks_every") or derived.get("hosts.acks_every")
        return self.model_copy(update={**self._derived(low, first), "acks_every": acks_every})

    def check_least(self) -> None:
        """Raise `ScenarioError` for a timeout that is set below the least one, where that acts."""
        least = self._set("rto_min") or _RTO[self.rto]["rto_min"]
        for key in ("rto_initial", "rto_max"):
            if (self._set(key) or NEVER) < least:
                raise ScenarioError(
                    f"hosts.{key}", TIME.text(getattr(self, key)), f"{TIME.text(least)} or more"
                )

    def _longer(self) -> list[int]:
        """The times that are set of those that `rto_min` must not exceed."""
        return [self._set("rto_initial") or NEVER, self._set("rto_max") or NEVER]

    def _set(self, key: str) -> int | None:
        return getattr(self, key) if key in self.model_fields_set else None

    def _derived(self, rto_min: int, first: int | None = None) -> dict[str, int]:
        """The times by key, of which `rto_min` and the `first` timeout hold if none is set.

        The least timeout does not exceed others that are set.
        """
        preset = _RTO[self.rto]
        low = self._set("rto_min") or min(rto_min, *self._longer())
        if low < 2:
            raise ScenarioError(
                "rto_min", TIME.text(low), "2ps or more: an ack may wait for less, and longer than 0"
            )
        first = self._set("rto_initial") or max(first or preset["rto_initial"], low)
        high = self._set("rto_max") or max(preset["rto_max"], first)
        delay = self._set("ack_delay") or min(preset["ack_delay"], low // 2)
        for key, value, least in (("rto_initial", first, low), ("rto_max", high, first)):
            if value < least:
                raise ScenarioError(f"{key}", TIME.text(value), f"{TIME.text(least)} or more")
        if delay >= low:
            expected = f"less than rto_min ({TIME.text(low)}), or delayed acks look like losses"
            raise ScenarioError("ack_delay", TIME.text(delay), expected)
        return {"rto_min": low, "rto_initial": first, "rto_max": high, "ack_delay": delay}


_PORTS = {
    "anyOf": [{"enum": ["bottleneck", "all"]}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]
}
_FLOWS = {
    "anyOf": [
        {"const": "all"},
        {"type": "integer", "minimum": 1},
        {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
    ]
}
_PORTS_EXPECTED = (
    '"bottleneck", "all", or a list of ports such as ["s0->s1"] or of patterns such as ["agg*->*"]'
)
_FLOWS_EXPECTED = 'a number of flows, "all", or a list of flow numbers, such as [812, 900]'


if TYPE_CHECKING:
    RecordedPorts = str | list[str]
    RecordedFlows = int | Literal["all"] | list[int]
else:
    RecordedPorts = Annotated[object, TypeName("Ports"), WithJsonSchema(_PORTS)]
    RecordedFlows = Annotated[object, TypeName("FlowCount"), WithJsonSchema(_FLOWS)]


class RecordTable(Table, frozen=True):
    """`[record]`: what is sampled over time. Exact statistics of every port come regardless."""

    queues: Sampling = Key("off", description="interval between samples of the recorded queues")
    probes: Sampling = Key("off", description="interval between samples of the senders")
    ports: RecordedPorts = Key(
        "bottleneck", description='"bottleneck", "all", or a list of names and patterns: ["s0->s1", "h*->*"]'
    )
    flows: RecordedFlows = Key(
        64, description='probed flows: the first so many, "all", or their numbers: [812, 900]'
    )

    @field_validator("ports")
    @classmethod
    def _ports(cls, ports: object) -> object:
        if ports in ("bottleneck", "all"):
            return ports
        if is_list(ports) and ports and all(isinstance(port, str) for port in ports):
            return list(dict.fromkeys(ports))
        raise ValueError(_PORTS_EXPECTED)

    @field_validator("flows")
    @classmethod
    def _flows(cls, flows: object) -> object:
        if flows == "all" or (_is_number(flows) and flows > 0):
            return flows
        if is_list(flows) and flows and all(map(_is_place, flows)):
            return list(dict.fromkeys(flows))
        raise ValueError(_FLOWS_EXPECTED)


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_place(value: object) -> bool:
    return _is_number(value) and value >= 0
