"""Settings of a scenario that draw random numbers. Without any, runs of all seeds are one and the same."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shallows import switch
from shallows.routing import Routes

if TYPE_CHECKING:
    from shallows.scenario import Scenario


def settings(scenario: "Scenario", world: str = "packet") -> list[str] | None:
    """The keys through which a run depends on its seed; None in the kernel world, which runs in real time.

    A key may be listed although its draws change nothing, such as those of a marking whose queue stays short.
    """
    if world == "kernel":
        return None
    traffic = [f"traffic.{number}" for number, drawn in enumerate(scenario.flows.drawn) if drawn]
    return traffic if world == "fluid" else [*traffic, *_of_algorithms(scenario), *_of_network(scenario)]


def advice(traffic: Sequence[Mapping[str, Any]]) -> str:
    """The setting that introduces randomness into a scenario with these `traffic` tables."""
    from shallows.traffic import KINDS

    for number, table in enumerate(traffic):
        if "jitter" in KINDS[table["kind"]].model_fields:
            return f"set traffic.{number}.jitter to a round trip or more"
    return 'write traffic whose starts are random, such as kind = "poisson"'


def _of_algorithms(scenario: "Scenario") -> list[str]:
    """The keys of algorithms that draw, and of hosts whose draws act on one of the algorithms."""
    used = scenario.algorithms
    found = dict.fromkeys(
        f"traffic.{number}.cc" if table.cc else "cc"
        for number, table in enumerate(scenario.traffic)
        if (table.cc or scenario.cc).draws
    )
    acting = {
        "gap": scenario.hosts.gap > 0 and scenario.has_full_queues,
        "timestamps": scenario.hosts.timestamps is not None,
    }
    hosts = [f"hosts.{key}" for key, acts in acting.items() if acts]
    return [*found, *(key for key in hosts if any(key in one.supported_keys for one in used))]


def _of_network(scenario: "Scenario") -> Iterable[str]:
    options, network = scenario.network_options, scenario.network
    marking = options.marking
    if options.balancing == "flow" and _has_choices(scenario):
        yield "network.balancing"
    if marking != "none" and marking.draws and len(switch.marking_ports(scenario, network)):
        yield "network.marking"
    if scenario.trimming:
        yield "network.trimming"
    faults = enumerate(scenario.faults)
    yield from (f"faults.{n}" for n, one in faults if one.at_random and 0 < one.share < 1)


def _has_choices(scenario: "Scenario") -> bool:
    """True if a flow has several shortest paths. Between hosts with one port at the same switch there is one,
    and so there is in a network without a cycle.
    """
    network, flows = scenario.network, scenario.flows
    if len(network.link_from) // 2 < network.nodes:
        return False
    ports = np.bincount(network.link_from[network.is_nic], minlength=network.hosts)
    first = np.zeros(network.hosts, np.uint32)
    first[network.link_from[network.is_nic]] = network.link_to[network.is_nic]
    near = (ports[flows.src] == 1) & (ports[flows.dst] == 1) & (first[flows.src] == first[flows.dst])
    pairs = np.sort((flows.src[~near].astype(np.uint64) << np.uint64(32)) | flows.dst[~near])
    distinct = pairs[np.flatnonzero(np.diff(pairs, prepend=~np.uint64(0)))].tolist()
    routes = Routes(network)
    return any((routes.spread(pair >> 32, pair & 0xFFFFFFFF)[1] < 1).any() for pair in distinct)
