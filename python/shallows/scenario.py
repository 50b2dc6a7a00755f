"""The scenario: what one run is made of, typed and validated, from TOML and back to it.

Tables are pydantic models whose fields are exact integers (picoseconds, bytes, bits per second); their
texts carry units. `Scenario` adds what no single table can know: parameters against the catalog, marking
against algorithms, hosts against the network. Every mistake is a `ScenarioError` with file, key, value and
what was expected.
"""

import tomllib
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, Unpack, cast, get_args

import numpy as np
import tomli_w
from numpy.typing import NDArray
from pydantic import (
    BeforeValidator,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from shallows import examples, faults, marking
from shallows.algorithm import Algorithm, choose
from shallows.errors import ScenarioError
from shallows.faults import Fault
from shallows.honours import algorithms, refuse_what_no_flow_honours
from shallows.marking import Marking
from shallows.plain import is_list, is_table, plain, shown
from shallows.switch import Pauses, Shared, Trimming
from shallows.table import Key, Table
from shallows.topology import KINDS as TOPOLOGIES
from shallows.topology import Network, Topology, graph_table, read_graph
from shallows.traffic import KINDS as TRAFFICS
from shallows.traffic import NO_FLOW, AlgorithmChoice, Flows, Traffic, draw
from shallows.units import (
    MOST_ROWS,
    NEVER,
    RATE,
    SIZE,
    TIME,
    Buffer,
    Count,
    Duration,
    Few,
    Frame,
    HeaderSize,
    Name,
    OptionalCount,
    OptionalInterval,
    OptionalTime,
    Payload,
    Sampling,
    Seed,
    Stop,
    Time,
    Written,
    did_you_mean,
    packet,
)

if TYPE_CHECKING:
    from pydantic import ValidationInfo

    from shallows.parts import Tables

MOST_MTU = 65_535
_ACK = 64
MOST_PACKETS = 2**31
LEAST_RATE_BPS = 10**6
MOST_DELAY_PS = 2 * 10**12
_PROBE_NAMES = 6  # what an algorithm reports, at most, beside window, rate and RTT


def _marking(value: Any, info: "ValidationInfo") -> Any:
    if value is None or value == "none":
        return value
    if is_table(value):
        context: dict[str, Any] = info.context or {}
        return marking.choose(value, context["frame"])
    raise ValueError('"none", or a table such as { kind = "step", threshold = "35pkt", at = "enqueue" }')


def _marking_text(value: Any, info: "ValidationInfo") -> Any:
    return value.table(packet(info)) if isinstance(value, Marking) else value


class NetworkTable(Table):
    """`[network]`: what is true of every link and port."""

    mtu: HeaderSize = Key("1500B", description="a full frame on the wire: one pkt")
    header: HeaderSize = Key("40B", description="what of a frame is not payload; the size of an ack")
    buffer: Buffer = Key(
        "250pkt",
        description="each switch port's; at least twice the largest marking threshold if absent",
    )
    shared: Shared | None = Key(
        None, description="one memory for the ports of each switch, instead of buffer"
    )
    pfc: Pauses | None = Key(None, description="whether switches pause links that bring too much")
    trimming: Trimming | None = Key(
        None,
        description="whether ports cut packets to headers instead of dropping them; absent: what cc needs",
    )
    marking: Annotated[
        Any, Written("AnyMarking"), BeforeValidator(_marking), PlainSerializer(_marking_text)
    ] = Key(None, description='"none" or a table of a kind and its keys; absent: what the algorithms need')
    balancing: Literal["flow", "packet", "queue"] = Key(
        "flow", description="among equal paths one for each flow, for each packet, or the shortest queue"
    )

    convergence: Stop = Key(
        "never", description="how long switches take to send round a link that is down, or over it again"
    )

    @model_validator(mode="before")
    @classmethod
    def _memory(cls, table: Any) -> Any:
        """`buffer = "shared"`, `pfc = true` and `trimming = true` stand for tables of defaults."""
        if not is_table(table):
            return table
        table = dict(table)
        if table.get("buffer") == "shared":
            table |= {"buffer": "unlimited", "shared": table.get("shared") or {}}
        for key in ("pfc", "trimming"):
            if isinstance(table.get(key), bool):
                table[key] = {} if table[key] else None
        return table

    @model_validator(mode="after")
    def _lossless(self) -> Self:
        """With shared memory or pauses the ports themselves have no limit."""
        if self.shared or self.pfc:
            vars(self)["buffer"] = NEVER
        return self


_RTO = {
    "datacenter": {"rto_min": 10**9, "rto_initial": 10**10, "rto_max": 10**12, "ack_delay": 5 * 10**8},
    "internet": {"rto_min": 10**12, "rto_initial": 10**12, "rto_max": 60 * 10**12, "ack_delay": 4 * 10**10},
}


class TimestampTable(Table):
    """`hosts.timestamps`: how hosts stamp packets. A kind's values hold where a key is not given."""

    kind: Literal["software", "hardware"] = Key("software", description="whose errors")
    burst: OptionalCount = Key(None, description="packets handed to the NIC at once, bursts not reduced")
    bucket: OptionalCount = Key(None, description="packets handed to the NIC at once with it")
    poll: OptionalTime = Key(None, description="time between two polls of received packets, at most")
    stack: OptionalTime = Key(None, description="the receiver's time between data and ack, at most")
    noise: Time = Key("0s", description="standard deviation of Gaussian noise, besides")
    drift: float = Key(0.0, ge=-1e-3, le=1e-3, description="share by which the receiver's clock is faster")
    host_delay_removed: bool = Key(True, description="take the receiver's time out of the round trip")
    burst_reduced: bool = Key(True, description="pace bursts at the link's rate by a token bucket")
    calibrated: bool = Key(True, description="space the stamps of a batch by the transmission time")

    @model_validator(mode="after")
    def _errors(self) -> Self:
        """Fills in what the kind says."""
        for key, value in _STAMPS[self.kind].items():
            if getattr(self, key) is None:
                vars(self)[key] = value
        return self

    @property
    def crossing(self) -> dict[str, Any]:
        """What the core is given, as docs/crossing.md describes it."""
        times = {f"{key}_ps": getattr(self, key) for key in ("poll", "stack", "noise")}
        rest = ("burst", "bucket", "drift", "host_delay_removed", "burst_reduced", "calibrated")
        return {**times, **{key: getattr(self, key) for key in rest}}


_STAMPS = {
    "software": {"burst": 44, "bucket": 4, "poll": 6 * 10**6, "stack": 280 * 10**6},
    "hardware": {"burst": 4, "bucket": 4, "poll": 1_600_000, "stack": 0},
}
"""64 KB of full frames at once, polls within 6 us, a stack with a spread of 80 us; DMA bursts, and 1.6 us."""


class HostTable(Table):
    """`[hosts]`: NIC and transport of every host."""

    nic: Literal["fair", "fifo"] = Key("fair", description="its flows in turn, or one marked queue")
    initial_window: Payload = Key("10pkt", description="before the algorithm has heard anything")
    rto: Literal["datacenter", "internet"] = Key("datacenter", description="a preset for the times below")
    rto_min: OptionalInterval = Key(None, description="the shortest retransmission timeout")
    rto_initial: OptionalInterval = Key(None, description="the timeout before the first RTT sample")
    rto_max: OptionalInterval = Key(None, description="where its doubling ends")
    acks_every: Few = Key(1, description="data packets an ack covers")
    ack_delay: OptionalInterval = Key(None, description="how long an ack may wait for the next packet")
    segment: Count = Key(1, description="packets that leave together at most (TSO)")
    timestamps: TimestampTable | None = Key(None, description="how packets are stamped; absent: ideally")

    @model_validator(mode="after")
    def _timeouts(self) -> Self:
        """Fills in what the preset says, moved where a time that was set leaves no room for it."""
        preset = _RTO[self.rto]
        low = self.rto_min or preset["rto_min"]
        if low < 2:
            raise ScenarioError(
                "rto_min", TIME.text(low), "2ps or more: an ack may wait for less, and longer than 0"
            )
        first = self.rto_initial or max(preset["rto_initial"], low)
        high = self.rto_max or max(preset["rto_max"], first)
        delay = self.ack_delay or min(preset["ack_delay"], low // 2)
        for key, value, least in (("rto_initial", first, low), ("rto_max", high, first)):
            if value < least:
                raise ScenarioError(f"{key}", TIME.text(value), f"{TIME.text(least)} or more")
        if delay >= low:
            expected = f"less than rto_min ({TIME.text(low)}), or waiting acks look like losses"
            raise ScenarioError("ack_delay", TIME.text(delay), expected)
        vars(self).update(rto_min=low, rto_initial=first, rto_max=high, ack_delay=delay)
        return self


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
_FLOWS_EXPECTED = 'how many, "all", or a list of numbers from 0 on, such as [812, 900]'


class RecordTable(Table):
    """`[record]`: what is sampled over time. Exact statistics of every port come regardless."""

    queues: Sampling = Key("off", description="interval between samples of the queues")
    probes: Sampling = Key("off", description="interval between samples of the senders")
    ports: Annotated[Any, Written("Ports"), WithJsonSchema(_PORTS)] = Key(
        "bottleneck", description='"bottleneck", "all", or a list of names and patterns: ["s0->s1", "h*->*"]'
    )
    flows: Annotated[Any, Written("FlowCount"), WithJsonSchema(_FLOWS)] = Key(
        64, description='how many flows are probed, the first ones; "all"; or their numbers: [812, 900]'
    )

    @field_validator("ports")
    @classmethod
    def _ports(cls, ports: Any) -> Any:
        if ports in ("bottleneck", "all"):
            return ports
        if is_list(ports) and ports and all(isinstance(port, str) for port in ports):
            return list(dict.fromkeys(ports))
        raise ValueError(_PORTS_EXPECTED)

    @field_validator("flows")
    @classmethod
    def _flows(cls, flows: Any) -> Any:
        if flows == "all" or (_is_number(flows) and flows > 0):
            return flows
        if is_list(flows) and flows and all(map(_is_place, flows)):
            return list(dict.fromkeys(flows))
        raise ValueError(_FLOWS_EXPECTED)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_place(value: Any) -> bool:
    return _is_number(value) and value >= 0


class Scenario(Table):
    """One run: network, hosts, algorithms and traffic. Immutable; `set` gives a changed one.

    `Scenario(duration="1s", topology=Dumbbell(hosts=4), cc="dctcp", traffic=[LongLived()])`: the keywords are
    the tables of a scenario file, as parts (`shallows.parts`) or as dicts; `topology` may also be a networkx
    graph. Everything is checked at once, up to the flows themselves. Raises `ScenarioError`.
    """

    name: Name = Key("scenario", description="what results are called")
    seed: Seed = Key(1, description="of everything random")
    duration: Duration = Key(description='how long it runs, or "until-done"')
    warmup: Time = Key("0s", description="left out of the summary")
    topology: Topology = Key(description="a table of a kind and its keys")
    network: NetworkTable = Key(default_factory=dict)
    hosts: HostTable = Key(default_factory=dict)
    cc: AlgorithmChoice = Key(None, description="an algorithm, or a table with its parameters")
    traffic: list[Traffic] = Key(min_length=1, description="a list of tables, each of a kind and its keys")
    faults: list[Fault] = Key(
        default_factory=lambda: list[
            Fault
        ](),  # for `list` itself pydantic would parse its documented signature
        description="tables of what happens to links, and when",
    )
    record: RecordTable = Key(default_factory=dict)

    if TYPE_CHECKING:  # beside the tables: no keys of a file
        frame: Frame
        _tables: dict[str, Any]
        _file: str | None

    def __init__(self, /, *, file: str | None = None, **tables: "Unpack[Tables]") -> None:
        try:
            folder = Path(file).parent if file else Path()
            given = _without_graphs(plain(tables), folder)
            _check_depth(given)
            _check_text(given)
            frame = _frame(given)

            def algorithm(table: object) -> Algorithm:
                return choose(table, frame, folder)

            context: dict[str, Any] = {"frame": frame, "folder": folder, "algorithm": algorithm}
            try:
                self.__pydantic_validator__.validate_python(given, self_instance=self, context=context)
            except ValidationError as error:
                raise _first(error, given) from None
            # Set past the model's freeze: none of this is for users to assign.
            vars(self).update(_tables=given, _file=file, frame=frame)
            self._settle()
            self._check()
        except ScenarioError as error:
            raise error.in_file(file) from None

    @classmethod
    def load(cls, path: str | PathLike[str], overrides: Mapping[str, Any] | None = None) -> "Scenario":
        """The scenario in a TOML file, with `overrides` ({dotted key: value}) applied before the checks.

        `path` may be the name of an example too, such as "dctcp-40".
        """
        path = examples.find(path)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:  # not there, not text, or no name of a file
            reason = getattr(error, "strerror", None) or "not text"
            hint = did_you_mean(path.name, examples.names()) if path.name == str(path) else ""
            expected = f"a readable scenario file ({reason}) or the name of an example{hint}"
            raise ScenarioError(None, None, expected, file=str(path)) from None
        return cls.from_toml(text, file=str(path), overrides=overrides)

    @classmethod
    def from_toml(
        cls, text: str, file: str | None = None, overrides: Mapping[str, Any] | None = None
    ) -> "Scenario":
        """The scenario that TOML text describes; errors and relative paths refer to `file`."""
        try:
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ScenarioError(None, None, f"TOML ({error})", file=file) from None
        except RecursionError:
            raise ScenarioError(None, None, _SHALLOW, file=file) from None
        if file:
            tables.setdefault("name", Path(file).stem)
        return cls(file=file, **_overridden(tables, overrides or {}, file))

    def to_toml(self) -> str:
        """This scenario as TOML, with every default resolved."""
        context = {"frame": self.frame}
        tables = self.model_dump(by_alias=True, exclude_none=True, context=context)
        return tomli_w.dumps(
            {
                **tables,
                "topology": _kind_first(tables["topology"]),
                "traffic": [_kind_first(table) for table in tables["traffic"]],
            }
        )

    def set(self, key: str, value: Any) -> "Scenario":
        """A scenario with one key changed, such as `set("traffic.0.flows", "20")`.

        A text is read as TOML where it is TOML. Naming another algorithm in cc.name drops the parameters
        of the former one.
        """
        return self.replace({key: value})

    def replace(self, overrides: Mapping[str, Any]) -> "Scenario":
        """A scenario with several keys changed at once: {dotted key: value}, as in `set`."""
        return _replaced(self._tables, self._file, overrides)

    def deferred(self, overrides: Mapping[str, Any]) -> "Callable[[], Scenario]":
        """A function without arguments, that can be pickled, and makes what `replace` would."""
        return partial(_replaced, self._tables, self._file, overrides)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._tables, self._file)

    def __repr__(self) -> str:
        """As Python would write what was given."""
        return shown({"file": self._file, **self._tables})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.to_toml() == other.to_toml()

    def __hash__(self) -> int:
        return hash(self.to_toml())

    @property
    def file(self) -> str | None:
        """The file it was read from, which errors name; None if there is none."""
        return self._file

    @property
    def tables(self) -> dict[str, Any]:
        """Its tables as they were given, without defaults."""
        return _copied(self._tables)

    @property
    def mtu(self) -> int:
        """Bytes of a full frame on the wire."""
        return self.network.mtu

    @property
    def warmup_ps(self) -> int:
        """Picoseconds left out of the summary."""
        return self.warmup

    @property
    def duration_ps(self) -> int | None:
        """When the run ends, in picoseconds; None if it ends with its flows."""
        return None if self.duration == NEVER else self.duration

    @property
    def flow_count(self) -> int:
        """How many flows there are."""
        return len(self.flows)

    @property
    def doubts(self) -> list[str]:
        """What is lawful and yet hardly meant: sentences for who reads the result."""
        return [*self._pauses_before_marks(), *self._priority_without_end()]

    def _pauses_before_marks(self) -> list[str]:
        if self.network.pfc is None or self.network.marking == "none":
            return []
        key, pauses, marks = *self._pauses_begin(self.network.pfc), self._marking_begins()
        if marks < pauses:
            return []
        texts = [SIZE.text(size, self.mtu) for size in (pauses, marks)]
        return [
            f"{key} = {texts[0]} pauses a link before a port marks, from {texts[1]} on: "
            "what one link brings is held back by pauses, not by the algorithm"
        ]

    def _pauses_begin(self, pauses: Pauses) -> tuple[str, int]:
        """(what decides, bytes of one link in a switch at which a lone link is paused at the latest)."""
        shared = self.network.shared
        if shared is None:
            return "network.pfc.threshold", pauses.threshold
        return "network.shared.alpha", int(shared.size * shared.alpha / (1 + shared.alpha))

    def _priority_without_end(self) -> list[str]:
        endless = (self.flows.priority == 1) & (self.flows.bytes == 0) & (self.flows.stop_ps == NEVER)
        if self.duration != NEVER or not endless.any() or self.flows.priority.all():
            return []
        first = self.flows.group[endless][0]
        return [
            f'traffic[{first}].priority = 1 with duration = "until-done": where its flows without an end '
            "fill a link, flows of priority 0 may never finish"
        ]

    @cached_property
    def wiring(self) -> Network:
        """The `Network` of nodes and links, recording what `[record]` says."""
        network = self.topology.build()
        return network.recording(self._recorded(network))

    @cached_property
    def flows(self) -> Flows:
        """The `Flows` of all traffic tables."""
        return draw(self.traffic, self.wiring, self.seed, self.frame, self.cc)

    @property
    def probed_flows(self) -> NDArray[np.uint32]:
        """The numbers of the flows whose senders are probed (u32)."""
        wanted = self.record.flows
        if is_list(wanted):
            return np.asarray(wanted, np.uint32)
        count = len(self.flows) if wanted == "all" else min(wanted, len(self.flows))
        return np.arange(count, dtype=np.uint32)

    @property
    def credits(self) -> tuple[int, int, int] | None:
        """Bytes of a credit and of a burst, and how many wait, where ports have a class for them, or None."""
        return next((used.credits for used in self._algorithms() if used.credits), None)

    @property
    def trimming(self) -> Trimming | None:
        """How switch ports cut packets, because the scenario or an algorithm says so, or None."""
        network = self.network
        otherwise = network.trimming or network.shared or network.pfc
        if otherwise or not any(used.trims for used in self._algorithms()):
            return network.trimming
        return Trimming.model_validate({}, context={"frame": self.frame})

    @property
    def pacer(self) -> dict[str, float] | None:
        """Parameters of the pacer of every host, in SI base units, or None where hosts have none."""
        return next((used.pacer for used in self._algorithms() if used.pacer), None)

    def _recorded(self, network: Network) -> NDArray[Any]:
        if self.record.ports == "bottleneck":
            return network.bottlenecks
        if self.record.ports == "all":
            return np.arange(len(network.port_names))
        try:
            return np.asarray(network.ports(self.record.ports))
        except ValueError as error:
            raise ScenarioError("record.ports", *error.args) from None

    def _settle(self) -> None:
        """Fills in the defaults that one table takes from another."""
        network = self.wiring
        for i, table in enumerate(self.traffic):
            if table.cc is None and self.cc is None:
                raise ScenarioError("cc", None, f'an algorithm such as "dctcp", here or as traffic[{i}].cc')
            try:
                self.traffic[i] = table.settled(network)
            except ScenarioError as error:
                raise ScenarioError(f"traffic[{i}].{error.key}", error.value, error.expected) from None
        if self.network.marking is None:
            vars(self.network)["marking"] = self._needed_marking()
        if self.network.marking != "none" and "buffer" not in self.network.model_fields_set:
            # Thresholds grow with the rate of a link: a default that fits 10 Gbps is below that of 40 Gbps.
            vars(self.network)["buffer"] = max(self.network.buffer, 2 * self._marking_begins())

    def _needed_marking(self) -> Any:
        kinds = {used.congestion_point: used for used in self._algorithms() if used.needs_marking}
        if len(kinds) > 1:
            wanted = ", ".join(f"{used.label} {kind}" for kind, used in kinds.items())
            raise ScenarioError("network.marking", None, f"one kind of marking for all: {wanted}")
        return marking.choose({"kind": next(iter(kinds))}, self.frame) if kinds else "none"

    def _algorithms(self) -> "list[Algorithm]":
        return [table.cc or self.cc for table in self.traffic]

    def _check(self) -> None:
        self._check_links()
        refuse_what_no_flow_honours(self)
        self._check_times()
        self._check_marking()
        self._check_priorities()
        self._check_credits()
        self._check_trimming()
        self._check_pacer()
        self._check_receivers()
        faults.check(self)
        self._check_recorded_flows()
        self._check_rows()

    def _check_links(self) -> None:
        network = self.wiring
        slow, far = network.rate_bps < LEAST_RATE_BPS, network.delay_ps > MOST_DELAY_PS
        for link in np.flatnonzero(slow | far)[:1]:
            rate, delay = RATE.text(int(network.rate_bps[link])), TIME.text(int(network.delay_ps[link]))
            text = f"{network.port_names[link]} of {rate}, {delay} long"
            raise ScenarioError("topology", text, "links of at least 1 Mbps and at most 2 s")
        shared = self.network.shared
        holds = {"network.buffer": self.network.buffer}
        if shared:
            holds = {"network.shared.size": int(min(shared.size, shared.size * shared.alpha))}
        for key, size in holds.items():
            if size < self.mtu:
                expected = (
                    f"at least one full frame, {SIZE.text(self.mtu)}: nothing passes a port that holds less"
                )
                raise ScenarioError(key, SIZE.text(size), expected)

    def _check_times(self) -> None:
        if self.warmup >= self.duration:
            expected = f"less than the duration, {TIME.text(self.duration)}"
            raise ScenarioError("warmup", TIME.text(self.warmup), expected)
        flows = self.flows
        most = MOST_PACKETS * (self.mtu - self.network.header)
        for flow in np.flatnonzero(flows.bytes >= most)[:1]:
            text = SIZE.text(int(flows.bytes[flow]))
            expected = f"flows of less than {MOST_PACKETS} packets, {SIZE.text(most)}"
            raise ScenarioError(f"traffic[{flows.group[flow]}]", text, expected)
        if self.duration == NEVER and not flows.bytes.any():
            raise ScenarioError("duration", "until-done", 'a time such as "1s", because no flow has an end')
        for i in range(len(self.traffic)):
            first = int(flows.start_ps[(flows.group == i) & (flows.after == NO_FLOW)].min())
            if first >= self.duration:
                expected = f"a start before the end of the run at {TIME.text(self.duration)}"
                raise ScenarioError(f"traffic[{i}]", f"first start at {TIME.text(first)}", expected)

    def _check_marking(self) -> None:
        if self.network.marking == "none":
            for used in self._algorithms():
                if used.needs_marking:
                    example = f'{{ kind = "{used.congestion_point}" }}'
                    expected = f"marking, which {used.label} cannot do without, such as {example}"
                    raise ScenarioError("network.marking", "none", expected)
            return
        for used in self._algorithms():
            wanted = used.congestion_point
            if wanted and marking.tells(wanted) != self.network.marking.tells:
                expected = f"{marking.tells(wanted)}, which {used.label} cannot do without: {wanted}"
                raise ScenarioError("network.marking.kind", self.network.marking.kind, expected)
        largest, trimming = self._marking_begins(), self.trimming
        holds = trimming.queue * self.mtu if trimming else self.network.buffer
        if largest >= holds:
            key = "network.trimming.queue" if trimming else "network.buffer"
            buffer, threshold = (SIZE.text(size, self.mtu) for size in (holds, largest))
            expected = f"more than the largest marking threshold, {threshold}, or packets drop unmarked"
            raise ScenarioError(key, buffer, expected)

    def _marking_begins(self) -> int:
        """Bytes of queue at which the last of the switch ports begins to mark."""
        rates = self.wiring.rate_bps[~self.wiring.is_nic]
        return self.network.marking.largest_threshold(rates, self.mtu)

    def _check_priorities(self) -> None:
        if len({table.priority for table in self.traffic}) < 2:
            return
        if self.credits:
            expected = "0: an algorithm with credits uses the classes of the ports itself"
            raise ScenarioError("traffic.priority", 1, expected)
        for key, value in (("pfc", self.network.pfc), ("shared", self.network.shared)):
            if value:
                expected = "no such table, because it cannot be combined with traffic.priority = 1"
                raise ScenarioError(f"network.{key}", None, expected)
        if self.hosts.nic != "fair":
            raise ScenarioError("hosts.nic", self.hosts.nic, '"fair", or priorities end at the hosts')

    def _check_credits(self) -> None:
        for used in self._algorithms():
            if used.credits and used.credits != self.credits:
                raise ScenarioError("cc", used.label, "the same credit, burst and queue in all algorithms")

    def _check_trimming(self) -> None:
        if not self.trimming:
            return
        if self.trimming.headers < _ACK:
            size = SIZE.text(self.trimming.headers)
            raise ScenarioError("network.trimming.headers", size, f"at least {SIZE.text(_ACK)}, an ack")
        clashes = {
            "network.shared": (self.network.shared, "no shared memory"),
            "network.pfc": (self.network.pfc, "no pauses"),
            "cc": (self.credits, "no algorithm with credits"),
            "traffic.priority": (len({table.priority for table in self.traffic}) > 1, "one priority"),
        }
        for key, (clash, expected) in clashes.items():
            if clash:
                why = "ports that cut packets to headers have a class of data and one of headers (trimming)"
                raise ScenarioError(key, None, f"{expected}: {why}")

    def _check_pacer(self) -> None:
        if not self.pacer:
            return
        for where, used in algorithms(self):
            if used.pacer and used.pacer != self.pacer:
                expected = f"the same {', '.join(self.pacer)} wherever a host's pacer is shared"
                raise ScenarioError(where, used.label, expected)
        for key, value in (("network.pfc", self.network.pfc), ("cc", self.credits)):
            if value:
                expected = (
                    "no pauses and no credits with cc.per_server: a NIC has classes for one of them alone"
                )
                raise ScenarioError(key, None, expected)

    def _check_receivers(self) -> None:
        for where, used in algorithms(self):
            if not used.receiver:
                continue
            if self.hosts.timestamps:
                own = "which has a timestamp error of its own, resolution"
                expected = f"no hosts.timestamps with {where}.receiver, {own}"
                raise ScenarioError("hosts.timestamps", self.hosts.timestamps.kind, expected)
            if used.receiver.parameters.get("mark") and not used.needs_marking:
                expected = (
                    f"false: {used.label} does not react to marks, only to the window that it is advertised"
                )
                raise ScenarioError(f"{where}.receiver.mark", True, expected)

    def _check_recorded_flows(self) -> None:
        wanted = self.record.flows
        for flow in wanted if is_list(wanted) else ():
            if flow >= len(self.flows):
                expected = f"numbers from 0 to {len(self.flows) - 1}: there are {len(self.flows)} flows"
                raise ScenarioError("record.flows", flow, expected)

    def _check_rows(self) -> None:
        ends = self.duration if self.duration != NEVER else int(self.flows.start_ps.max()) + 1
        wanted = {
            "queues": (self.record.queues, len(self.wiring.recorded_ports), "name fewer record.ports"),
            "probes": (self.record.probes, len(self.probed_flows) * _PROBE_NAMES, "probe fewer record.flows"),
        }
        for key, (interval, series, fewer) in wanted.items():
            rows = ends // interval * series if interval else 0
            if rows > MOST_ROWS:
                enough = TIME.text(-(-ends * series // MOST_ROWS))
                expected = f"at most {MOST_ROWS} rows, not {rows}: raise it to {enough}, or {fewer}"
                raise ScenarioError(f"record.{key}", TIME.text(interval), expected)


def _rebuild(tables: dict[str, Any], file: str | None) -> Scenario:
    return Scenario(file=file, **tables)


def _replaced(tables: dict[str, Any], file: str | None, overrides: Mapping[str, Any]) -> Scenario:
    return Scenario(file=file, **_overridden(tables, overrides, file))


def _kind_first(table: Any) -> dict[str, Any]:
    return {"kind": table["kind"], **table}


def _frame(tables: dict[str, Any]) -> Frame:
    """What one "pkt" is in this scenario; everything else is read with it."""
    network = tables.get("network", {})
    table = network if is_table(network) else {}
    wire, header = (_frame_size(table, name) for name in ("mtu", "header"))
    if wire > MOST_MTU:
        raise ScenarioError("network.mtu", SIZE.text(wire), f"at most {SIZE.text(MOST_MTU)}")
    if header >= wire:
        raise ScenarioError("network.header", SIZE.text(header), f"less than the mtu, {SIZE.text(wire)}")
    return Frame(wire, wire - header)


def _frame_size(table: Any, key: str) -> int:
    value = table.get(key, NetworkTable.model_fields[key].default)
    try:
        return SIZE.parse(value, least=1)
    except ValueError as error:
        raise ScenarioError(f"network.{key}", value, str(error)) from None


def _without_graphs(tables: dict[str, Any], folder: Path) -> dict[str, Any]:
    """`tables` with a topology that is a networkx graph, or the file of one, written out as edges."""
    topology = tables.get("topology")
    try:
        if hasattr(topology, "edges"):
            return {**tables, "topology": graph_table(topology)}
        if not is_table(topology) or topology.get("kind") != "graph" or "file" not in topology:
            return tables
        extra = [key for key in topology if key not in ("kind", "file")]
        if extra:
            raise ScenarioError(
                f"topology.{extra[0]}", topology[extra[0]], "either a file or edges and hosts"
            )
        path = folder / str(topology["file"])
        return {**tables, "topology": read_graph(path if path.exists() else Path(str(topology["file"])))}
    except ScenarioError:
        raise
    except ValueError as error:
        key, value = (
            ("topology.file", topology["file"]) if is_table(topology) else ("topology", str(topology))
        )
        raise ScenarioError(key, value, str(error)) from None


_DEEPEST = 8
_SHALLOW = f"tables at most {_DEEPEST} deep, which is more than any scenario has"


def _check_depth(value: Any, depth: int = 0) -> None:
    """Refuses tables that would be too deep to walk through."""
    if depth > _DEEPEST:
        raise ScenarioError(None, None, _SHALLOW)
    inside = list(value.values()) if is_table(value) else value
    if is_list(inside):
        for inner in inside:
            _check_depth(inner, depth + 1)


def _check_text(value: Any, key: str | None = None) -> None:
    """Refuses what no file could keep: half a surrogate pair, as bytes that are no UTF-8 become."""
    if is_table(value):
        for name, inner in value.items():
            _check_text(name, key)
            _check_text(inner, f"{key}.{name}" if key else name)
    elif is_list(value):
        for inner in value:
            _check_text(inner, key)
    elif isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ScenarioError(key, ascii(value)[1:-1], "text that UTF-8 can write") from None


def _overridden(tables: dict[str, Any], overrides: Mapping[str, Any], file: str | None) -> dict[str, Any]:
    try:
        _check_depth(tables)
        tables = _copied(tables)
        for key, value in overrides.items():
            _put(tables, key, _from_text(plain(value)))
        if "file" in tables:  # it would be taken for what `Scenario` is read from
            known = f"a known key ({', '.join(Scenario.model_fields)})"
            raise ScenarioError("file", tables["file"], known)
    except ScenarioError as error:
        raise error.in_file(file) from None
    return tables


def _copied(tables: Any) -> Any:
    """A deep copy of plain tables; anything else (a graph) is shared."""
    if is_table(tables):
        return {key: _copied(value) for key, value in tables.items()}
    return [_copied(value) for value in tables] if is_list(tables) else tables


def _from_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return value


def _put(tables: dict[str, Any], key: str, value: Any) -> None:
    """Sets a dotted key, making the tables on its way where they are missing."""
    *way, last = key.replace("[", ".").replace("]", "").split(".")
    if len(way) >= _DEEPEST:
        raise ScenarioError(f"{key[:40]}…", None, _SHALLOW)
    at = cast(Any, tables)
    for depth, step in enumerate(way):
        if is_list(at):
            at = _holding(at[_place(at, step, key, value)], ".".join(way[: depth + 1]), key)
        elif not (is_table(at.get(step)) or is_list(at.get(step))):
            # A name alone, as in cc = "dctcp", becomes the table it stands for.
            named = at.get(step) if way[depth:] == ["cc"] else None
            at[step] = {"name": named} if named else {}
            at = at[step]
        else:
            at = at[step]
    if is_list(at):
        at[_place(at, last, key, value)] = value
    elif last == "name" and way[-1:] == ["cc"] and str(at.get("name")).split("@")[0] != value:
        at.clear()
        at["name"] = value
    else:
        at[last] = value


def _holding(item: Any, name: str, key: str) -> Any:
    """The item of a list, in which `key` lies."""
    if is_table(item) or is_list(item):
        return item
    raise ScenarioError(name, item, f"a table, to hold {key}")


def _place(at: Any, step: str, key: str, value: Any) -> int:
    if not step.isdigit() or int(step) >= len(at):
        raise ScenarioError(key, value, f"a number from 0 to {len(at) - 1} in place of {step}")
    return int(step)


def _first(error: ValidationError, tables: dict[str, Any]) -> ScenarioError:
    """The first complaint of pydantic about `tables` as a `ScenarioError`."""
    errors = error.errors()
    # A key that is missing may be there under another name: that is said first.
    wrong = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])
    key, table = _dotted(wrong["loc"], tables)
    value = wrong["input"]
    inner = wrong.get("ctx", {}).get("error")
    if isinstance(inner, ScenarioError):
        return ScenarioError(f"{key}.{inner.key}" if inner.key else key, inner.value, inner.expected)
    if inner is not None:
        return ScenarioError(key, value, str(inner))
    return ScenarioError(*_complaint(wrong, key, value, _model(key, table)))


def _complaint(wrong: Any, key: str, value: Any, model: type[Table]) -> tuple[str, Any, str]:
    """(key, value, expected) of what pydantic itself found; `model` is the one that should have `key`."""
    last = key.rpartition(".")[2]
    if wrong["type"] == "extra_forbidden":
        known = [field.alias or name for name, field in model.model_fields.items()]
        return key, value, f"a known key ({', '.join(known)}){did_you_mean(last, known)}"
    if wrong["type"] == "missing":
        said = {field.alias or name: field.description for name, field in model.model_fields.items()}
        return key, None, f"a value{f' ({said[last]})' if last in said else ''}; it is missing"
    if wrong["type"] == "union_tag_not_found":
        return f"{key}.kind", None, f"one of {', '.join(_kinds(key))}; it is missing"
    if wrong["type"] == "union_tag_invalid":
        kinds = _kinds(key)
        return f"{key}.kind", value["kind"], f"one of {', '.join(kinds)}{did_you_mean(value['kind'], kinds)}"
    if wrong["type"] in ("model_attributes_type", "model_type"):
        inner = _inside(model, last)
        return key, value, f"a table of {', '.join(inner.model_fields)}" if inner else "a table"
    if wrong["type"] == "too_short":
        return key, value, "one table or more"
    message = wrong["msg"].removeprefix("Input should be ")
    return key, value, message[:1].lower() + message[1:]


def _dotted(loc: tuple[int | str, ...], tables: dict[str, Any]) -> tuple[str, Any]:
    """A pydantic location as a scenario writes it, and the table that its last part is looked up in."""
    key, at, table = "", cast(Any, tables), cast(Any, tables)
    for step in loc:
        if isinstance(step, int):
            key, at = f"{key}[{step}]", at[step] if is_list(at) and step < len(at) else None
        elif is_table(at) and step == at.get("kind") and step not in at:
            continue  # pydantic names the member of a union, which no key of the file does
        else:
            key, table = f"{key}.{step}" if key else step, at
            at = at.get(step) if is_table(at) else None
    return key, table


def _model(key: str, table: Any) -> type[Table]:
    """The model that should have `key`, which stands in `table`."""
    top, *way = (step.partition("[")[0] for step in key.split(".")[:-1] or [""])
    if not top:
        return Scenario
    kinds = {"topology": TOPOLOGIES, "traffic": TRAFFICS}.get(top)
    model: type[Table] = kinds[table["kind"]] if kinds else _MODELS[top]
    for step in way:
        model = _inside(model, step) or model
    return model


def _inside(model: type[Table], key: str) -> type[Table] | None:
    """The model of the table that a key of `model` has, if it has one."""
    field = model.model_fields.get(key)
    kinds = (field.annotation, *get_args(field.annotation)) if field else ()
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Table)), None)


_MODELS = {"network": NetworkTable, "hosts": HostTable, "record": RecordTable, "faults": Fault}


def _kinds(key: str) -> list[str]:
    return list(TOPOLOGIES if key == "topology" else TRAFFICS)
