"""Kinds of datacenter fabrics with several tiers, planes or groups."""

from itertools import combinations
from typing import Literal, Self

from pydantic import model_validator

from shallows.base.table import Key
from shallows.errors import ScenarioError
from shallows.topology.keys import HOST_RATE, LINK_DELAY, EdgeRate, Sized, named
from shallows.topology.network import Network, Wiring
from shallows.units import Count, Rate, Time, TwoOrMore


def _one_a_plane(tables: dict[str, int]) -> int:
    return tables.get("planes", 1)


def _prefixes(planes: int) -> list[str]:
    """How the names of the switches of each plane begin."""
    return [f"p{plane}." for plane in range(planes)] if planes > 1 else [""]


class LeafSpine(Sized, frozen=True):
    """Two tiers: every leaf has cables to every spine. Planes are separate fabrics that share the hosts."""

    kind: Literal["leaf-spine"]
    leaves: Count = Key(4, description="leaf switches of each plane")
    spines: Count = Key(4, description="spine switches of each plane")
    hosts_per_leaf: Count = Key(8, description="hosts at each leaf")
    rate: Rate = Key("10Gbps", description="rate of each of the hosts' links")
    spine_rate: EdgeRate
    link_delay: Time = Key("1us", description=LINK_DELAY)
    links_per_pair: Count = Key(1, description="parallel links between a leaf and a spine")
    planes: Count = Key(1, description="separate fabrics, with ports of every host in each")
    ports_per_host: Count = Key(
        default_factory=_one_a_plane,
        validate_default=False,
        description="ports of a host, dealt evenly over the planes; absent: `planes`",
    )

    @model_validator(mode="after")
    def _deals_ports(self) -> Self:
        if self.ports_per_host % self.planes:
            expected = f"a multiple of {self.planes}, the planes"
            raise ScenarioError("ports_per_host", self.ports_per_host, expected)
        return self

    def sizes(self) -> tuple[int, int]:
        """Every host has a cable to its switch, or several."""
        hosts = self.leaves * self.hosts_per_leaf
        between = self.planes * self.leaves * self.spines * self.links_per_pair
        return hosts, hosts * self.ports_per_host + between

    def build(self) -> Network:
        """Hosts are numbered leaf by leaf. With several planes, switches are `p0.leaf0`, …"""
        names = named("h", self.leaves * self.hosts_per_leaf)
        prefixes = _prefixes(self.planes)
        tiers = [(named(f"{p}leaf", self.leaves), named(f"{p}spine", self.spines)) for p in prefixes]
        net = Wiring(names, [switch for leaves, spines in tiers for switch in leaves + spines])
        ports = self.ports_per_host // self.planes
        for leaves, spines in tiers:
            for i, name in enumerate(names):
                net.cable(name, leaves[i // self.hosts_per_leaf], self.rate, self.link_delay, ports)
            for leaf in leaves:
                for spine in spines:
                    net.cable(leaf, spine, self.spine_rate, self.link_delay, self.links_per_pair)
        return net.network()


class ThreeTier(Sized, frozen=True):
    """The oversubscribed tree of the DX paper (SIGCOMM 2015 §VI): 192 servers, 3:1 at the racks.

    Racks share aggregation switches in pairs of the latter; even aggregations reach the even cores, odd
    ones the odd cores.
    """

    kind: Literal["three-tier"]
    cores: Count = Key(8, description="core switches, an even number")
    aggregations: Count = Key(16, description="aggregation switches, an even number")
    tors: Count = Key(32, description="racks, a multiple of half the aggregations")
    hosts_per_tor: Count = Key(6, description="hosts in each rack")
    rate: Rate = Key("10Gbps", description=HOST_RATE)
    uplink_rate: EdgeRate
    core_rate: EdgeRate
    link_delay: Time = Key("4us", description="one-way propagation delay between switches")
    host_delay: Time = Key("1us", description="one-way propagation delay of a host's link")

    @model_validator(mode="after")
    def _wires_up(self) -> Self:
        for key in ("cores", "aggregations"):
            if getattr(self, key) % 2:
                raise ScenarioError(key, getattr(self, key), "an even number")
        pairs = self.aggregations // 2
        if self.tors % pairs:
            raise ScenarioError("tors", self.tors, f"a multiple of {pairs}, half the aggregations")
        return self

    def sizes(self) -> tuple[int, int]:
        """Every host has a cable to its switch, or several."""
        hosts = self.tors * self.hosts_per_tor
        return hosts, hosts + 2 * self.tors + self.aggregations * self.cores // 2

    def build(self) -> Network:
        """Hosts are numbered rack by rack."""
        tors, aggregations = named("tor", self.tors), named("aggr", self.aggregations)
        cores = named("core", self.cores)
        names = named("h", self.tors * self.hosts_per_tor)
        net = Wiring(names, tors + aggregations + cores)
        for i, name in enumerate(names):
            net.cable(name, tors[i // self.hosts_per_tor], self.rate, self.host_delay)
        racks = self.tors // (self.aggregations // 2)
        for i, tor in enumerate(tors):
            pair = 2 * (i // racks)
            for aggregation in aggregations[pair : pair + 2]:
                net.cable(tor, aggregation, self.uplink_rate, self.link_delay)
        for i, aggregation in enumerate(aggregations):
            for core in cores[i % 2 :: 2]:
                net.cable(aggregation, core, self.core_rate, self.link_delay)
        return net.network()


class RailOptimised(Sized, frozen=True):
    """Servers of GPUs: GPU i of every server of a unit is at leaf i of the unit, and spines join all leaves.

    GPUs are the hosts. Each has a port to its leaf, in every plane, and a port to the NVLink switch of its
    server, which carries the traffic inside the server. NVLink switches have the queues and options of other
    switches.
    """

    kind: Literal["rail-optimised"]
    units: Count = Key(1, description="groups of servers with a leaf for each rail")
    servers: Count = Key(4, description="servers in a unit")
    gpus: TwoOrMore = Key(8, description="GPUs in a server, two or more: the number of rails")
    spines: Count = Key(4, description="spine switches of each plane")
    rate: Rate = Key("400Gbps", description="rate of each of the GPUs' links to the leaves")
    spine_rate: EdgeRate
    nvlink_rate: Rate = Key("3.6Tbps", description="rate of a GPU's link inside the server")
    link_delay: Time = Key("1us", description="one-way propagation delay of a link outside servers")
    nvlink_delay: Time = Key("200ns", description="one-way propagation inside a server")
    links_per_pair: Count = Key(1, description="parallel links between a leaf and a spine")
    planes: Count = Key(1, description="separate fabrics, with a port of every GPU in each")

    def sizes(self) -> tuple[int, int]:
        """Every host has a cable to its switch, or several."""
        hosts, leaves = self.units * self.servers * self.gpus, self.units * self.gpus
        return hosts, hosts + self.planes * (hosts + leaves * self.spines * self.links_per_pair)

    def build(self) -> Network:
        """Hosts are numbered server by server, leaves unit by unit; `nv0` is inside the first server.

        With several planes, other switches are `p0.leaf0`, …
        """
        servers = self.units * self.servers
        names, inside = named("h", servers * self.gpus), named("nv", servers)
        tiers = [
            (named(f"{prefix}leaf", self.units * self.gpus), named(f"{prefix}spine", self.spines))
            for prefix in _prefixes(self.planes)
        ]
        switches = [switch for leaves, spines in tiers for switch in leaves + spines]
        net = Wiring(names, switches + inside, inside)
        for i, name in enumerate(names):
            server, rail = divmod(i, self.gpus)
            for leaves, _ in tiers:
                leaf = leaves[server // self.servers * self.gpus + rail]
                net.cable(name, leaf, self.rate, self.link_delay)
            net.cable(name, inside[server], self.nvlink_rate, self.nvlink_delay)
        for leaves, spines in tiers:
            for leaf in leaves:
                for spine in spines:
                    net.cable(leaf, spine, self.spine_rate, self.link_delay, self.links_per_pair)
        return net.network()


def _one_a_spine(tables: dict[str, int]) -> int:
    return tables.get("spines", 1)


class DragonflyPlus(Sized, frozen=True):
    """Groups of leaves and spines (Dragonfly+, HiPINEB 2017): spines also have cables to other groups.

    Flows take shortest paths, so they cross one cable between groups.
    """

    kind: Literal["dragonfly+"]
    groups: TwoOrMore = Key(4, description="groups")
    leaves: Count = Key(4, description="leaf switches of a group")
    spines: Count = Key(4, description="spine switches of a group")
    hosts_per_leaf: Count = Key(4, description="hosts at each leaf")
    links_per_group_pair: Count = Key(
        default_factory=_one_a_spine,
        validate_default=False,
        description="links between two groups, dealt over their spines in turn; by default `spines`",
    )
    rate: Rate = Key("10Gbps", description=HOST_RATE)
    spine_rate: EdgeRate
    global_rate: EdgeRate
    link_delay: Time = Key("1us", description="one-way propagation delay of a link inside a group")
    global_delay: Time = Key("1us", description="one-way propagation delay of a link between groups")

    def sizes(self) -> tuple[int, int]:
        """Every host has a cable to its switch, or several."""
        leaves = self.groups * self.leaves
        between = self.groups * (self.groups - 1) // 2 * self.links_per_group_pair
        hosts = leaves * self.hosts_per_leaf
        return hosts, hosts + leaves * self.spines + between

    def build(self) -> Network:
        """Hosts and switches are numbered group by group."""
        leaves, spines = named("leaf", self.groups * self.leaves), named("spine", self.groups * self.spines)
        names = named("h", len(leaves) * self.hosts_per_leaf)
        net = Wiring(names, leaves + spines)
        for i, name in enumerate(names):
            net.cable(name, leaves[i // self.hosts_per_leaf], self.rate, self.link_delay)
        for i, leaf in enumerate(leaves):
            group = i // self.leaves
            for spine in spines[group * self.spines :][: self.spines]:
                net.cable(leaf, spine, self.spine_rate, self.link_delay)
        for a, b in combinations(range(self.groups), 2):
            for cable in range(self.links_per_group_pair):
                # The cables to each group begin at the spine after those to the group before.
                near, far = spines[self._spine(a, b - 1, cable)], spines[self._spine(b, a, cable)]
                net.cable(near, far, self.global_rate, self.global_delay)
        return net.network()

    def _spine(self, group: int, other: int, cable: int) -> int:
        """The spine of `group` with a cable to its `other`th other group."""
        return group * self.spines + (other * self.links_per_group_pair + cable) % self.spines
