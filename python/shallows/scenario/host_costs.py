"""The costs of hosts in a scenario: of each host, of each flow, and of links."""

from typing import TYPE_CHECKING

import numpy as np

from shallows.errors import ScenarioError
from shallows.traffic import Collective, Training
from shallows.traffic.costs import KEYS
from shallows.traffic.flows import Draws
from shallows.traffic.kind import hosts_of

if TYPE_CHECKING:
    from shallows.core.contract import F64, U32, U64
    from shallows.scenario import Scenario
    from shallows.topology import Network

STREAM = 2**32
"""The number of the random stream, which no traffic table has."""


def by_host(scenario: "Scenario") -> dict[str, "F64"]:
    """Each cost of every host, in ps or bit/s; no limit of PCIe is infinite. Raises `ScenarioError`."""
    network = scenario.graph
    found = {key: np.zeros(network.hosts) for key in KEYS}
    found["pcie"][:] = np.inf
    for number, table in enumerate(scenario.hosts.costs):
        mine = _hosts(scenario, number)
        for key in () if table.collectives else KEYS:
            value: float | None = getattr(table, key)
            found[key][mine] = np.inf if value is None else value
    return found


def _hosts(scenario: "Scenario", number: int) -> "slice | U32":
    """The hosts of a table of costs. Raises `ScenarioError`."""
    try:
        hosts = hosts_of(scenario.graph, "hosts", scenario.hosts.costs[number].hosts)
    except ScenarioError as error:
        raise error.under(f"hosts.costs[{number}]") from None
    return slice(None) if hosts is None else hosts


def of_flows(scenario: "Scenario") -> "U64":
    """Picoseconds by which the costs of its source delay each flow."""
    flows = scenario.flows
    if not scenario.hosts.costs:
        return np.zeros(len(flows), np.uint64)
    of = {key: values[flows.src] for key, values in by_host(scenario).items()}
    total = of["message"].copy()
    pairs = flows.src.astype(np.uint64) << np.uint64(32) | flows.dst.astype(np.uint64)
    first = np.zeros(len(flows), bool)
    first[np.unique(pairs, return_index=True)[1]] = True
    total += np.where(first, of["queue_pair"], 0.0)
    total += _steps(scenario, of["step"])
    total += np.where(flows.waiting, of["completion"], 0.0)
    if of["spread"].any():
        total *= 1 + of["spread"] * Draws(scenario.seed, STREAM).uniform("jitter", len(flows))
    return np.rint(total).astype(np.uint64)


def _steps(scenario: "Scenario", of_host: "F64") -> "F64":
    """The cost of a step of each flow, of which `of_host` is that of its source for all collectives.

    A training iteration sends its gradients by collectives.
    """
    flows = scenario.flows
    found = np.zeros(len(flows))
    for at, traffic in enumerate(scenario.traffic):
        if isinstance(traffic, Collective | Training):
            mine = flows.group == at
            found[mine] = of_host[mine]
            for number, table in enumerate(scenario.hosts.costs):
                if traffic.kind in table.collectives:
                    senders = np.zeros(scenario.graph.hosts, bool)
                    senders[_hosts(scenario, number)] = True
                    found[mine & senders[flows.src]] = table.step
    return found


def limited(scenario: "Scenario", network: "Network", rates: "U64") -> "U64":
    """These rates of links, those by which a host leaves its server at most that of its PCIe."""
    if not any(table.pcie for table in scenario.hosts.costs):
        return rates
    bound = by_host(scenario)["pcie"]
    leaving = network.is_nic & ~network.in_server
    capped = np.minimum(rates[leaving].astype(float), bound[network.link_from[leaving]])
    rates = rates.copy()
    rates[leaving] = capped.astype(np.uint64)
    return rates
