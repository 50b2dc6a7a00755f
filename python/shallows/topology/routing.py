"""Shortest paths through a `Network`, counted in links, as the packet world routes."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.core.contract import F64
    from shallows.topology import Network


class Routes:
    """Shortest paths of a network. One tree of paths is computed for each source and kept."""

    def __init__(self, network: "Network") -> None:
        order = np.argsort(network.link_from, kind="stable")
        self._by_node = order
        self._starts = np.searchsorted(network.link_from[order], np.arange(network.nodes + 1))
        self._to, self._from, self._nodes = network.link_to, network.link_from, network.nodes
        self._hosts = network.hosts
        self._trees: dict[int, NDArray[np.intp]] = {}

    def path(self, src: int, dst: int) -> "NDArray[np.intp]":
        """The links of one of the shortest paths, from the last to the first."""
        if src not in self._trees:
            self._trees[src] = self._tree(src)
        path: list[int] = []
        node = dst
        while node != src:
            link = self._trees[src][node]
            path.append(link)
            node = int(self._from[link])
        return np.array(path, int)

    def _leaving(self, nodes: "NDArray[np.integer]") -> "NDArray[np.intp]":
        """The links that begin at any of the `nodes`."""
        counts = self._starts[nodes + 1] - self._starts[nodes]
        offsets = np.repeat(self._starts[nodes] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        return self._by_node[np.arange(counts.sum()) + offsets]

    def _tree(self, src: int) -> "NDArray[np.intp]":
        """The link on which each node is first reached: a random one of several, as ECMP spreads flows.

        Hosts do not forward.
        """
        rng = np.random.default_rng(src)
        by = np.full(self._nodes, -1)
        edge, by[src] = np.array([src]), 0
        while len(edge):
            links = self._leaving(edge)
            links = links[by[self._to[links]] < 0]
            rng.shuffle(links)
            by[self._to[links]] = links  # of several links to one node the last remains
            edge = np.unique(self._to[links])
            edge = edge[edge >= self._hosts]
        return by


def path_counts(network: "Network", target: int) -> dict[int, int]:
    """The number of shortest paths from each node to `target`. Hosts do not forward."""
    into: dict[int, list[int]] = {}
    for a, b in zip(network.link_from.tolist(), network.link_to.tolist(), strict=True):
        into.setdefault(b, []).append(a)
    counts, reached = {target: 1}, [target]
    while reached:
        found: dict[int, int] = {}
        for node in reached:
            for before in into.get(node, ()) if node >= network.hosts or node == target else ():
                if before not in counts:
                    found[before] = found.get(before, 0) + counts[node]
        counts |= found
        reached = list(found)
    return counts


class Spreading:
    """Traffic between racks, divided equally over the equal-cost next hops at each host and switch.

    A rack is a set of hosts with links to the same switches.
    """

    def __init__(self, network: "Network") -> None:
        source, target = network.link_from, network.link_to
        between = np.flatnonzero((source >= network.hosts) & (target >= network.hosts))
        self._links, self._count, self._nodes = between, len(source), network.nodes
        self._from, self._to = source[between], target[between]
        self._network = network
        above: list[list[int]] = [[] for _ in range(network.hosts)]
        for host, switch in zip(
            source[network.is_nic].tolist(), target[network.is_nic].tolist(), strict=True
        ):
            above[int(host)].append(int(switch))
        number: dict[tuple[int, ...], int] = {}
        self.rack = np.array([number.setdefault(tuple(sorted(leaves)), len(number)) for leaves in above], int)
        """By host: its rack."""
        self.racks = len(number)
        cables = [(rack, switch) for switches, rack in number.items() for switch in switches]
        self._cables = np.array(cables, int).reshape(-1, 2).T
        """The rack and the switch of each cable of a host, sorted; for one host of each rack."""

    def loads(self, rates: "F64") -> "tuple[F64, F64]":
        """The rate of every link between switches, given the `rates` from each rack (rows) to each other.

        Then, for every link of a host, its share of what the host sends or receives.
        """
        carried = np.zeros(len(self._links))
        rack, switch = self._cables
        up, down = np.zeros(len(rack)), np.zeros(len(rack))
        for target, into in enumerate(rates.T):
            if into.any():
                hops = self._hops(switch[rack == target])
                away = np.where(hops < 0, self._nodes, hops)[switch]
                nearest = np.full(self.racks, self._nodes - 1)
                np.minimum.at(nearest, rack, away)
                begins = away == nearest[rack]
                each = begins * (into / np.maximum(np.bincount(rack, begins, len(into)), 1))[rack]
                up += each
                waiting = np.bincount(switch, each, self._nodes).astype(float)
                carried += self._towards(hops, waiting)
                last = switch[rack == target]
                down[rack == target] = waiting[last] / np.bincount(last)[last]
        loads = np.zeros(self._count)
        loads[self._links] = carried
        return loads, self._shares(up, down)

    def equal_shares(self) -> "F64":
        """The share of every link of a host if traffic is divided equally over those outside its server."""
        even = np.isin(self._cables[1], list(self._network.server_switches), invert=True).astype(float)
        return self._shares(even, even)

    def _shares(self, up: "F64", down: "F64") -> "F64":
        """For every link of a host, its part of the rates over the cables of its rack, `up` or `down`."""
        network, shares, (rack, _) = self._network, np.zeros(self._count), self._cables
        counts = np.bincount(rack, minlength=self.racks)
        begin = np.cumsum(counts) - counts
        from_host, to_host = (network.link_from, network.link_to), (network.link_to, network.link_from)
        for rates, (hosts, switches) in ((up, from_host), (down, to_host)):
            total = np.bincount(rack, rates, self.racks)[rack]
            # Without rates, the links are those of hosts without a switch.
            parts = np.where(total > 0, rates / np.where(total > 0, total, 1), 1 / counts[rack])
            of_hosts = np.flatnonzero(hosts < network.hosts)
            in_order = of_hosts[np.lexsort((switches[of_hosts], hosts[of_hosts]))]
            host = hosts[in_order].astype(int)
            place = np.arange(len(host)) - np.searchsorted(host, host)
            shares[in_order] = parts[begin[self.rack[host]] + place]
        return shares

    def _towards(self, hops: "NDArray[np.intp]", waiting: "F64") -> "F64":
        """The rate of every link between switches for the rates that `waiting` has at each node.

        `waiting` is changed: it becomes the sum of the rates that begin at a node or pass it.
        """
        shorter = np.flatnonzero((hops[self._from] == hops[self._to] + 1) & (hops[self._to] >= 0))
        choices = np.bincount(self._from[shorter], minlength=self._nodes)
        carried = np.zeros(len(self._links))
        for distance in range(int(hops.max()), 0, -1):
            links = shorter[hops[self._from[shorter]] == distance]
            carried[links] = waiting[self._from[links]] / choices[self._from[links]]
            waiting += np.bincount(self._to[links], carried[links], self._nodes)
        return carried

    def _hops(self, targets: "NDArray[np.intp]") -> "NDArray[np.intp]":
        """The number of links from each switch to the nearest of the `targets`; -1 without a path."""
        hops = np.full(self._nodes, -1)
        hops[targets], distance = 0, 0
        while True:
            found = self._from[(hops[self._to] == distance) & (hops[self._from] < 0)]
            if not len(found):
                return hops
            distance += 1
            hops[found] = distance
