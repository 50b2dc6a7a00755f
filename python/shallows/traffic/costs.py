"""Costs of hosts: the time that software, NICs and PCIe add to messages, which the network does not.

A cost delays the first byte of a flow after the host asked for it: after its start, or after the end of its
wait. Results count from that request, so that a completion time includes the costs, and its ideal does not.

| key | delays |
|---|---|
| `message` | every flow |
| `queue_pair` | the first flow of a pair of hosts |
| `step` | every message of a collective or training iteration, beside its `step_delay` |
| `completion` | every flow that waits for another, once: the host learns late that this one has ended |

Each is longer by a random share, uniform up to `spread`. `pcie` bounds the rate at which a host sends.
"""

from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from pydantic import model_validator

from shallows.base.table import Key, Table
from shallows.errors import ScenarioError
from shallows.traffic.flows import Draws
from shallows.traffic.kind import Ends, hosts_of
from shallows.units import OptionalRate, Time

if TYPE_CHECKING:
    from shallows.core.contract import F64, U64
    from shallows.scenario import Scenario
    from shallows.topology import Network

STREAM = 2**32
"""The number of the random stream, which no traffic table has."""


PRESETS = {"nccl": {"step": 11_000_000}}
"""Costs in ps. nccl: the middle of the 10 to 12 us that a step takes in NCCL's data path, whatever the sizes
of messages and chunks (github.com/NVIDIA/nccl/issues/2409: H100 over RoCE at 400 Gbps)."""


class CostTable(Table, frozen=True):
    """A table of `hosts.costs`: costs of some hosts. Of several tables with a host the last counts."""

    hosts: Ends = Key("topology", description="the hosts; by default all")
    preset: Literal["nccl"] | None = Key(None, description="values that others measured, for absent keys")
    message: Time = Key("0s", description="before each flow")
    queue_pair: Time = Key("0s", description="before the first flow of a pair of hosts")
    step: Time = Key("0s", description="before each message of a collective or of training")
    completion: Time = Key("0s", description="before each flow that waited for another")
    spread: float = Key(0.0, strict=True, ge=0, le=10, description="costs are up to this share longer")
    pcie: OptionalRate = Key(None, description="the rate at which each host sends, at most")

    @model_validator(mode="after")
    def _filled(self) -> Self:
        """Fill in the values of the preset."""
        preset = PRESETS.get(self.preset or "", {})
        absent = {key: value for key, value in preset.items() if key not in self.model_fields_set}
        return self.model_copy(update=absent) if absent else self


KEYS = ("message", "queue_pair", "step", "completion", "spread", "pcie")


def by_host(scenario: "Scenario") -> dict[str, "F64"]:
    """Each cost of every host, in ps or bit/s; no limit of PCIe is infinite. Raises `ScenarioError`."""
    network = scenario.graph
    found = {key: np.zeros(network.hosts) for key in KEYS}
    found["pcie"][:] = np.inf
    for number, table in enumerate(scenario.hosts.costs):
        try:
            hosts = hosts_of(network, "hosts", table.hosts)
        except ScenarioError as error:
            raise error.under(f"hosts.costs[{number}]") from None
        mine = slice(None) if hosts is None else hosts
        for key in KEYS:
            value: float | None = getattr(table, key)
            found[key][mine] = np.inf if value is None else value
    return found


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
    # A training iteration sends its gradients by collectives.
    steps = np.array([hasattr(table, "step_delay") for table in scenario.traffic])
    total += np.where(steps[flows.group], of["step"], 0.0)
    total += np.where(flows.waiting, of["completion"], 0.0)
    if of["spread"].any():
        total *= 1 + of["spread"] * Draws(scenario.seed, STREAM).uniform("jitter", len(flows))
    return np.rint(total).astype(np.uint64)


def limited(scenario: "Scenario", network: "Network") -> "U64":
    """The rates of links, those by which a host leaves its server at most that of its PCIe."""
    rates = network.rate_bps
    if not any(table.pcie for table in scenario.hosts.costs):
        return rates
    bound = by_host(scenario)["pcie"]
    leaving = network.is_nic & ~network.in_server
    capped = np.minimum(rates[leaving].astype(float), bound[network.link_from[leaving]])
    rates = rates.copy()
    rates[leaving] = capped.astype(np.uint64)
    return rates
