"""The load that traffic offers to every link, before a run: wire bytes over the link's rate, without acks.

Only open-loop traffic offers a load: its arrivals do not wait for what was sent before. Flows without an end,
collectives and request-response adapt to the network, and a single batch has no rate.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shallows.contract import F64, U32
from shallows.routing import Spreading

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from shallows.topology import Network

MOST_WORK = 3 * 10**7
"""Links times switches with receivers; in larger networks only the links of hosts are computed."""


@dataclass(frozen=True)
class Offered:
    """Mean rates in bit/s between pairs of hosts: `bps[i]` from `src[i]` to `dst[i]`."""

    src: U32
    dst: U32
    bps: F64

    def of_hosts(self, hosts: int) -> tuple[F64, F64]:
        """The rates that each host sends and receives."""
        return _by_place(self.src, self.bps, hosts), _by_place(self.dst, self.bps, hosts)

    def between(self, switch: U32, switches: U32) -> F64:
        """The rates between the `switches`, given the switch of each host."""
        ends = (np.searchsorted(switches, switch[end]) for end in (self.src, self.dst))
        matrix = np.zeros((len(switches), len(switches)))
        np.add.at(matrix, tuple(ends), self.bps)
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

    def between(self, switch: U32, switches: U32) -> F64:
        """The rates between the `switches`, given the switch of each host."""
        each, is_target = self._weights(len(switch))
        place = np.searchsorted(switches, switch)
        sent, targets, own = (
            _by_place(place, values, len(switches)) for values in (each, is_target, each * is_target)
        )
        return np.outer(sent, targets) - np.diag(own)


def _by_place(place: "NDArray[np.integer]", values: F64, count: int) -> F64:
    """The sum of the `values` at each place."""
    return np.bincount(place, values, count).astype(np.float64)


def load(network: "Network", offered: "Iterable[Offered | Uniform | None]") -> F64:
    """The load of every link as a share of its rate: the expectation over equal-cost paths.

    Links between switches of a network beyond `MOST_WORK` are NaN.
    """
    given = [one for one in offered if one]
    loads = np.zeros(len(network.rate_bps))
    if not given:
        return loads
    hosts = network.hosts
    sent, received = (np.sum(of, 0) for of in zip(*(one.of_hosts(hosts) for one in given), strict=True))
    nic, last = network.is_nic, network.link_to < hosts
    switch = np.zeros(hosts, np.uint32)
    switch[network.link_from[nic]] = network.link_to[nic]
    loads[last] = received[network.link_to[last]]
    loads[nic] = sent[network.link_from[nic]]
    switches = np.unique(switch[switch >= hosts])
    if len(switches) * len(loads) > MOST_WORK:
        loads[~nic & ~last] = np.nan
    elif len(switches) > 1:
        rates = np.sum([one.between(switch, switches) for one in given], 0)
        loads += Spreading(network).loads(switches, rates)
    return loads / network.rate_bps
