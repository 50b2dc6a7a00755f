"""The path of a fluid: the bottleneck that all flows share, and their round trip."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shallows.errors import ScenarioError
from shallows.topology.routing import Routes
from shallows.units import RATE, TIME

if TYPE_CHECKING:
    from shallows.scenario import Scenario
    from shallows.topology import Network


@dataclass(frozen=True)
class Path:
    """The shared path. `link` is the bottleneck's number, `network` a network of this link alone.

    switches: those between the hosts.
    """

    link: int
    rate_bps: int
    base_rtt_s: float
    network: "Network"
    switches: int


def shared_path(scenario: "Scenario") -> Path:
    """The `Path` of the flows. Raises `ScenarioError` if a fluid with one queue would differ."""
    network, flows = scenario.graph, scenario.flows
    ends = np.unique(np.column_stack([flows.src, flows.dst]), axis=0)
    routes = Routes(network)
    ways = [routes.path(*pair)[::-1].tolist() for pair in ends]
    shared = [link for link in ways[0] if all(link in way for way in ways) and not network.is_nic[link]]
    if not shared:
        raise ScenarioError("traffic", None, "flows that all cross one switch port: a fluid has one queue")
    link = min(shared, key=lambda link: network.rate_bps[link])
    _check_other_ports(
        scenario, link, {tuple(pair): way for pair, way in zip(ends.tolist(), ways, strict=True)}
    )
    rtts = {_base_rtt_ps(scenario, way) for way in ways}
    if len(rtts) > 1:
        times = " and ".join(TIME.text(round(rtt)) for rtt in sorted(rtts))
        raise ScenarioError("traffic", None, f"paths with one round trip, not {times}")
    ports: object = scenario.record.ports
    if isinstance(ports, list) and link not in network.recorded_ports:
        expected = f"{network.port_names[link]}, the only queue of a fluid"
        raise ScenarioError("record.ports", ", ".join(scenario.record.ports), expected)
    return Path(link, int(network.rate_bps[link]), rtts.pop() * 1e-12, _only(network, link), len(ways[0]) - 1)


def _check_other_ports(scenario: "Scenario", link: int, ways: dict[tuple[int, int], list[int]]) -> None:
    """Refuse other ports with a queue, also before the bottleneck at equal rates: they would queue first."""
    network, flows = scenario.graph, scenario.flows
    capacity = int(network.rate_bps[link])
    crossing: dict[int, int] = {}
    before: dict[int, bool] = {}
    for pair in zip(flows.src.tolist(), flows.dst.tolist(), strict=True):
        way = ways[pair]
        for place, other in enumerate(way):
            crossing[other] = crossing.get(other, 0) + 1
            before[other] = place < way.index(link)
    for other, count in crossing.items():
        share_bps, rate_bps = capacity * count / len(flows), int(network.rate_bps[other])
        if other == link or share_bps < rate_bps or (share_bps == rate_bps and not before[other]):
            continue
        name = network.port_names[other]
        expected = f"a queue at {network.port_names[link]} alone: {name}, with {count} of {len(flows)} flows"
        if scenario.topology.kind == "dumbbell" and rate_bps <= capacity:
            expected += ", would queue too; give it a higher rate, or the flows more hosts"
            raise ScenarioError("topology.edge_rate", RATE.text(rate_bps), expected)
        raise ScenarioError("traffic", None, f"{expected}, would queue too; give the flows more hosts")


def _base_rtt_ps(scenario: "Scenario", way: list[int]) -> float:
    """Picoseconds of a full frame and a header back over empty links, with store and forward."""
    network, frame = scenario.graph, scenario.frame
    delay = 2 * int(network.delay_ps[way].sum())
    return delay + float((8e12 * (frame.wire + frame.header) / network.rate_bps[way]).sum())


def _only(network: "Network", link: int) -> "Network":
    """The network of this link alone, which is recorded."""
    alone = network.of_links(slice(link, link + 1))
    return replace(alone, bottlenecks=np.zeros(1, np.uint32), recorded_ports=np.zeros(1, np.uint32))
