"""Estimate of the packet-hops of a scenario before it runs.

A packet-hop is a packet, data or ack, received over one link. A flow with an end makes as many as its packets
have hops, forward and back, if its links can carry them before the run ends. Flows without an end share the
rest by max-min fairness, recomputed whenever one of them starts or stops. Capacity that a window or an
algorithm leaves unused is not modelled, nor are pauses that stop a network.
"""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from shallows.routing import Routes
from shallows.units import NEVER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.algorithm import Algorithm
    from shallows.contract import F64, Flags
    from shallows.scenario import Scenario
    from shallows.topology import Network


SAMPLED = 256
"""The number of flows with an end, and without, whose paths are computed; other flows are assumed alike."""
MOMENTS = 100
"""The most times at which starts and stops of flows without an end are distinguished."""
ANSWERS = 1.5
"""Per packet the credits, also without data, or the pulls and trimmed packets. 1 to 3 in random scenarios."""
ROCE_SEGMENT_BYTES = 16_000
"""Bytes per acknowledgement of RoCE, unless the algorithm has a segment size of its own."""


def packet_hops(scenario: "Scenario") -> float:
    """Estimated packet-hops of a run."""
    flows = scenario.flows
    if not len(flows):
        return 0.0
    routes, ends_s = Routes(scenario.network), run_ends_s(scenario)
    begins = flows.waiting | (flows.start_ps <= ends_s * 1e12)
    ending = _Sample(scenario, routes, np.flatnonzero(begins & (flows.bytes > 0)))
    if scenario.duration == NEVER:
        ends_s = max(ends_s, float(ending.busy_s(ending.packets).max(initial=0)))
        carried = ending.packets
    else:
        carried = ending.in_time(ends_s)
    endless = _Sample(scenario, routes, np.flatnonzero(begins & (flows.bytes == 0)))
    left = np.maximum(
        1 - ending.busy_s(carried) / max(ends_s, 1e-12), 0.05
    ) * scenario.network.rate_bps.astype(float)
    if scenario.trimming:  # trimmed packets go on as headers, and are pulled again at the receiver's rate
        carried = carried * ending.repeats(carried)
        left = np.where(_inside(scenario.network), np.inf, left)
    return ending.hops(carried) + endless.hops(endless.shared(left, ends_s))


def run_ends_s(scenario: "Scenario") -> float:
    """The end of the run; if that depends on its flows, the last known start."""
    if scenario.duration != NEVER:
        return scenario.duration * 1e-12
    starts = scenario.flows.start_ps
    return float(starts[starts != NEVER].max(initial=0)) * 1e-12


class _Sample:
    """A sample of the flows `of`, each with `weight` flows that share links; their links are concatenated.

    A flow of the sample has the mean packets of all flows of about its size: a few large flows may have most
    packets. `parts` are the parts of a flow on its links: 1 if a flow has one path.
    """

    def __init__(self, scenario: "Scenario", routes: Routes, of: "NDArray[np.intp]") -> None:
        flows, count = scenario.flows, min(len(of), SAMPLED)
        by_size = of[np.argsort(flows.bytes[of], kind="stable")]
        begins = np.linspace(0, len(of), count, endpoint=False).astype(int)
        self.weight = len(of) / max(count, 1)
        chosen = by_size[(begins + self.weight / 2).astype(int)]
        self.network = scenario.network
        ends = [(int(flows.src[flow]), int(flows.dst[flow])) for flow in chosen]
        if scenario.network_options.balancing == "flow":
            rng = np.random.default_rng(0)
            paths = [routes.drawn(*pair, rng) for pair in ends]
            parts = [np.ones(len(path)) for path in paths]
        else:
            spread = [routes.spread(*pair) for pair in ends]
            paths, parts = [links for links, _ in spread], [shares for _, shares in spread]
        self.links = np.concatenate([np.array([], int), *paths])
        self.parts = np.concatenate([np.zeros(0), *parts])
        self.owner = np.repeat(np.arange(len(chosen)), np.array([len(path) for path in paths], int))
        self.lengths = np.bincount(self.owner, self.parts, len(chosen))
        packets = np.ceil(flows.bytes[by_size] / scenario.frame.payload)
        self.packets = np.add.reduceat(packets, begins) / self.weight if count else packets
        self.follows = flows.waiting[chosen]
        self.start_s = np.where(self.follows, 0, flows.start_ps[chosen] * 1e-12)
        self.stop_s = flows.stop_ps[chosen] * 1e-12
        self.bits = 8 * scenario.mtu
        self.acks = np.array([_acks_a_packet(scenario, flows.ccs[flows.cc[flow]]) for flow in chosen])

    def hops(self, packets: "F64") -> float:
        """Packet-hops, forward and back, of this many packets of each flow."""
        return float(self.weight * np.sum(packets * self.lengths * (1 + self.acks)))

    def busy_s(self, packets: "F64") -> "F64":
        """The busy time of each link for this many packets of each flow."""
        carried = np.bincount(self.links, packets[self.owner] * self.parts, len(self.network.rate_bps))
        return self.weight * carried * self.bits / self.network.rate_bps

    def repeats(self, packets: "F64") -> "F64":
        """How often each flow sends a packet if links between switches trim what they cannot carry."""
        busy_s = self.busy_s(packets)
        inside = _inside(self.network)
        most, edge = (np.full(len(packets), 1e-12) for _ in range(2))
        np.maximum.at(most, self.owner, busy_s[self.links])
        np.maximum.at(edge, self.owner, np.where(inside, 0, busy_s)[self.links])
        return most / edge

    def in_time(self, ends_s: float) -> "F64":
        """The packets of each flow that its links can carry before the run ends, in proportion."""
        lasts_s = np.maximum(np.minimum(ends_s, self.stop_s) - self.start_s, 0)
        alone = lasts_s * self._least(self.network.rate_bps[self.links] / self.parts) / self.bits
        packets = np.minimum(self.packets, alone)
        first_s = np.full(len(self.network.rate_bps), ends_s)
        np.minimum.at(first_s, self.links, self.start_s[self.owner])
        own_s = packets[self.owner] * self.parts * self.bits / self.network.rate_bps[self.links]
        busy_s = self.busy_s(packets)[self.links] - (self.weight - 1) * own_s
        share = (ends_s - first_s)[self.links] / np.maximum(busy_s, 1e-12)
        return packets * np.minimum(self._least(share), 1)

    def shared(self, rate_bps: "F64", ends_s: float) -> "F64":
        """The packets of each flow without an end, for links with `rate_bps` left."""
        packets = np.zeros(len(self.lengths))
        if not len(packets):
            return packets
        changes = np.unique(np.clip(np.concatenate([[0, ends_s], self.start_s, self.stop_s]), 0, ends_s))
        if len(changes) > MOMENTS:
            changes = changes[np.linspace(0, len(changes) - 1, MOMENTS).astype(int)]
        for since_s, until_s in pairwise(changes):
            now_s = (since_s + until_s) / 2
            active = (self.start_s <= now_s) & (now_s < self.stop_s)
            packets += (until_s - since_s) * self._max_min(rate_bps.copy(), active) / self.bits
        return packets

    def _max_min(self, free_bps: "F64", active: "Flags") -> "F64":
        """The max-min fair rate of each flow: the link with the least share fixes the rate of its flows
        first.
        """
        rates = np.zeros(len(active))
        waiting, own = active.copy(), np.full(len(free_bps), 1e-12)
        np.maximum.at(own, self.links, self.parts)
        while waiting.any():
            users = self.weight * np.bincount(self.links, waiting[self.owner] * self.parts, len(free_bps))
            share = np.where(users > 0, free_bps / np.maximum(users - (self.weight - 1) * own, own), np.inf)
            least = share.min()
            full = share <= least * (1 + 1e-9)
            settled = waiting & (np.bincount(self.owner, full[self.links], len(active)) > 0)
            rates[settled] = least
            waiting &= ~settled
            taken = settled[self.owner] * self.parts
            free_bps -= least * self.weight * np.bincount(self.links, taken, len(free_bps))
            np.maximum(free_bps, 0, out=free_bps)
        return rates

    def _least(self, of_ways: "F64") -> "F64":
        """The least value of each flow, given a value for every link of its path."""
        least = np.full(len(self.lengths), np.inf)
        np.minimum.at(least, self.owner, of_ways)
        return least


def _inside(network: "Network") -> "Flags":
    """The links between switches."""
    return ~network.is_nic & (network.link_to >= network.hosts)


def _acks_a_packet(scenario: "Scenario", algorithm: "Algorithm") -> float:
    if algorithm.credits or algorithm.trims:
        return ANSWERS
    if algorithm.transport != "roce":
        return 1 / scenario.hosts.acks_every
    segment = algorithm.parameters.get("segment", ROCE_SEGMENT_BYTES)
    return 1 / max(segment / scenario.frame.payload, 1)
