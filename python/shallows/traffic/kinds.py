"""Kinds of traffic with a fixed plan: all at once, one by one, in turn, or one after the other."""

from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from pydantic import field_validator, model_validator

from shallows.base import limits
from shallows.base.table import Key
from shallows.base.toml import is_list
from shallows.core.contract import F64, U32, U64
from shallows.errors import ScenarioError
from shallows.traffic.flows import NO_FLOW, Application, Drawn, Draws, Load, full
from shallows.traffic.kind import (
    DRAWN_BYTES,
    WAIT_BYTES,
    Between,
    Ends,
    Kind,
    distinct,
    filled,
    hosts_of,
    others,
)
from shallows.traffic.offered import Offered, Uniform
from shallows.traffic.predecessors import Predecessors
from shallows.traffic.sizes import SizesName, drawn_sizes
from shallows.units import (
    NEVER,
    RATE,
    TIME,
    Count,
    Frame,
    Interval,
    OptionalCount,
    OptionalInterval,
    OptionalPayload,
    OptionalRate,
    OptionalShare,
    Payload,
    Stop,
    Time,
)

if TYPE_CHECKING:
    from shallows.topology import Network


def _check_end(key: str, value: int, end_ps: int) -> None:
    """Raise `ScenarioError` if the repetitions of a key end later than a run may."""
    if end_ps > limits.TIME.most:
        raise ScenarioError(key, value, f"fewer: they would end after {TIME.text(limits.TIME.most)}")


class LongLived(Between, frozen=True):
    """Flows without an end: flow i starts at `start + i * stagger`, or up to `jitter` later."""

    kind: Literal["long-lived"]
    flows: OptionalCount = Key(None, description="number of flows; by default one per source")
    start: Time = Key("0s", description="start of the first flow")
    stagger: Time = Key("0s", description="time between two starts")
    jitter: Time = Key("10us", description="largest random delay of every start")
    stop: Stop = Key("never", description="time when all of them end")
    exchange: OptionalPayload = Key(
        None,
        description="data that each sends when the run begins, before it pauses until its start",
    )
    on: OptionalInterval = Key(None, description="time that each sends before it pauses for `off`")
    off: OptionalInterval = Key(None, description="repeated pause of each flow; by default none")
    rate: OptionalRate = Key(
        None, description="rate at which each application writes full packets; by default without a limit"
    )

    @property
    def pauses(self) -> bool:
        """True if its flows do not always have data to send, once they have begun."""
        return bool(self.off or self.rate)

    @model_validator(mode="after")
    def _turns(self) -> Self:
        for key in ("exchange", "off") if self.rate else ():
            if getattr(self, key):
                expected = "no such key beside rate, at which the application always writes"
                raise ScenarioError(key, self.model_dump()[key], expected)
        for key, other in (("on", "off"), ("off", "on")):
            if getattr(self, key) and not getattr(self, other):
                raise ScenarioError(other, None, f"a time such as 1ms beside {key}")
        return self

    def settled(self, network: "Network") -> Self:
        """Fill in `flows`: one per source, or one per host of the longer list if both ends are given."""
        if self.flows is not None:
            return self
        sources, targets = self.ends(network, Draws(0, 0))
        both_given = "topology" not in (self.sources, self.to)
        flows = max(len(sources), len(targets)) if both_given else len(sources)
        return self.model_copy(update={"flows": flows})

    def draw(self, network: "Network", draws: Draws, frame: Frame) -> Drawn:
        """The starts are random, and so are the pairs of a topology without its own."""
        count = filled(self.flows)
        _check_end("flows", count, self.start + count * self.stagger + self.jitter)
        regular_ps = self.start + np.arange(count, dtype=np.uint64) * np.uint64(self.stagger)
        start_ps = regular_ps + spread(draws, count, self.jitter)
        if start_ps.max() >= self.stop:
            raise ScenarioError("stop", f"{self.stop}ps", "a time after the last start")
        pair = self.pairs_of(network, draws, count)
        self._check_turns(network, frame)
        self._check_rate(network, pair[0], frame)
        begin_ps = start_ps - regular_ps if self.exchange else start_ps
        application = self._application(start_ps, frame)
        return Drawn(*pair, full(count, 0), begin_ps, full(count, self.stop), application=application)

    def _check_turns(self, network: "Network", frame: Frame) -> None:
        """Refuse turns that are too short to change anything on the wire."""
        least_ps = int(frame[0] * 8 * 10**12 // network.host_rate_bps.max())
        if self.on and self.off and self.on + self.off < least_ps:
            texts = [TIME.text(time) for time in (self.on + self.off, least_ps)]
            raise ScenarioError(
                "off", f"{texts[0]} with on", f"{texts[1]}, a frame's time on its link, or more"
            )

    def _check_rate(self, network: "Network", sources: U32, frame: Frame) -> None:
        """Refuse a rate above that of the sender's link, whose frames have headers."""
        most = int(network.host_rate_bps[sources].min()) * frame.payload // frame.wire
        if self.rate and self.rate > most:
            expected = f"at most the payload that the link of each sender carries, {RATE.text(most)}"
            raise ScenarioError("rate", RATE.text(self.rate), expected)

    def _application(self, start_ps: U64, frame: Frame) -> Application | None:
        """When the flows have data to send, if not always: an exchange counts from their start."""
        if not self.exchange and not self.off and not self.rate:
            return None
        first, on, off = (full(len(start_ps), time or 0) for time in (self.exchange, self.on, self.off))
        every = round(8e12 * frame.payload / self.rate) if self.rate else 0
        resumes = start_ps if self.exchange else full(len(start_ps), 0)
        return Application(first, resumes, on, off, full(len(start_ps), every))


class Staircase(Between, frozen=True):
    """One flow joins every interval; when all are there, one leaves every interval, first come first."""

    kind: Literal["staircase"]
    flows: Count = Key(5, description="how many join")
    interval: Interval = Key("1s", description="time between two changes")
    start: Time = Key("0s", description="start of the first flow")
    jitter: Time = Key("10us", description="largest random delay of every start")

    def draw(self, network: "Network", draws: Draws, frame: Frame) -> Drawn:
        """Flow i exists from `start + i * interval`, or up to `jitter` later, for `flows * interval`."""
        _check_end("flows", self.flows, self.start + 2 * self.flows * self.interval + self.jitter)
        start_ps = self.start + np.arange(self.flows, dtype=np.uint64) * np.uint64(self.interval)
        start_ps += spread(draws, self.flows, self.jitter)
        pair = self.pairs_of(network, draws, self.flows)
        stop_ps = start_ps + np.uint64(self.flows * self.interval)
        return Drawn(*pair, full(self.flows, 0), start_ps, stop_ps)


class Incast(Kind, frozen=True):
    """Many hosts send one flow each to the same host, at once or within `jitter`.

    Once, every `period`, or at random times with a mean `load` and random hosts.
    """

    kind: Literal["incast"]
    senders: OptionalCount = Key(None, description="number of senders; by default all hosts that can send")
    size: Payload = Key("20KB", description="payload of each flow")
    start: Time = Key("0s", description="earliest start")
    jitter: Time = Key("0s", description="starts are uniform within this time")
    times: Count = Key(1, description="number of incasts, all between the same hosts without `load`")
    period: OptionalInterval = Key(None, description="with `times`: time between two incasts")
    load: OptionalShare = Key(
        None,
        description="mean load of the hosts' links by incasts at random times between random hosts",
    )
    sources: Ends = Key(
        "topology",
        alias="from",
        description="the hosts that send: the first `senders` of them, without the receiver",
    )
    to: Ends = Key("topology", description="the receiver: the topology's first, else the last host")

    @field_validator("senders", mode="before")
    @classmethod
    def _counted(cls, senders: object) -> object:
        if is_list(senders):
            raise ValueError("their number; write from = [...] to choose the hosts that send")
        return senders

    @model_validator(mode="after")
    def _repeated(self) -> Self:
        if self.load is not None:
            if self.period:
                expected = "no period beside load: times are random"
                raise ScenarioError("period", TIME.text(self.period), expected)
            if "times" not in self.model_fields_set:
                raise ScenarioError("times", None, f"a number such as 100 beside load = {self.load:g}")
            return self
        if self.times > 1 and not self.period:
            expected = f'a time such as "1ms" beside times = {self.times}, or a load such as 0.02'
            raise ScenarioError("period", None, expected)
        if self.period and "times" not in self.model_fields_set:
            period = TIME.text(self.period)
            raise ScenarioError("times", None, f"a number such as 10 beside period = {period}")
        return self

    def _candidates(self, network: "Network", draws: Draws) -> tuple[U32, int]:
        receiver = hosts_of(network, "to", self.to)
        if receiver is None:
            receiver = np.array([network.hosts - 1], np.uint32)
            receiver = receiver if network.receivers is None else network.receivers[:1]
        if len(receiver) != 1:
            raise ScenarioError("to", self.to, "one host")
        named = hosts_of(network, "from", self.sources)
        if named is None:
            return others(network, network.senders, receiver, draws), int(receiver[0])
        senders = named[named != receiver[0]]
        if not len(senders):
            raise ScenarioError("from", self.sources, "a host other than the receiver")
        return senders, int(receiver[0])

    def _sets(self, network: "Network") -> tuple[U32, U32]:
        """The hosts among which senders and receivers of incasts with a load are chosen; by default all."""
        ends = (hosts_of(network, *end) for end in (("from", self.sources), ("to", self.to)))
        everyone = np.arange(network.hosts, dtype=np.uint32)
        sources, targets = (everyone if end is None else distinct(end) for end in ends)
        return sources, targets

    def _most_senders(self, network: "Network") -> int:
        """How many hosts can send to the receiver, or to each of them."""
        if self.load is None:
            return len(self._candidates(network, Draws(0, 0))[0])
        sources, targets = self._sets(network)
        most = len(sources) - int(np.isin(targets, sources).any())
        if not most:
            raise ScenarioError("from", self.sources, "a host other than the receiver")
        return most

    def settled(self, network: "Network") -> Self:
        """Fill in `senders`, at most as many as there are hosts to send."""
        most = self._most_senders(network)
        if (self.senders or 0) > most:
            raise ScenarioError("senders", self.senders, f"at most {most}, the hosts that can send to it")
        return self.model_copy(update={"senders": self.senders or most})

    def flow_count(self, network: "Network") -> tuple[str, int]:
        """One of each sender, `times` times."""
        return "times", filled(self.senders) * self.times

    def draw(self, network: "Network", draws: Draws, frame: Frame) -> Drawn:
        """Without `from`, and in a topology without senders of its own, they are drawn among all hosts."""
        if self.load is not None:
            return self._at_random(network, draws, frame, self.load)
        _check_end("times", self.times, self.start + self.times * (self.period or 0) + self.jitter)
        candidates, receiver = self._candidates(network, draws)
        senders = np.tile(candidates[: filled(self.senders)], self.times)
        count = len(senders)
        before = np.repeat(np.arange(self.times, dtype=np.uint64), filled(self.senders))
        src, dst = senders, np.full(count, receiver, np.uint32)
        return Drawn(
            src,
            dst,
            full(count, self.size),
            np.uint64(self.start) + before * np.uint64(self.period or 0) + spread(draws, count, self.jitter),
            full(count, NEVER),
            offered=self._offered(src, dst, frame),
        )

    def _at_random(self, network: "Network", draws: Draws, frame: Frame, load: float) -> Drawn:
        """Incasts that arrive as a Poisson process at a mean load of the sending hosts' links."""
        sources, targets = self._sets(network)
        once, count = filled(self.senders), filled(self.senders) * self.times
        receivers = targets[(draws.uniform("targets", self.times) * len(targets)).astype(np.int64)]
        choices = draws.uniform("sources", count).reshape(self.times, once)
        pairs = zip(receivers, choices, strict=True)
        src = np.concatenate([_some(sources[sources != to], chosen) for to, chosen in pairs])
        capacity_bps = int(network.host_rate_bps[sources].sum())
        wire_bytes = once * frame.on_wire(self.size)
        gap_ps = 8e12 * wire_bytes / (load * capacity_bps)
        arrive_ps = np.cumsum(-np.log1p(-draws.uniform("arrivals", self.times)) * gap_ps)
        if self.start + arrive_ps[-1] + self.jitter > limits.TIME.most:
            within = TIME.text(limits.TIME.most)
            raise ScenarioError("load", load, f"a load whose incasts all arrive within {within}")
        start_ps = np.uint64(self.start) + np.repeat(np.rint(arrive_ps).astype(np.uint64), once)
        realised = 8e12 * wire_bytes * self.times / (capacity_bps * max(float(arrive_ps[-1]), 1))
        return Drawn(
            src,
            np.repeat(receivers, once),
            full(count, self.size),
            start_ps + spread(draws, count, self.jitter),
            full(count, NEVER),
            Load(load, realised, "host", capacity_bps, wire_bytes / once),
            offered=Uniform(sources, targets, load * capacity_bps),
        )

    def _offered(self, src: U32, dst: U32, frame: Frame) -> Offered | None:
        """The mean rates of repeated incasts."""
        if self.times == 1 or not self.period:
            return None
        once = filled(self.senders)
        bps = 8e12 * frame.on_wire(self.size) / self.period
        return Offered(src[:once], dst[:once], np.full(once, bps))


class Shuffle(Between, frozen=True):
    """Every host sends to every other: the middle of a map and reduce job."""

    kind: Literal["shuffle"]
    size: Payload = Key("1MB", description="payload of each flow")
    start: Time = Key("0s", description="earliest start")
    jitter: Time = Key("1ms", description="starts are uniform within this time")

    def flow_count(self, network: "Network") -> tuple[str, int]:
        """From every source to every target."""
        ends = [hosts_of(network, *end) for end in (("from", self.sources), ("to", self.to))]
        sources, targets = (network.hosts if hosts is None else len(hosts) for hosts in ends)
        return "kind", sources * targets

    def draw(self, network: "Network", draws: Draws, frame: Frame) -> Drawn:
        """All pairs of two different hosts, source by source; the starts are random."""
        everyone = np.arange(network.hosts, dtype=np.uint32)
        given = self.sources != "topology" or self.to != "topology"
        sources, targets = self.ends(network, draws) if given else (everyone, everyone)
        src, dst = (hosts.ravel() for hosts in np.meshgrid(sources, targets, indexing="ij"))
        apart = src != dst
        if not apart.any():
            raise ScenarioError("to", self.to, "some other host")
        count = int(apart.sum())
        start_ps = np.uint64(self.start) + spread(draws, count, self.jitter)
        return Drawn(src[apart], dst[apart], full(count, self.size), start_ps, full(count, NEVER))


class RequestResponse(Between, frozen=True):
    """Clients that each send a request, receive the response, think, and send the next."""

    kind: Literal["request-response"]
    pairs: OptionalCount = Key(
        None, description="clients, each with its server, active at the same time; by default one per source"
    )
    exchanges: Count = Key(100, description="requests of each client, one after the other")
    request: SizesName = Key("100B", description="payload of a request, or a distribution of it")
    response: SizesName = Key("20KB", description="payload of a response, or a distribution of it")
    service: Time = Key("0s", description="from the end of a request to the start of its response")
    think: Time = Key("0s", description="from the end of a response to the start of the next request")
    start: Time = Key("0s", description="earliest start")
    jitter: Time = Key("10us", description="first requests start uniformly within this time")

    def settled(self, network: "Network") -> Self:
        """Fill in `pairs`: one per source."""
        if self.pairs is not None:
            return self
        return self.model_copy(update={"pairs": len(self.ends(network, Draws(0, 0))[0])})

    def flow_count(self, network: "Network") -> tuple[str, int]:
        """A request and a response of each exchange."""
        return "exchanges", 2 * self.exchanges * filled(self.pairs)

    def draw_bytes(self, network: "Network") -> float:
        """Each but the first of a client waits for another."""
        return (DRAWN_BYTES + WAIT_BYTES) * self.flow_count(network)[1]

    def draw(self, network: "Network", draws: Draws, frame: Frame) -> Drawn:
        """Round by round: the requests of all clients, then their responses."""
        _check_end(
            "exchanges",
            self.exchanges,
            self.start + self.jitter + self.exchanges * (self.service + self.think),
        )
        pairs = filled(self.pairs)
        clients, servers = self.pairs_of(network, draws, pairs)
        first = np.uint64(self.start) + spread(draws, pairs, self.jitter)
        halves, count = 2 * self.exchanges, 2 * self.exchanges * pairs
        response = np.repeat(np.arange(halves) % 2 == 1, pairs)
        start_ps = np.where(response, np.uint64(self.service), np.uint64(self.think))
        start_ps[:pairs] = first
        before = np.arange(count) - pairs
        sizes = np.zeros(count, np.uint64)
        sizes[response] = drawn_sizes(self.response, frame, draws, "sizes", count // 2)
        sizes[~response] = drawn_sizes(self.request, frame, draws, "arrivals", count // 2)
        return Drawn(
            np.where(response, np.tile(servers, halves), np.tile(clients, halves)),
            np.where(response, np.tile(clients, halves), np.tile(servers, halves)),
            sizes,
            start_ps,
            full(count, NEVER),
            after=Predecessors.chains(count, pairs),
            answers=np.where(response, before, NO_FLOW),
        )


def _some(hosts: U32, choices: F64) -> U32:
    """As many different hosts as there are `choices`, numbers in [0, 1): the first of a random order."""
    first = np.arange(len(choices))
    picked: list[int] = (first + choices * (len(hosts) - first)).astype(np.int64).tolist()
    order: dict[int, int] = {}  # where it differs from that of `hosts`
    for place, other in enumerate(picked):
        picked[place] = order.get(other, other)
        order[other] = order.get(place, place)
    return hosts[picked]


def spread(draws: Draws, count: int, jitter: int) -> U64:
    """`count` delays, uniform within `jitter`: without them equal flows stay synchronised."""
    if not jitter:
        return np.zeros(count, np.uint64)
    return (draws.uniform("jitter", count) * jitter).astype(np.uint64)
