"""Estimates of the memory of a run in the packet world, and of what observes it.

They are meant to be above the memory that is used, by less than a factor of two. Packets in flight come on
top: `packets` says for how many there is memory.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from shallows.memory import bounds
from shallows.memory.check import check
from shallows.units import MOST_ROWS, NEVER

if TYPE_CHECKING:
    from shallows.scenario import Scenario
    from shallows.topology import Network

BASE_BYTES = 98_000_000
"""Memory of a process with everything loaded."""
CORE_LINK_BYTES, NAMED_LINK_BYTES = 800, 2_000
"""Memory of a link in the core, with its port and classes, and in Python, with name, request and results."""
ROUTE_BYTES, FLOW_BYTES, WAIT_BYTES, ROW_BYTES = 4, 900, 60, 50
"""Memory of the paths from a switch to hosts below the same switches, if switches choose by packet; of a
flow; of a flow's wait for another; of a recorded sample.
"""
FLOW_REQUEST_BYTES, LINK_REQUEST_BYTES = 300, 150
"""Memory of a flow and of a link in a request, and in the core that reads it before a run."""
PACKET_BYTES = 256
"""Memory of a packet in flight with its event and its place in a queue."""
FEWEST_PACKETS, MOST_PACKETS = 100_000, 2**24
"""Packets in flight that every run may have, and at which every run stops: 2 GiB."""
DRAWN_BYTES, ENTRY_BYTES = 100, 300
"""Memory of a sample in figures, and of a flow in a table."""
PROBES = 6
"""The most samples of a sender at a time."""
_INSTEAD = {
    "process": "more memory",
    "links": "a smaller topology",
    "routes": 'a smaller topology, or network.balancing = "flow"',
    "flows": "fewer flows",
    "samples": "a longer interval in record.queues or record.probes, or fewer ports and flows there",
}


def of_run(scenario: "Scenario") -> float:
    """Bytes of a run and its results."""
    return sum(_parts(scenario).values())


def check_request(scenario: "Scenario") -> None:
    """Raise `TooLargeError` unless the request of `scenario` to the core fits into memory.

    It is made before a run is checked, also where another machine runs the scenario.
    """
    flows = scenario.flows
    of_flows = FLOW_REQUEST_BYTES * len(flows) + WAIT_BYTES * (len(flows.after) + len(flows.behind))
    of_links = LINK_REQUEST_BYTES * len(scenario.graph.link_from)
    what = f"the request of {len(flows):,} flows and {len(scenario.graph.link_from):,} links"
    check(what, of_flows + of_links, _INSTEAD["flows" if of_flows > of_links else "links"])


def check_run(scenario: "Scenario", what: str = "the run", more: float = 0, instead: str = "") -> None:
    """Raise `TooLargeError` unless a run of `scenario` fits into memory, with `more` bytes for an observer.

    `instead` says what to change if these bytes are most of it.
    """
    parts = _parts(scenario)
    most = max(parts, key=parts.__getitem__)
    need = sum(parts.values()) + more
    check(what, need, instead if more > parts[most] else _INSTEAD[most])


def check_runs(scenarios: "Iterable[Scenario]", at_a_time: int, fewer_by: str) -> None:
    """Raise `TooLargeError` unless `at_a_time` runs of the largest of these scenarios fit into memory.

    `fewer_by` is the option that limits the concurrent runs.
    """
    left, each = bounds.free(), max(map(of_run, scenarios), default=0.0)
    fit = int(left.amount // each) if left is not None and each else 0
    instead = f"{fit} fit, use {fewer_by} {fit}" if 0 < fit < at_a_time else "a smaller scenario"
    check(f"{at_a_time} at a time", each * at_a_time, instead)


def check_page(scenarios: "Iterable[Scenario]") -> None:
    """Raise `TooLargeError` unless a page of runs of these scenarios fits into memory."""
    need = BASE_BYTES + sum(DRAWN_BYTES * samples(one) + ENTRY_BYTES * len(one.flows) for one in scenarios)
    check("the page", need, _INSTEAD["samples"])


def packets(scenario: "Scenario") -> int:
    """The packets in flight for which there is memory besides that of the run."""
    left = bounds.free()
    if left is None:
        return MOST_PACKETS
    fit = int((left.amount - of_run(scenario)) // PACKET_BYTES)
    return min(max(fit, FEWEST_PACKETS), MOST_PACKETS)


def samples(scenario: "Scenario") -> float:
    """The number of samples to record: a run stops recording at `MOST_ROWS` of queues, and of senders."""
    ends, record = _ends_ps(scenario), scenario.record
    queues = ends / record.queues * len(scenario.graph.recorded_ports) if record.queues else 0
    probes = ends / record.probes * PROBES * len(scenario.probed_flows) if record.probes else 0
    return min(queues, MOST_ROWS) + min(probes, MOST_ROWS)


def _parts(scenario: "Scenario") -> dict[str, float]:
    network, flows = scenario.graph, scenario.flows
    by_packet = scenario.network.balancing != "flow"
    return {
        "process": BASE_BYTES,
        "links": (CORE_LINK_BYTES + NAMED_LINK_BYTES) * len(network.link_from),
        "routes": ROUTE_BYTES * (network.nodes - network.hosts) * _racks(network) if by_packet else 0,
        "flows": FLOW_BYTES * len(flows) + WAIT_BYTES * (len(flows.after) + len(flows.behind)),
        "samples": ROW_BYTES * samples(scenario),
    }


def _racks(network: "Network") -> int:
    """The number of sets of switches that have links to the same hosts."""
    above = np.zeros(network.hosts, np.uint64)
    to_host = network.link_to < network.hosts
    # A sum of hashes stands for a set.
    hashes = (network.link_from[to_host].astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    np.add.at(above, network.link_to[to_host], hashes ^ (hashes >> np.uint64(29)))
    return len(set(above.tolist()))


def _ends_ps(scenario: "Scenario") -> float:
    """The end of the run; if that depends on its flows, the last known start and the time of the busiest
    host's link.
    """
    if scenario.duration != NEVER:
        return float(scenario.duration)
    flows, network = scenario.flows, scenario.graph
    starts = flows.start_ps[flows.start_ps != NEVER]
    sizes = flows.bytes.astype(float)
    carried = [np.bincount(ends, sizes, network.hosts) for ends in (flows.src, flows.dst)]
    busy_s = 8 * np.maximum(*carried) / np.maximum(network.host_rate_bps, 1)
    return float(starts.max(initial=0)) + 1e12 * float(busy_s.max(initial=0))
