"""Costs of hosts: the time that software, NICs and PCIe add to messages, which the network does not.

A cost delays the first byte of a flow after the host asked for it: after its start, or after the end of its
wait. Results count from that request, so that a completion time includes the costs, and its ideal does not.

| key | delays |
|---|---|
| `message` | every flow |
| `queue_pair` | the first flow of a pair of hosts |
| `step` | every message of a collective (or of those of `collectives`) or training, beside its `step_delay` |
| `completion` | every flow that waits for another, once: the host learns late that this one has ended |

Each is longer by a random share, uniform up to `spread`. `pcie` bounds the rate at which a host sends. A
budget that sending and receiving share is not modelled.
"""

from typing import Literal, Self

from pydantic import model_validator

from shallows.base.table import Key, Table
from shallows.errors import ScenarioError
from shallows.traffic.kind import Ends
from shallows.units import OptionalRate, Time

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
    step: Time = Key(
        "0s", description="before each message of a collective or of `training`, beside its `step_delay`"
    )
    completion: Time = Key("0s", description="before each flow that waited for another")
    collectives: list[KindOfCollective] = Key(
        default_factory=lambda: list[KindOfCollective](),
        description="kinds of collectives whose `step` this table has; by default all",
    )
    spread: float = Key(0.0, strict=True, ge=0, le=10, description="costs are up to this share longer")
    pcie: OptionalRate = Key(None, description="the rate at which each host sends out of its server, at most")

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
