"""The flows whose paths use the links of a fault."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shallows.scenario.faults.changes import of_links

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shallows.core.contract import Flags, Request
    from shallows.scenario import Scenario
    from shallows.topology import Network

FAR = np.iinfo(np.int32).max // 4
"""Hops to a node that is not reached."""


def flows(scenario: "Scenario", request: "Request") -> "NDArray[np.bool_]":
    """For each fault and flow, whether data or acknowledgements of the flow use a link of the fault.

    Paths are those without faults. Where packets of a flow take several paths, these are all the shortest.
    """
    if scenario.network.balancing == "flow":
        return _of_paths(scenario, request)
    return np.array([_of_shortest(scenario, links) for links in of_links(scenario)])


def _of_paths(scenario: "Scenario", request: "Request") -> "NDArray[np.bool_]":
    from shallows import _core

    found = np.zeros((len(scenario.faults), len(scenario.flows)), bool)
    for affected, flows in zip(found, _core.flows_over(request, of_links(scenario)), strict=True):
        affected[flows] = True
    return found


def _of_shortest(scenario: "Scenario", links: "Sequence[int]") -> "Flags":
    """The flows of which a shortest path, in one of the directions, leads over one of the links."""
    network, flows = scenario.graph, scenario.flows
    source, target = flows.src.astype(np.int64), flows.dst.astype(np.int64)
    found = np.zeros(len(flows), bool)
    distances: dict[int, NDArray[np.int32]] = {}

    def to(node: int) -> "NDArray[np.int32]":
        if node not in distances:
            distances[node] = hops_to(network, node)
        return distances[node]

    for a, b in ((source, target), (target, source)):
        for end in sorted(set(b.tolist())):
            shortest = b == end
            far = to(end)
            for link in links:
                enter, leave = int(network.link_from[link]), int(network.link_to[link])
                found[shortest] |= to(enter)[a[shortest]] + 1 + far[leave] == far[a[shortest]]
    return found


def hops_to(network: "Network", node: int) -> "NDArray[np.int32]":
    """The least number of links from each node to `node`, never through another host; `FAR` without a way."""
    hops = np.full(network.nodes, FAR, np.int32)
    hops[node] = 0
    begin, end = network.link_from.astype(np.int64), network.link_to.astype(np.int64)
    passes = (end >= network.hosts) | (end == node)
    begin, end = begin[passes], end[passes]
    reached = 0
    while True:
        new = begin[(hops[end] == reached) & (hops[begin] == FAR)]
        if not len(new):
            return hops
        reached += 1
        hops[new] = reached
