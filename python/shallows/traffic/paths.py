"""Paths of flows that do not follow from the numbers of the flows: those of queue pairs, and routes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Self

import numpy as np

from shallows.core.contract import U32
from shallows.errors import ScenarioError

if TYPE_CHECKING:
    from shallows.topology import Network
    from shallows.traffic.schedules import QueuePairs


def _none() -> U32:
    return np.array([], np.uint32)


@dataclass(frozen=True)
class Paths:
    """Columns in order of flows. `flow` has a path by a hash of `hash` in place of its own number. `routed`
    has a route, an entry for each link, in order from its source to its target.
    """

    flow: U32 = field(default_factory=_none)
    hash: U32 = field(default_factory=_none)
    routed: U32 = field(default_factory=_none)
    link: U32 = field(default_factory=_none)

    @classmethod
    def stacked(cls, parts: "Sequence[Paths]") -> Self:
        """The columns of several tables, whose numbers are those of the scenario."""
        columns = [
            np.concatenate([_none(), *(getattr(part, key) for part in parts)])
            for key in ("flow", "hash", "routed", "link")
        ]
        return cls(*columns)

    @classmethod
    def of_queue_pairs(cls, pairs: "QueuePairs", first: int) -> Self:
        """Flows of one queue pair take the path of its first flow. `first` is the number of all's first."""
        count = np.int64(pairs.number.max()) + 1
        queue_pair = pairs.connection * count + pairs.number
        flow = np.arange(len(queue_pair), dtype=np.uint32)
        earliest = np.zeros(int(queue_pair.max()) + 1, np.uint32)
        earliest[queue_pair[::-1]] = flow[::-1]  # of several writes to one place the last remains
        return cls(flow + np.uint32(first), earliest[queue_pair] + np.uint32(first))

    @classmethod
    def of_route(cls, network: "Network", switches: Sequence[str], src: U32, dst: U32, first: int) -> Self:
        """The links of flows past `switches` in order, parallel ones in turn. Raises `ScenarioError`."""
        ways = _Ways(network)
        passed = [ways.switch(name) for name in switches]
        if len(set(passed)) < len(passed):
            raise ScenarioError("route", list(switches), "each switch once")
        links: list[int] = []
        for flow, (a, b) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
            hops = [a, *passed, b]
            links += [ways.link(flow, *hop) for hop in pairwise(hops)]
        flow = np.repeat(np.arange(len(src), dtype=np.uint32), len(passed) + 1)
        return cls(routed=flow + np.uint32(first), link=np.array(links, np.uint32))


class _Ways:
    """The links between the nodes of a network."""

    def __init__(self, network: "Network") -> None:
        self.names = network.host_names + network.switch_names
        self.switches = {name: network.hosts + at for at, name in enumerate(network.switch_names)}
        self.links: dict[tuple[int, int], list[int]] = {}
        ends = zip(network.link_from.tolist(), network.link_to.tolist(), strict=True)
        for at, pair in enumerate(ends):
            self.links.setdefault(pair, []).append(at)

    def switch(self, name: str) -> int:
        """The number of a switch."""
        if name not in self.switches:
            example = next(iter(self.switches), "s0")
            raise ScenarioError("route", name, f'the name of a switch, such as "{example}"')
        return self.switches[name]

    def link(self, flow: int, a: int, b: int) -> int:
        """The link from one node to another."""
        found = self.links.get((a, b))
        if found is None:
            names = [self.names[node] for node in (a, b)]
            near = ", ".join(sorted(self.names[to] for of, to in self.links if of == a)[:8])
            expected = (
                f"a path of every flow: no link leads from {names[0]} to {names[1]}, as flow {flow} needs"
            )
            raise ScenarioError("route", names[1], f"{expected}; from {names[0]} links lead to {near}")
        return found[flow % len(found)]
