"""The load that traffic offers to every link, before a run: wire bytes over the link's rate, without acks.

Only open-loop traffic offers a load: its arrivals do not wait for what was sent before. Flows without an end,
collectives and request-response adapt to the network, and a single batch has no rate.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shallows.core.contract import F64, U32
from shallows.topology.routing import Spreading

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from shallows.topology import Network

MOST_WORK = 3 * 10**7
"""Links times racks; in larger networks only the links of hosts are computed."""


@dataclass(frozen=True)
class Offered:
    """Mean rates in bit/s between pairs of hosts: `bps[i]` from `src[i]` to `dst[i]`."""

    src: U32
    dst: U32
    bps: F64

    def of_hosts(self, hosts: int) -> tuple[F64, F64]:
        """The rates that each host sends and receives."""
        return _by_place(self.src, self.bps, hosts), _by_place(self.dst, self.bps, hosts)

    def between(self, rack: "NDArray[np.intp]", racks: int) -> F64:
        """The rates between the racks, given the rack of each host."""
        matrix = np.zeros((racks, racks))
        np.add.at(matrix, (rack[self.src], rack[self.dst]), self.bps)
        return matrix


@dataclass(frozen=True)
class Uniform:
    """A rate of `bps` that is spread evenly over the `sources`, and from each over the other `targets`."""

    sources: U32
    targets: U32
    bps: float

    def _weights(self, hosts: int) -> tuple[F64, F64]:
        """The rate of each host to each of its targets; for each host 1 if it is a target."""
        is_target = np.zeros(hosts)
        is_target[self.targets] = 1
        each = np.zeros(hosts)
        each[self.sources] = self.bps / len(self.sources)
        return each / np.maximum(len(self.targets) - is_target, 1), is_target

    def of_hosts(self, hosts: int) -> tuple[F64, F64]:
        """The rates that each host sends and receives."""
        each, is_target = self._weights(hosts)
        return each * (len(self.targets) - is_target), is_target * (each.sum() - each)

    def between(self, rack: "NDArray[np.intp]", racks: int) -> F64:
        """The rates between the racks, given the rack of each host."""
        each, is_target = self._weights(len(rack))
        sent, targets, own = (
            _by_place(rack, values, racks) for values in (each, is_target, each * is_target)
        )
        return np.outer(sent, targets) - np.diag(own)


def _by_place(place: "NDArray[np.integer]", values: F64, count: int) -> F64:
    """The sum of the `values` at each place."""
    return np.bincount(place, values, count).astype(np.float64)


def load(network: "Network", offered: "Iterable[Offered | Uniform | None]") -> F64:
    """The load of every link as a share of its rate: the expectation over equal-cost paths.

    The ports of a host share its rate as those of its rack do: all hosts with links to the same switches.
    Links between switches of a network beyond `MOST_WORK` are NaN.
    """
    given = [one for one in offered if one]
    loads = np.zeros(len(network.rate_bps))
    if not given:
        return loads
    hosts, nic, last = network.hosts, network.is_nic, network.link_to < network.hosts
    sent, received = (
        np.sum(matrices, 0) for matrices in zip(*(one.of_hosts(hosts) for one in given), strict=True)
    )
    spreading = Spreading(network)
    if spreading.racks * len(loads) > MOST_WORK:
        shares, loads[~nic & ~last] = spreading.equal_shares(), np.nan
    else:
        rates = np.sum([one.between(spreading.rack, spreading.racks) for one in given], 0)
        loads, shares = spreading.loads(rates)
    loads[last] = received[network.link_to[last]] * shares[last]
    loads[nic] = sent[network.link_from[nic]] * shares[nic]
    return loads / network.rate_bps
