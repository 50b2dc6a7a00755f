"""Kinds of topologies: one model each, whose `build()` gives the `Network`.

To add a kind, write a model with a literal `kind`, keys with defaults and `build()`, and enter it in `KINDS`.
"""

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import field_validator

from shallows.base.table import Key, Table
from shallows.topology.fabrics import DragonflyPlus, LeafSpine, RailOptimised, ThreeTier
from shallows.topology.graph import Graph
from shallows.topology.keys import HOST_RATE, LINK_DELAY, EdgeRate, Sized, named
from shallows.topology.network import Network, Wiring
from shallows.units import Count, Rate, Time, TwoOrMore


class _RoundTripKind(Sized, frozen=True):
    """A kind with a given round trip of propagation over its longest path."""

    rate: Rate = Key("10Gbps", description="rate of the link between the switches")
    rtt: Time = Key("200us", description="two-way propagation of the longest path")

    @field_validator("rtt")
    @classmethod
    def _divides(cls, rtt: int) -> int:
        if rtt % 4:
            raise ValueError("a multiple of 4ps, which divides over the cables")
        return rtt

    def split(self, hops: int) -> tuple[int, list[int]]:
        """The one-way delay as (edge, hops): a quarter in each edge, the rest over the hops.

        The first hop takes the remainder, so that the sum is exact.
        """
        edge = self.rtt // 8
        between = self.rtt // 2 - 2 * edge
        hop = between // hops
        return edge, [between - (hops - 1) * hop] + [hop] * (hops - 1)


class Dumbbell(_RoundTripKind, frozen=True):
    """`hosts` senders on the left, as many receivers on the right, one cable between two switches."""

    kind: Literal["dumbbell"]
    hosts: Count = Key(10, description="hosts on each side")
    edge_rate: EdgeRate

    def sizes(self) -> tuple[int, int]:
        """Every host has a cable to its switch, or several."""
        return 2 * self.hosts, 2 * self.hosts + 1

    def build(self) -> Network:
        """Left hosts are h0…, then right hosts; s0->s1 is the bottleneck."""
        names = named("h", 2 * self.hosts)
        left, right = names[: self.hosts], names[self.hosts :]
        net = Wiring(names, ["s0", "s1"])
        edge, (core,) = self.split(hops=1)
        for a, b in zip(left, right, strict=True):
            net.cable(a, "s0", self.edge_rate, edge)
            net.cable(b, "s1", self.edge_rate, edge)
        net.cable("s0", "s1", self.rate, core)
        return net.network([("s0", "s1")], list(zip(left, right, strict=True)))


class Star(_RoundTripKind, frozen=True):
    """`hosts` hosts around one switch: the network of an incast."""

    kind: Literal["star"]
    hosts: TwoOrMore = Key(10, description="hosts around the switch")

    def sizes(self) -> tuple[int, int]:
        """Every host has a cable to its switch, or several."""
        return self.hosts, self.hosts

    def build(self) -> Network:
        """Every cable has a quarter of the round trip; all hosts send to the last one."""
        names = named("h", self.hosts)
        net = Wiring(names, ["s0"])
        for name in names:
            net.cable(name, "s0", self.rate, self.rtt // 4)
        return net.network(pairs=[(name, names[-1]) for name in names[:-1]])


class ParkingLot(_RoundTripKind, frozen=True):
    """A row of switches; long flows cross every hop, and each hop has flows that cross only it."""

    kind: Literal["parking-lot"]
    hops: Count = Key(3, description="links in the row")
    hosts: Count = Key(
        1, description="senders per group: one group crosses all hops, and one group crosses each hop"
    )

    def sizes(self) -> tuple[int, int]:
        """Every host has a cable to its switch, or several."""
        hosts = 2 * self.hosts * (self.hops + 1)
        return hosts, hosts + self.hops

    def build(self) -> Network:
        """Hosts: long senders, long receivers, then for each hop its senders and its receivers."""
        switches = named("s", self.hops + 1)
        spans = [(0, self.hops)] + [(hop, hop + 1) for hop in range(self.hops)]
        names = named("h", 2 * self.hosts * len(spans))
        net = Wiring(names, switches)
        edge, hops = self.split(self.hops)
        groups: list[list[tuple[str, str]]] = []
        for group, (first, last) in enumerate(spans):
            ends = names[2 * group * self.hosts :][: 2 * self.hosts]
            groups.append(list(zip(ends[: self.hosts], ends[self.hosts :], strict=True)))
            for a, b in groups[-1]:
                net.cable(a, switches[first], self.rate, edge)
                net.cable(b, switches[last], self.rate, edge)
        row = list(pairwise(switches))
        for (a, b), delay in zip(row, hops, strict=True):
            net.cable(a, b, self.rate, delay)
        in_turn = [pair for pairs in zip(*groups, strict=True) for pair in pairs]
        return net.network(row, in_turn)


class MultiBottleneck(_RoundTripKind, frozen=True):
    """Two bottlenecks in a row (SIGCOMM 2015 Fig. 16): group 1 crosses both, groups 2 and 3 one each.

    Groups 1 and 2 send from s0; group 3 sits at s1. Groups 1 and 3 send to one receiver behind an edge
    link, group 2 to a receiver each.
    """

    kind: Literal["multi-bottleneck"]
    hosts: list[Count] = Key([10, 20, 10], description="senders in each of the three groups")
    edge_rate: Rate = Key("1Gbps", description=HOST_RATE)
    same_rtt: bool = Key(True, strict=True, description="whether group 3's cables compensate for the hop")

    @field_validator("hosts")
    @classmethod
    def _three_groups(cls, hosts: list[int]) -> object:
        if len(hosts) != 3:
            raise ValueError("three numbers, the sizes of the sending groups")
        return hosts

    def sizes(self) -> tuple[int, int]:
        """Every host has a cable to its switch, or several."""
        hosts = sum(self.hosts) + 1 + self.hosts[1]
        return hosts, hosts + 1

    def build(self) -> Network:
        """Hosts: groups 1, 2, 3, their shared receiver, then the receivers of group 2."""
        one, two, three = self.hosts
        names = named("h", one + two + three + 1 + two)
        shared, own = names[one + two + three], names[-two:]
        net = Wiring(names, ["s0", "s1"])
        edge, (core,) = self.split(hops=1)
        near = edge + core if self.same_rtt else edge
        for i, name in enumerate(names):
            in_three = one + two <= i < one + two + three
            net.cable(name, "s0" if i < one + two else "s1", self.edge_rate, near if in_three else edge)
        net.cable("s0", "s1", self.rate, core)
        receivers = [shared] * one + own + [shared] * three
        return net.network([("s0", "s1"), ("s1", shared)], list(zip(names, receivers, strict=False)))


class FatTree(Table, frozen=True):
    """The k-ary fat tree: k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores, k^3/4 hosts."""

    kind: Literal["fat-tree"]
    k: Count = Key(4, description="ports of a switch, an even number")
    rate: Rate = Key("10Gbps", description="rate of every link")
    link_delay: Time = Key("1us", description=LINK_DELAY)

    @field_validator("k")
    @classmethod
    def _k_is_even(cls, k: int) -> int:
        if k % 2 or k > 64:
            raise ValueError("an even number from 2 to 64")
        return k

    def build(self) -> Network:
        """Hosts are numbered pod by pod, edge switch by edge switch."""
        half = self.k // 2
        edges, aggregations = named("edge", self.k * half), named("aggr", self.k * half)
        cores = named("core", half * half)
        names = named("h", self.k * half * half)
        net = Wiring(names, edges + aggregations + cores)
        for i, name in enumerate(names):
            net.cable(name, edges[i // half], self.rate, self.link_delay)
        for pod in range(self.k):
            of_pod = slice(pod * half, (pod + 1) * half)
            for edge in edges[of_pod]:
                for aggregation in aggregations[of_pod]:
                    net.cable(edge, aggregation, self.rate, self.link_delay)
            for i, aggregation in enumerate(aggregations[of_pod]):
                for core in cores[i * half : (i + 1) * half]:
                    net.cable(aggregation, core, self.rate, self.link_delay)
        return net.network()


KINDS = {
    "dumbbell": Dumbbell,
    "star": Star,
    "parking-lot": ParkingLot,
    "multi-bottleneck": MultiBottleneck,
    "leaf-spine": LeafSpine,
    "fat-tree": FatTree,
    "three-tier": ThreeTier,
    "rail-optimised": RailOptimised,
    "dragonfly+": DragonflyPlus,
    "graph": Graph,
}

Topology = Annotated[
    Dumbbell
    | Star
    | ParkingLot
    | MultiBottleneck
    | LeafSpine
    | FatTree
    | ThreeTier
    | RailOptimised
    | DragonflyPlus
    | Graph,
    Key(discriminator="kind"),
]
