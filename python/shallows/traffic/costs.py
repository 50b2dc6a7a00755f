"""Costs of hosts: the time that software, NICs and PCIe add to messages, which the network does not.

A cost delays the first byte of a flow after the host asked for it: after its start, or after the end of its
wait. Results count from that request, so that a completion time includes the costs, and its ideal does not.

| key | delays |
|---|---|
| `message` | every flow |
| `queue_pair` | the first flow of a pair of hosts |
| `step` | every message of a collective, or of those of `collectives`, beside its `step_delay` |
| `completion` | every flow that waits for another, once: the host learns late that this one has ended |

Each is longer by a random share, uniform up to `spread`. `pcie` bounds the rate at which a host sends. A
budget that sending and receiving share is not modelled.
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
    from shallows.core.contract import F64, U32, U64
    from shallows.scenario import Scenario
    from shallows.topology import Network

STREAM = 2**32
"""The number of the random stream, which no traffic table has."""


PRESETS = {"nccl": {"step": 11_000_000}}
"""Costs in ps. nccl: the middle of the 10 to 12 us that a step takes in NCCL's data path, whatever the sizes
of messages and chunks (github.com/NVIDIA/nccl/issues/2409: H100 over RoCE at 400 Gbps)."""


KindOfCollective = Literal["all-reduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all"]
KEYS = ("message", "queue_pair", "step", "completion", "spread", "pcie")


class CostTable(Table, frozen=True):
    """A table of `hosts.costs`: costs of some hosts. Of several tables with a host the last counts.

    A table with `collectives` has a `step` alone, which counts for those kinds before that of the others.
    """

    hosts: Ends = Key("topology", description="the hosts; by default all")
    preset: Literal["nccl"] | None = Key(None, description="values that others measured, for absent keys")
    message: Time = Key("0s", description="before each flow")
    queue_pair: Time = Key("0s", description="before the first flow of a pair of hosts")
    step: Time = Key("0s", description="before each message of a collective")
    completion: Time = Key("0s", description="before each flow that waited for another")
    collectives: list[KindOfCollective] = Key(
        default_factory=lambda: list[KindOfCollective](),
        description="kinds of collectives whose `step` this table has; by default all",
    )
    spread: float = Key(0.0, strict=True, ge=0, le=10, description="costs are up to this share longer")
    pcie: OptionalRate = Key(None, description="the rate at which each host sends, at most")

    @model_validator(mode="after")
    def _steps_alone(self) -> Self:
        fields = type(self).model_fields
        others = set(KEYS) - {"step"}
        key = next((key for key in fields if key in others and getattr(self, key)), None)
        if self.collectives and key:
            raise ScenarioError(
                key, getattr(self, key), "a table of its own: one with collectives has a step alone"
            )
        return self

    @model_validator(mode="after")
    def _filled(self) -> Self:
        """Fill in the values of the preset."""
        preset = PRESETS.get(self.preset or "", {})
        absent = {key: value for key, value in preset.items() if key not in self.model_fields_set}
        return self.model_copy(update=absent) if absent else self


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
    """The cost of a step of each flow, of which `of_host` is that of its source for all collectives."""
    from shallows.traffic import Collective

    flows = scenario.flows
    found = np.zeros(len(flows))
    for at, traffic in enumerate(scenario.traffic):
        if isinstance(traffic, Collective):
            mine = flows.group == at
            found[mine] = of_host[mine]
            for number, table in enumerate(scenario.hosts.costs):
                if traffic.kind in table.collectives:
                    senders = np.zeros(scenario.graph.hosts, bool)
                    senders[_hosts(scenario, number)] = True
                    found[mine & senders[flows.src]] = table.step
    return found


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
