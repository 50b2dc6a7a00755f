"""Flows that arrive at random, with sizes from a distribution."""

from typing import TYPE_CHECKING, Literal

import numpy as np

from shallows.base import limits
from shallows.base.table import Key
from shallows.core.contract import U32
from shallows.errors import ScenarioError
from shallows.traffic.flows import Drawn, Draws, Load, full
from shallows.traffic.kind import Between, distinct
from shallows.traffic.offered import Offered, Uniform
from shallows.traffic.sizes import SizesName, distribution
from shallows.traffic.workloads import Sizes
from shallows.units import A_SHARE, NEVER, TIME, Count, Frame, PayloadLimit, Share

if TYPE_CHECKING:
    from shallows.topology import Network


class Poisson(Between, frozen=True):
    """Flows that arrive at random, with sizes from a distribution, at a stated load.

    Load is bytes on the wire (payload and headers, not acks) over capacity: `host` is the mean share of
    the sending hosts' own links, `bottleneck` the share of the one port that all flows cross.
    """

    kind: Literal["poisson"]
    sizes: SizesName = Key(description='a bundled distribution, a CSV file, or one size such as "20KB"')
    load: Share = Key(description=A_SHARE)
    load_of: Literal["host", "bottleneck"] = Key("host", description="the capacity that the load refers to")
    flows: Count = Key(1000, description="how many arrive")
    below: PayloadLimit = Key("unlimited", description="upper bound of drawn sizes")

    def count(self, network: "Network") -> int:
        """`flows`."""
        return self.flows

    def draw(self, network: "Network", draws: Draws, frame: Frame) -> Drawn:
        """Sources and targets are uniform over the hosts, or over the topology's pairs."""
        sizes = self._distribution(frame)
        src, dst, capacity_bps = self._ends(network, draws)
        drawn = sizes.sample(draws.uniform("sizes", self.flows))
        mean_bytes = sizes.mean + frame.header * sizes.frames(frame.payload)
        gap_ps = 8e12 * mean_bytes / (self.load * capacity_bps)
        gaps_ps = np.rint(-np.log1p(-draws.uniform("arrivals", self.flows)) * gap_ps)
        if gaps_ps.sum() > limits.TIME.most:
            within = TIME.text(limits.TIME.most)
            raise ScenarioError("load", self.load, f"a load whose flows all arrive within {within}")
        start_ps = np.cumsum(gaps_ps.astype(np.uint64), dtype=np.uint64)
        wire_bytes = float(np.sum(drawn)) + frame.header * float(np.sum(np.ceil(drawn / frame.payload)))
        realised = 8e12 * wire_bytes / (capacity_bps * max(float(start_ps[-1]), 1))
        load = Load(self.load, realised, self.load_of, capacity_bps, mean_bytes)
        offered = self._offered(network, draws, self.load * capacity_bps)
        return Drawn(src, dst, drawn, start_ps, full(self.flows, NEVER), load, offered=offered)

    def _distribution(self, frame: Frame) -> Sizes:
        sizes = distribution(self.sizes, frame)
        if self.below == NEVER:
            return sizes
        try:
            return sizes.below(self.below)
        except ValueError as error:
            raise ScenarioError("below", f"{self.below}B", str(error)) from None

    def _ends(self, network: "Network", draws: Draws) -> tuple[U32, U32, int]:
        """(src, dst, capacity in bit/s) of every flow."""
        pairs = self._own_pairs(network)
        if pairs:
            sources, targets = pairs
            pair = (draws.uniform("pairs", self.flows) * len(sources)).astype(np.int64)
            return sources[pair], targets[pair], self._capacity_bps(network, sources, targets)
        sources, targets = self._sets(network, draws)
        src = sources[(draws.uniform("sources", self.flows) * len(sources)).astype(np.int64)]
        place = np.full(network.hosts, -1)
        place[targets] = np.arange(len(targets))
        own = place[src]
        choices = len(targets) - (own >= 0)
        if (choices == 0).any():
            raise ScenarioError("to", self.to, "some other host for every source")
        chosen = (draws.uniform("targets", self.flows) * choices).astype(np.int64)
        dst = targets[chosen + ((own >= 0) & (chosen >= own))]
        return src, dst, self._capacity_bps(network, sources, targets)

    def _own_pairs(self, network: "Network") -> tuple[U32, U32] | None:
        """The topology's senders and receivers by position; None if ends are chosen one by one."""
        sources, targets = network.senders, network.receivers
        if sources is None or targets is None or not self.sources == self.to == "topology":
            return None
        return sources, targets

    def _offered(self, network: "Network", draws: Draws, bps: float) -> Offered | Uniform:
        """The mean rates between hosts: those of the distribution, not of the drawn flows."""
        pairs = self._own_pairs(network)
        if pairs:
            return Offered(*pairs, np.full(len(pairs[0]), bps / len(pairs[0])))
        return Uniform(*self._sets(network, draws), bps)

    def _sets(self, network: "Network", draws: Draws) -> tuple[U32, U32]:
        everyone = np.arange(network.hosts, dtype=np.uint32)
        if self.sources == self.to == "topology":
            return everyone, everyone
        sources, targets = self.ends(network, draws)
        return distinct(sources), distinct(targets)

    def _capacity_bps(self, network: "Network", sources: U32, targets: U32) -> int:
        """The capacity that the load refers to. Raises `ScenarioError` if that is a bottleneck that does not
        exist.
        """
        shared_bps = self._shared_bps(network, sources, targets)
        if self.load_of == "bottleneck":
            if shared_bps is None:
                expected = '"host": these flows have no port that all of them cross'
                raise ScenarioError("load_of", self.load_of, expected)
            return shared_bps
        hosts_bps = int(network.host_rate_bps[distinct(sources)].sum())
        if shared_bps is not None and self.load * hosts_bps > shared_bps:
            most = f"{shared_bps / hosts_bps:.3g}, the capacity of the port that all flows cross"
            expected = f'at most {most}, or load_of = "bottleneck"'
            if self.to == "topology" and len(distinct(targets)) == 1:
                receiver = network.host_names[int(targets[0])]
                expected += (
                    f". All flows of this topology go to {receiver}; "
                    'write from = "h*" and to = "h*" for random pairs of hosts'
                )
            raise ScenarioError("load", self.load, expected)
        return hosts_bps

    def _shared_bps(self, network: "Network", sources: U32, targets: U32) -> int | None:
        """The rate of the slowest port that all flows cross; None if there is none."""
        shared: list[int] = []
        if len(distinct(targets)) == 1:
            into = network.link_to == targets[0]
            outside = into & ~network.in_server
            shared.append(int(network.rate_bps[outside if outside.any() else into].sum()))
        if len(network.bottlenecks) == 1 and network.senders is not None and network.receivers is not None:
            crossing = np.isin(sources, network.senders).all() and np.isin(targets, network.receivers).all()
            shared += [int(network.rate_bps[network.bottlenecks[0]])] if crossing else []
        return min(shared, default=None)
