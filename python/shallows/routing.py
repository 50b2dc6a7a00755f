"""Shortest paths through a `Network`, counted in links, as the packet world routes."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.contract import F64
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

    def _tree(self, src: int) -> "NDArray[np.intp]":
        """The link on which each node is first reached: a random one of several, as ECMP spreads flows.

        Hosts do not forward.
        """
        rng = np.random.default_rng(src)
        by = np.full(self._nodes, -1)
        edge, by[src] = np.array([src]), 0
        while len(edge):
            counts = self._starts[edge + 1] - self._starts[edge]
            offsets = np.repeat(self._starts[edge] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
            links = self._by_node[np.arange(counts.sum()) + offsets]
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
    """Traffic between switches, divided equally over the equal-cost next hops at each switch."""

    def __init__(self, network: "Network") -> None:
        between = np.flatnonzero((network.link_from >= network.hosts) & (network.link_to >= network.hosts))
        self._links, self._count, self._nodes = between, len(network.link_from), network.nodes
        self._from, self._to = network.link_from[between], network.link_to[between]

    def loads(self, switches: "NDArray[np.unsignedinteger]", rates: "F64") -> "F64":
        """The rate of every link, given the `rates` from each of the `switches` (rows) to each other."""
        carried = np.zeros(len(self._links))
        for target, into in zip(switches.tolist(), rates.T, strict=True):
            if into.any():
                waiting = np.zeros(self._nodes)
                waiting[switches] = into
                carried += self._towards(target, waiting)
        loads = np.zeros(self._count)
        loads[self._links] = carried
        return loads

    def _towards(self, target: int, waiting: "F64") -> "F64":
        """The rate of every link between switches for the rates that `waiting` has at each node."""
        hops = self._hops(target)
        shorter = np.flatnonzero((hops[self._from] == hops[self._to] + 1) & (hops[self._to] >= 0))
        choices = np.bincount(self._from[shorter], minlength=self._nodes)
        carried = np.zeros(len(self._links))
        for distance in range(int(hops.max()), 0, -1):
            links = shorter[hops[self._from[shorter]] == distance]
            carried[links] = waiting[self._from[links]] / choices[self._from[links]]
            waiting = waiting + np.bincount(self._to[links], carried[links], self._nodes)
        return carried

    def _hops(self, target: int) -> "NDArray[np.intp]":
        """The number of links from each switch to `target`; -1 without a path."""
        hops = np.full(self._nodes, -1)
        hops[target], distance = 0, 0
        while True:
            found = self._from[(hops[self._to] == distance) & (hops[self._from] < 0)]
            if not len(found):
                return hops
            distance += 1
            hops[found] = distance
