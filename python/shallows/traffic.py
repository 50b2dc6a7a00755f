"""Traffic: one model a kind, whose `draw()` gives the flows of one `[[traffic]]` table.

A kind draws its randomness from streams that are keyed by the scenario's seed, the number of its table
and the purpose. So two algorithms meet the same arrivals, and another table changes nothing in this
one. To add a kind, write a model with a literal `kind` and `draw()`, and enter it in `KINDS`.
"""

import csv
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from shallows import workloads
from shallows.algorithm import Algorithm
from shallows.errors import ScenarioError
from shallows.table import Table
from shallows.units import (
    NEVER,
    SIZE,
    TIME,
    Count,
    Frame,
    Interval,
    OptionalCount,
    OptionalInterval,
    OptionalPayload,
    Payload,
    PayloadLimit,
    Share,
    Stop,
    Time,
    Written,
    packet,
)

if TYPE_CHECKING:
    from shallows.topology import Network

U32, U64 = NDArray[np.uint32], NDArray[np.uint64]
NO_FLOW = 2**32 - 1
"""Stands for no flow in the columns that hold numbers of flows."""

TRACE = ("start_s", "src", "dst", "bytes")
"""The columns of a trace."""
_SUFFIX = re.compile(r"\.[A-Za-z]\w*$")
_PURPOSES = ("pairs", "sources", "targets", "sizes", "arrivals", "jitter")


class Draws:
    """The random streams of one traffic table, the same with every version of numpy."""

    def __init__(self, seed, table):
        self.seed, self.table = seed, table

    def uniform(self, purpose, count):
        """`count` numbers in [0, 1)."""
        key = np.array([self.seed, self.table * len(_PURPOSES) + _PURPOSES.index(purpose)], np.uint64)
        return (np.random.Philox(key=key).random_raw(count) >> np.uint64(11)) * 2.0**-53

    def order(self, purpose, count):
        """The numbers below `count` in random order."""
        return np.argsort(self.uniform(purpose, count), kind="stable")


@dataclass(frozen=True)
class Load:
    """What a Poisson table offers: bytes on the wire, headers counted, over `capacity_bps`.

    `stated` and `realised` are shares; acks are not counted. `realised` is what the flows drawn carry from
    the start of the run to the last arrival.
    """

    stated: float
    realised: float
    of: str
    capacity_bps: int
    mean_bytes: float


@dataclass(frozen=True)
class Application:
    """When there is something to send, as columns, one entry a flow.

    `first_bytes` are written when the flow begins, in whole packets; it goes on at `resume_ps`. From then on,
    or from its beginning where that is 0, it writes for `on_ps` and pauses for `off_ps`; 0 is never.
    """

    first_bytes: U64
    resume_ps: U64
    on_ps: U64
    off_ps: U64


@dataclass(frozen=True)
class Drawn:
    """The flows of one table, as columns: hosts, payload bytes (0 is unlimited), picoseconds.

    `after` and `answers` are places in the same table, `NO_FLOW` where there is none: the flow whose end
    starts this one, `start_ps` later, and the request that this one answers. `application` is None where
    flows never pause.
    """

    src: U32
    dst: U32
    bytes: U64
    start_ps: U64
    stop_ps: U64
    load: Load | None = None
    after: NDArray[np.integer] | None = None
    answers: NDArray[np.integer] | None = None
    application: Application | None = None


@dataclass(frozen=True)
class Flows:
    """All flows of a scenario, table after table.

    Columns, one entry a flow: `src`, `dst`, `cc`, `group`, `priority`, `after`, `answers` (u32), `bytes`,
    `start_ps`, `stop_ps` (u64). Where `after` is not `NO_FLOW`, `start_ps` counts from the end of that flow.
    `bytes` 0 is unlimited, `stop_ps` `NEVER` is never. `cc` indexes `ccs` (the algorithms) and `cc_names`,
    `group` is the number of the traffic table; `loads` has a `Load` or None for each table; `application` is
    None where no flow ever pauses.
    """

    src: U32
    dst: U32
    bytes: U64
    start_ps: U64
    stop_ps: U64
    cc: U32
    group: U32
    priority: U32
    after: U32
    answers: U32
    ccs: list[Algorithm]
    cc_names: list[str]
    loads: list[Load | None]
    application: Application | None = None

    def __len__(self) -> int:
        return len(self.src)


def _ends(value):
    hosts = value if isinstance(value, list) else [value]
    if not hosts or not all(isinstance(host, int | str) and not isinstance(host, bool) for host in hosts):
        raise ValueError('a host (number or name), a list of hosts, or "topology"')
    return value


def _file(value, info):
    folder = (info.context or {}).get("folder") or Path()
    if not isinstance(value, str):
        raise ValueError("the path of a file")
    with suppress(OSError, ValueError):  # too long, or no name of a file
        for path in (folder / value, Path(value)):
            if path.is_file():
                return str(path.resolve())
    raise ValueError(f"an existing file; there is none in {folder.resolve()}")


def _optional_file(value, info):
    return None if value is None else _file(value, info)


def _sizes(value, info):
    if isinstance(value, str) and _is_path(value):
        value = _file(value, info)
    if isinstance(value, dict):
        value = _rows(value, ("size_bytes", "cum_prob"))
    distribution(value, info.context["frame"])
    return value


def _rows(columns, names):
    """Rows of a dict of columns. Raises `ValueError` with what was expected."""
    missing = [name for name in names if name not in columns]
    if missing:
        raise ValueError(f"the columns {', '.join(names)}; {missing[0]} is missing")
    if not all(isinstance(columns[name], list) for name in names):
        raise ValueError(f"a list of values in each of the columns {', '.join(names)}")
    if len({len(columns[name]) for name in names}) > 1:
        lengths = ", ".join(f"{len(columns[name])} of {name}" for name in names)
        raise ValueError(f"columns of one length, not {lengths}")
    return [list(row) for row in zip(*(columns[name] for name in names), strict=True)]


def _columns(value):
    """Columns of `TRACE`, from such columns or from rows of four."""
    if isinstance(value, list) and all(isinstance(row, list) and len(row) == len(TRACE) for row in value):
        value = dict(zip(TRACE, map(list, zip(*value, strict=True)), strict=True)) if value else {}
    if not isinstance(value, dict):
        raise ValueError(f"columns {', '.join(TRACE)}, or rows of these four")
    _rows(value, TRACE)
    start, *whole = (value[name] for name in TRACE)
    # An array has numbers of one kind, so hosts and bytes may come as floats.
    columns = [
        [int(item) if isinstance(item, float) and item.is_integer() else item for item in column]
        for column in whole
    ]
    return dict(zip(TRACE, [start, *columns], strict=True))


def distribution(sizes, frame):
    """The `Sizes` that a name, a CSV file, (bytes, share) pairs or a size with its unit stands for.

    Raises `ValueError` with what was expected.
    """
    if isinstance(sizes, list):
        return workloads.of_points("sizes", enumerate(sizes, start=1))
    if isinstance(sizes, str) and _is_path(sizes):
        return workloads.read(sizes)
    if isinstance(sizes, str) and not sizes[:1].isdigit():
        return workloads.bundled(sizes)
    return workloads.fixed(SIZE.parse(sizes, frame.payload, least=1))


def _is_path(sizes):
    return "/" in sizes or _SUFFIX.search(sizes) is not None


_Host = int | str
_Points = list[tuple[float, float]]
_Columns = dict[str, list[Any]]
Ends = Annotated[Any, Written("Ends"), BeforeValidator(_ends, json_schema_input_type=_Host | list[_Host])]
SizesName = Annotated[
    Any, Written("Sizes"), BeforeValidator(_sizes, json_schema_input_type=str | _Points | _Columns)
]
AlgorithmChoice = Annotated[
    Any,
    Written("Algorithm"),
    BeforeValidator(lambda value, info: None if value is None else info.context["algorithm"](value)),
    PlainSerializer(lambda value, info: value and value.table(packet(info))),
]


class _Kind(Table):
    cc: AlgorithmChoice = Field(None, description="the algorithm; absent: the scenario's")
    priority: Literal[0, 1] = Field(0, description="1: its packets go before those of 0")

    def settled(self, network: "Network") -> Self:
        """This table with the defaults that depend on the network filled in."""
        return self


class _Between(_Kind):
    """A kind whose flows run between hosts that may be chosen."""

    sources: Ends = Field("topology", alias="from", description="sending hosts")
    to: Ends = Field("topology", description="receiving hosts")

    def ends(self, network, draws):
        """(sources, targets) as host numbers, taken in turn; the topology's own pairs where not given."""
        sources, targets = (_hosts(network, *end) for end in (("from", self.sources), ("to", self.to)))
        if sources is None and targets is None:
            return _own_pairs(network, draws)
        if sources is None:
            sources = _others(network, network.senders, targets, draws)
        if targets is None:
            targets = _others(network, network.receivers, sources, draws)
        return sources, targets

    def pairs_of(self, network, draws, count):
        """(src, dst) of `count` flows: flow i takes the i-th source and the i-th target, around."""
        sources, targets = (np.resize(hosts, count) for hosts in self.ends(network, draws))
        same = np.flatnonzero(sources == targets)
        if len(same):
            name = network.host_names[sources[same[0]]]
            raise ScenarioError("to", name, f"another host; flow {same[0]} has both ends there")
        return sources, targets


def _hosts(network, key, value):
    if value == "topology":
        return None
    numbers = []
    for reference in value if isinstance(value, list) else [value]:
        try:
            numbers.append(network.host(reference))
        except ValueError as error:
            raise ScenarioError(key, reference, str(error)) from None
    return np.array(numbers, np.uint32)


def _distinct(hosts):
    """Each host once, in order. Of numpy.unique the half is importing masked arrays, in a short run."""
    return np.flatnonzero(np.bincount(hosts)).astype(np.uint32)


def _own_pairs(network, draws):
    """The topology's senders and receivers; without any, everyone sends to the next in a random ring."""
    if network.senders is not None:
        return network.senders, network.receivers
    ring = draws.order("pairs", network.hosts).astype(np.uint32)
    return ring, np.roll(ring, -1)


def _others(network, preferred, taken, draws):
    """Hosts to stand against `taken`: the topology's, else all that are left, in random order."""
    if preferred is not None and not np.isin(preferred, taken).any():
        return preferred
    left = np.setdiff1d(np.arange(network.hosts, dtype=np.uint32), taken)
    if not len(left):
        raise ScenarioError("to", "all hosts", "some host left for the other end")
    return left if preferred is not None else left[draws.order("pairs", len(left))]


def _full(count, value):
    return np.full(count, value, np.uint64)


def _spread(draws, count, jitter):
    """`count` delays, uniform within `jitter`: without them equal flows start, and stay, in step."""
    return (draws.uniform("jitter", count) * jitter).astype(np.uint64)


class LongLived(_Between):
    """Flows without an end: flow i starts at `start + i * stagger`, or up to `jitter` later."""

    kind: Literal["long-lived"]
    flows: OptionalCount = Field(None, description="how many; absent: one a source")
    start: Time = Field("0s", description="start of the first flow")
    stagger: Time = Field("0s", description="time between two starts")
    jitter: Time = Field("10us", description="every start is later by a random time up to this")
    stop: Stop = Field("never", description="when all of them end")
    exchange: OptionalPayload = Field(
        None, description="what each sends as the run begins, up to `jitter` later, to pause until its start"
    )
    on: OptionalInterval = Field(None, description="how long each sends before it pauses for `off`")
    off: OptionalInterval = Field(None, description="how long each pauses, again and again; absent: never")

    @model_validator(mode="after")
    def _turns(self):
        for key, other in (("on", "off"), ("off", "on")):
            if getattr(self, key) and not getattr(self, other):
                raise ScenarioError(other, None, f"a time such as 1ms beside {key}")
        return self

    def settled(self, network: "Network") -> Self:
        """`flows` filled in: one a source, or one a host of the longer list where both ends are given."""
        if self.flows is not None:
            return self
        sources, targets = self.ends(network, Draws(0, 0))
        both_given = "topology" not in (self.sources, self.to)
        flows = max(len(sources), len(targets)) if both_given else len(sources)
        return self.model_copy(update={"flows": flows})

    def draw(self, network, draws, frame):
        """The starts are random, and the pairs of a topology without its own."""
        start_ps = self.start + np.arange(self.flows, dtype=np.uint64) * np.uint64(self.stagger)
        start_ps += _spread(draws, self.flows, self.jitter)
        if start_ps.max() >= self.stop:
            raise ScenarioError("stop", f"{self.stop}ps", "a time after the last start")
        pair = self.pairs_of(network, draws, self.flows)
        self._check_turns(network, frame)
        begin_ps, application = self._application(start_ps)
        stop_ps = _full(self.flows, self.stop)
        return Drawn(*pair, _full(self.flows, 0), begin_ps, stop_ps, application=application)

    def _check_turns(self, network, frame):
        """Turns of a picosecond change nothing on the wire, and a run would do nothing else."""
        least_ps = int(frame[0] * 8 * 10**12 // network.host_rate_bps.max())
        if self.off and self.on + self.off < least_ps:
            texts = [TIME.text(time) for time in (self.on + self.off, least_ps)]
            raise ScenarioError(
                "off", f"{texts[0]} with on", f"{texts[1]}, a frame's time on its link, or more"
            )

    def _application(self, start_ps):
        """(when the flows begin, their `Application`): with an exchange by their jitter."""
        if not self.exchange and not self.off:
            return start_ps, None
        first, on, off = (_full(self.flows, time or 0) for time in (self.exchange, self.on, self.off))
        if not self.exchange:
            return start_ps, Application(first, _full(self.flows, 0), on, off)
        regular = self.start + np.arange(self.flows, dtype=np.uint64) * np.uint64(self.stagger)
        return start_ps - regular, Application(first, start_ps, on, off)


class Staircase(_Between):
    """One flow joins every interval; when all are there, one leaves every interval, first come first."""

    kind: Literal["staircase"]
    flows: Count = Field(5, description="how many join")
    interval: Interval = Field("1s", description="time between two changes")
    start: Time = Field("0s", description="start of the first flow")
    jitter: Time = Field("10us", description="every start is later by a random time up to this")

    def draw(self, network, draws, frame):
        """Flow i is there from `start + i * interval` and up to `jitter` more, for `flows * interval`."""
        start_ps = self.start + np.arange(self.flows, dtype=np.uint64) * np.uint64(self.interval)
        start_ps += _spread(draws, self.flows, self.jitter)
        pair = self.pairs_of(network, draws, self.flows)
        stop_ps = start_ps + np.uint64(self.flows * self.interval)
        return Drawn(*pair, _full(self.flows, 0), start_ps, stop_ps)


class Incast(_Kind):
    """Many hosts send one flow each to the same host, at once or within `jitter`."""

    kind: Literal["incast"]
    senders: OptionalCount = Field(None, description="how many hosts send; absent: all that can")
    size: Payload = Field("20KB", description="payload of every flow")
    start: Time = Field("0s", description="when the first may start")
    jitter: Time = Field("0s", description="starts are uniform within this time")
    to: Ends = Field("topology", description="the receiver; the topology's first, else the last host")

    def _candidates(self, network, draws):
        receiver = _hosts(network, "to", self.to)
        if receiver is None:
            receiver = [network.hosts - 1 if network.receivers is None else network.receivers[0]]
        if len(receiver) != 1:
            raise ScenarioError("to", self.to, "one host")
        return _others(network, network.senders, receiver, draws), receiver[0]

    def settled(self, network: "Network") -> Self:
        """`senders` filled in, and not more than there are hosts to send."""
        most = len(self._candidates(network, Draws(0, 0))[0])
        if (self.senders or 0) > most:
            raise ScenarioError("senders", self.senders, f"at most {most}, the hosts that can send to it")
        return self.model_copy(update={"senders": self.senders or most})

    def draw(self, network, draws, frame):
        """In a topology without senders of its own they are drawn among all hosts."""
        candidates, receiver = self._candidates(network, draws)
        return Drawn(
            candidates[: self.senders],
            np.full(self.senders, receiver, np.uint32),
            _full(self.senders, self.size),
            np.uint64(self.start) + _spread(draws, self.senders, self.jitter),
            _full(self.senders, NEVER),
        )


class Shuffle(_Between):
    """Every host sends to every other: the middle of a map and reduce job."""

    kind: Literal["shuffle"]
    size: Payload = Field("1MB", description="payload of every flow")
    start: Time = Field("0s", description="when the first may start")
    jitter: Time = Field("1ms", description="starts are uniform within this time")

    def draw(self, network, draws, frame):
        """All pairs of two different hosts, source by source; the starts are random."""
        everyone = np.arange(network.hosts, dtype=np.uint32)
        given = self.sources != "topology" or self.to != "topology"
        sources, targets = self.ends(network, draws) if given else (everyone, everyone)
        src, dst = (hosts.ravel() for hosts in np.meshgrid(sources, targets, indexing="ij"))
        apart = src != dst
        if not apart.any():
            raise ScenarioError("to", self.to, "some other host")
        count = int(apart.sum())
        start_ps = np.uint64(self.start) + _spread(draws, count, self.jitter)
        return Drawn(src[apart], dst[apart], _full(count, self.size), start_ps, _full(count, NEVER))


class RequestResponse(_Between):
    """Clients that each send a request, hear the response, think, and send the next."""

    kind: Literal["request-response"]
    pairs: OptionalCount = Field(None, description="clients, each with a server; absent: one a source")
    exchanges: Count = Field(100, description="requests of each client, one after the other")
    request: Payload = Field("100B", description="payload of a request")
    response: Payload = Field("20KB", description="payload of a response")
    service: Time = Field("0s", description="from the end of a request to the start of its response")
    think: Time = Field("0s", description="from the end of a response to the start of the next request")
    start: Time = Field("0s", description="when the first may start")
    jitter: Time = Field("10us", description="first requests are uniform within this time")

    def settled(self, network: "Network") -> Self:
        """`pairs` filled in: one a source."""
        if self.pairs is not None:
            return self
        return self.model_copy(update={"pairs": len(self.ends(network, Draws(0, 0))[0])})

    def draw(self, network, draws, frame):
        """Round by round: the requests of all clients, then the responses to them."""
        clients, servers = self.pairs_of(network, draws, self.pairs)
        first = np.uint64(self.start) + _spread(draws, self.pairs, self.jitter)
        halves, count = 2 * self.exchanges, 2 * self.exchanges * self.pairs
        response = np.repeat(np.arange(halves) % 2 == 1, self.pairs)
        start_ps = np.where(response, np.uint64(self.service), np.uint64(self.think))
        start_ps[: self.pairs] = first
        before = np.arange(count) - self.pairs
        return Drawn(
            np.where(response, np.tile(servers, halves), np.tile(clients, halves)),
            np.where(response, np.tile(clients, halves), np.tile(servers, halves)),
            np.where(response, np.uint64(self.response), np.uint64(self.request)),
            start_ps,
            _full(count, NEVER),
            after=np.where(before < 0, NO_FLOW, before),
            answers=np.where(response, before, NO_FLOW),
        )


class Poisson(_Between):
    """Flows that arrive at random, with sizes from a distribution, at a stated load.

    Load is bytes on the wire (payload and headers, not acks) over capacity: `host` is the mean share of
    the sending hosts' own links, `bottleneck` the share of the one port that all flows cross.
    """

    kind: Literal["poisson"]
    sizes: SizesName = Field(description='a bundled distribution, a CSV file, or one size such as "20KB"')
    load: Share = Field(description='a share above 0 and at most 1, such as 0.4 or "40%"')
    load_of: Literal["host", "bottleneck"] = Field("host", description="whose capacity it shares")
    flows: Count = Field(1000, description="how many arrive")
    below: PayloadLimit = Field("unlimited", description="only sizes below this are drawn")

    def draw(self, network, draws, frame):
        """Source and target are uniform over the hosts, or over the topology's pairs."""
        sizes = self._distribution(frame)
        src, dst, capacity_bps = self._ends(network, draws)
        drawn = sizes.sample(draws.uniform("sizes", self.flows))
        mean_bytes = sizes.mean + frame.header * sizes.frames(frame.payload)
        gap_ps = 8e12 * mean_bytes / (self.load * capacity_bps)
        gaps_ps = np.rint(-np.log1p(-draws.uniform("arrivals", self.flows)) * gap_ps)
        if gaps_ps.sum() >= NEVER:
            raise ScenarioError("load", self.load, "a load whose flows all arrive within 213 days")
        start_ps = np.cumsum(gaps_ps.astype(np.uint64), dtype=np.uint64)
        wire_bytes = float(np.sum(drawn)) + frame.header * float(np.sum(np.ceil(drawn / frame.payload)))
        realised = 8e12 * wire_bytes / (capacity_bps * max(float(start_ps[-1]), 1))
        load = Load(self.load, realised, self.load_of, capacity_bps, mean_bytes)
        return Drawn(src, dst, drawn, start_ps, _full(self.flows, NEVER), load)

    def _distribution(self, frame):
        sizes = distribution(self.sizes, frame)
        if self.below == NEVER:
            return sizes
        try:
            return sizes.below(self.below)
        except ValueError as error:
            raise ScenarioError("below", f"{self.below}B", str(error)) from None

    def _ends(self, network, draws):
        """(src, dst, capacity in bit/s) of every flow."""
        if network.senders is not None and self.sources == self.to == "topology":
            sources, targets = network.senders, network.receivers
            pair = (draws.uniform("pairs", self.flows) * len(sources)).astype(np.int64)
            return sources[pair], targets[pair], self._capacity_bps(network, sources, targets)
        sources, targets = self._sets(network, draws)
        src = sources[(draws.uniform("sources", self.flows) * len(sources)).astype(np.int64)]
        place = np.full(network.hosts, -1)
        place[targets] = np.arange(len(targets))
        own = place[src]
        choices = len(targets) - (own >= 0)
        if (choices == 0).any():
            raise ScenarioError("to", self.to, "some other host for every source")
        chosen = (draws.uniform("targets", self.flows) * choices).astype(np.int64)
        dst = targets[chosen + ((own >= 0) & (chosen >= own))]
        return src, dst, self._capacity_bps(network, sources, targets)

    def _sets(self, network, draws):
        everyone = np.arange(network.hosts, dtype=np.uint32)
        if self.sources == self.to == "topology":
            return everyone, everyone
        return tuple(_distinct(hosts) for hosts in self.ends(network, draws))

    def _capacity_bps(self, network, sources, targets):
        """What the load is a share of, after a look at the port that all flows cross, if there is one."""
        shared_bps = self._shared_bps(network, sources, targets)
        if self.load_of == "bottleneck":
            if shared_bps is None:
                expected = '"host": these flows have no port that all of them cross'
                raise ScenarioError("load_of", self.load_of, expected)
            return shared_bps
        hosts_bps = int(network.host_rate_bps[_distinct(sources)].sum())
        if shared_bps is not None and self.load * hosts_bps > shared_bps:
            most = f"{shared_bps / hosts_bps:.3g}, what the port that all flows cross can carry"
            raise ScenarioError("load", self.load, f'at most {most}, or load_of = "bottleneck"')
        return hosts_bps

    def _shared_bps(self, network, sources, targets):
        """The rate of the slowest port that all flows cross; None where there is none."""
        shared = []
        if len(_distinct(targets)) == 1:
            shared.append(int(network.rate_bps[network.link_to == targets[0]][0]))
        if len(network.bottlenecks) == 1 and network.senders is not None:
            crossing = np.isin(sources, network.senders).all() and np.isin(targets, network.receivers).all()
            shared += [int(network.rate_bps[network.bottlenecks[0]])] if crossing else []
        return min(shared, default=None)


class Trace(_Kind):
    """Flows that are listed one by one: a CSV file, or columns, of start_s, src, dst, bytes."""

    kind: Literal["trace"]
    file: Annotated[
        str | None, Written("File"), BeforeValidator(_optional_file, json_schema_input_type=str)
    ] = Field(None, description="the path of a CSV file with the columns start_s,src,dst,bytes")
    flows: Annotated[
        Any, Written("Columns"), BeforeValidator(_columns, json_schema_input_type=_Columns | list[list[Any]])
    ] = Field(None, validate_default=False, description="these columns themselves, instead of a file")

    @model_validator(mode="after")
    def _one_source(self):
        if (self.file is None) == (self.flows is None):
            raise ScenarioError("file", self.file, "either a file or flows, the columns themselves")
        return self

    def draw(self, network, draws, frame):
        """Hosts by number or name; times to the picosecond."""
        hosts = {name: i for i, name in enumerate(network.host_names)}
        hosts |= {str(i): i for i in range(network.hosts)}
        rows = [self._row(line, words, hosts) for line, words in self._lines() if words]
        if not rows:
            raise self._wrong("one flow or more; it has none")
        start_ps, src, dst, size = (list(column) for column in zip(*rows, strict=True))
        return Drawn(
            np.array(src, np.uint32),
            np.array(dst, np.uint32),
            np.array(size, np.uint64),
            np.array(start_ps, np.uint64),
            _full(len(rows), NEVER),
        )

    def _lines(self):
        """(number, four texts) of each flow."""
        if self.flows is not None:
            columns = ([str(value) for value in self.flows[name]] for name in TRACE)
            yield from enumerate(zip(*columns, strict=True), start=1)
            return
        with open(self.file, newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(line for line in file if not line.startswith("#"))
            there = tuple(word.strip() for word in next(lines, []))
            if there != TRACE:
                missing = [f"{name} is missing" for name in TRACE if name not in there]
                unknown = [f"{name} is none of them" for name in there if name not in TRACE]
                why = ", ".join(missing + unknown) or "in this order"
                raise self._wrong(f"the columns start_s,src,dst,bytes in its first line: {why}")
            yield from enumerate(lines, start=1)

    def _row(self, line, words, hosts):
        try:
            start, src, dst, size = (word.strip() for word in words)
            start_ps, size = round(Decimal(start) * 10**12), int(size)
            ends = hosts[src], hosts[dst]
        except (ValueError, InvalidOperation, OverflowError):
            expected = f'in flow {line}: start_s,src,dst,bytes as numbers, not "{",".join(words)}"'
            raise self._wrong(expected) from None
        except KeyError as error:
            expected = f"in flow {line}: a host from 0 to {len(hosts) // 2 - 1}, not {error.args[0]}"
            raise self._wrong(expected) from None
        if not 0 <= start_ps < NEVER or not 0 < size < 2**63:
            raise self._wrong(f"in flow {line}: a start of 0 or more and a size above 0")
        if ends[0] == ends[1]:
            raise self._wrong(f"in flow {line}: two different hosts")
        return start_ps, *ends, size

    def _wrong(self, expected):
        return ScenarioError("flows" if self.file is None else "file", self.file, expected)


KINDS = {
    "long-lived": LongLived,
    "staircase": Staircase,
    "incast": Incast,
    "shuffle": Shuffle,
    "request-response": RequestResponse,
    "poisson": Poisson,
    "trace": Trace,
}

Traffic = Annotated[reduce(or_, KINDS.values()), Field(discriminator="kind")]


def draw(
    tables: Sequence["_Kind"], network: "Network", seed: int, frame: Frame, default: Algorithm | None
) -> "Flows":
    """The flows of all traffic tables; `default` is the algorithm of those that name none.

    Raises `ScenarioError` whose key starts at the table, such as traffic[0].to.
    """
    drawn, ccs, cc = [], [], []
    islands = network.islands()
    for i, table in enumerate(tables):
        try:
            drawn.append(table.draw(network, Draws(seed, i), frame))
            _check_reachable(network, islands, drawn[-1])
        except ScenarioError as error:
            raise ScenarioError(f"traffic[{i}].{error.key}", error.value, error.expected) from None
        algorithm = table.cc or default
        if algorithm not in ccs:
            ccs.append(algorithm)
        cc.append(ccs.index(algorithm))
    counts = [len(of.src) for of in drawn]
    columns = {
        key: np.concatenate([getattr(of, key) for of in drawn])
        for key in ("src", "dst", "bytes", "start_ps", "stop_ps")
    }
    first = np.cumsum([0, *counts])
    for key in ("after", "answers"):
        placed = [_placed(getattr(of, key), len(of.src), at) for of, at in zip(drawn, first, strict=False)]
        columns[key] = np.concatenate(placed).astype(np.uint32)
    return Flows(
        **columns,
        cc=np.repeat(np.array(cc, np.uint32), counts),
        group=np.repeat(np.arange(len(tables), dtype=np.uint32), counts),
        priority=np.repeat(np.array([table.priority for table in tables], np.uint32), counts),
        ccs=ccs,
        cc_names=_labels(ccs),
        loads=[of.load for of in drawn],
        application=_applications([of.application for of in drawn], counts),
    )


def _applications(applications, counts):
    """The `Application` of all tables, or None where none has one."""
    if not any(applications):
        return None
    keys = [field.name for field in fields(Application)]
    eager = [Application(*[_full(count, 0) for _ in keys]) for count in counts]
    every = [one or other for one, other in zip(applications, eager, strict=True)]
    return Application(*[np.concatenate([getattr(one, key) for one in every]) for key in keys])


def _placed(within, count, first):
    """Numbers of flows from places within a table whose first flow is number `first`."""
    if within is None:
        return np.full(count, NO_FLOW)
    return np.where(within == NO_FLOW, NO_FLOW, within + first)


def _check_reachable(network, islands, drawn):
    apart = np.flatnonzero(islands[drawn.src] != islands[drawn.dst])
    if len(apart):
        a, b = (network.host_names[end[apart[0]]] for end in (drawn.src, drawn.dst))
        raise ScenarioError("to", b, f"a host that {a} has a path to")


def _labels(ccs):
    """Names for results: the algorithm's own, numbered where one comes with several settings."""
    labels = []
    for algorithm in ccs:
        again = sum(other.label == algorithm.label for other in ccs[: len(labels)])
        labels.append(algorithm.label if not again else f"{algorithm.label}-{again + 1}")
    return labels
