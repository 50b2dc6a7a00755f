"""A network as columns of its nodes and directed links.

Hosts are numbered from 0. A cable is two links that follow each other, one in each direction. Every link has
an egress port with the names of both ends ("s0->s1"), and a number if there are parallel links ("s0->s1#0").
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import count

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shallows import memory
from shallows.base.limits import ENTITIES
from shallows.errors import ScenarioError
from shallows.units import did_you_mean

LINK_BYTES = 800
"""Memory of a link while the network is built."""
CABLES = 2**64 - 1
"""The random stream of the lengths of cables, beyond those of traffic tables."""


@dataclass(frozen=True)
class Network:
    """Nodes and directed links, as columns.

    Node `i` is a host for `i < hosts`, else a switch. `link_from`, `link_to` (u32), `rate_bps` and `delay_ps`
    (u64) have one entry per link. `bottlenecks` are the links whose egress queues are recorded by default,
    `recorded_ports` those that are recorded. `senders` and `receivers`, if the kind has them, are pairs of
    hosts by position. `server_switches` are the switches inside servers, such as NVLink switches.
    """

    host_names: list[str]
    switch_names: list[str]
    link_from: NDArray[np.uint32]
    link_to: NDArray[np.uint32]
    rate_bps: NDArray[np.uint64]
    delay_ps: NDArray[np.uint64]
    bottlenecks: NDArray[np.uint32]
    recorded_ports: NDArray[np.uint32]
    senders: NDArray[np.uint32] | None = None
    receivers: NDArray[np.uint32] | None = None
    server_switches: frozenset[int] = frozenset()
    port_names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "port_names", _numbered(self.pair_names))

    @property
    def pair_names(self) -> list[str]:
        """The names of the ends of every link; parallel links have the same."""
        names = self.host_names + self.switch_names
        ends = zip(self.link_from.tolist(), self.link_to.tolist(), strict=True)
        return [f"{names[a]}->{names[b]}" for a, b in ends]

    @property
    def hosts(self) -> int:
        """The number of hosts."""
        return len(self.host_names)

    @property
    def nodes(self) -> int:
        """The number of hosts and switches."""
        return len(self.host_names) + len(self.switch_names)

    @property
    def is_nic(self) -> NDArray[np.bool_]:
        """True for every link whose egress port belongs to a host."""
        return self.link_from < self.hosts

    @property
    def in_server(self) -> NDArray[np.bool_]:
        """True for every link inside a server."""
        switches = np.array(sorted(self.server_switches), np.uint32)
        return np.isin(self.link_from, switches) | np.isin(self.link_to, switches)

    @property
    def host_rate_bps(self) -> NDArray[np.uint64]:
        """The egress rate of every host: the sum over its ports that leave the server, else over all."""
        outside, inside = (np.zeros(self.hosts, np.uint64) for _ in range(2))
        for rates, ports in (
            (outside, self.is_nic & ~self.in_server),
            (inside, self.is_nic & self.in_server),
        ):
            np.add.at(rates, self.link_from[ports], self.rate_bps[ports])
        return np.where(outside > 0, outside, inside)

    def host(self, reference: object) -> int:
        """The number of a host given by number or name. Raises `ValueError` with what was expected."""
        if isinstance(reference, int) and not isinstance(reference, bool) and 0 <= reference < self.hosts:
            return reference
        if isinstance(reference, str) and reference in self.host_names:
            named = self.host_names.index(reference)
            if self.host_numbers().get(reference) == named:
                return named
            raise ValueError(f"another name for host {named}: {reference} is also the number of another host")
        raise ValueError(
            f'a host from 0 to {self.hosts - 1}, or a name such as "{self.host_names[-1]}"'
            + did_you_mean(reference, self.host_names if isinstance(reference, str) else [])
        )

    def hosts_like(self, reference: object) -> list[int]:
        """The hosts with names that match a pattern, or the one of a number or name. Raises `ValueError`."""
        if not isinstance(reference, str) or reference in self.host_names or not set(reference) & set("*?["):
            return [self.host(reference)]
        found = [host for host, name in enumerate(self.host_names) if fnmatchcase(name, reference)]
        if not found:
            raise ValueError(f'a pattern of at least one host such as "{self.host_names[-1]}"')
        return found

    def host_numbers(self) -> dict[str, int]:
        """Hosts by each text that means one of them: a name, or a number that is not the name of another."""
        named = {name: i for i, name in enumerate(self.host_names)}
        numbered = {str(i): i for i in range(self.hosts)}
        return {text: i for text, i in (numbered | named).items() if numbered.get(text, i) == i}

    def port(self, name: str) -> int:
        """The link with the egress port `name`. Raises `ValueError` with what was expected."""
        if name in self.port_names:
            return self.port_names.index(name)
        raise ValueError(f'a port such as "{self.port_names[-1]}"{did_you_mean(name, self.port_names)}')

    def ports(self, names: Sequence[str]) -> list[int]:
        """The links whose egress ports have these names or match these patterns (`agg*->core*`), each once.

        A name without a number stands for all parallel links. Raises `ValueError(name, expected)` for a name
        or a pattern without a port.
        """
        pairs, found = self.pair_names, dict[int, None]()
        wanted: dict[str, list[int]] = {name: [] for name in names}
        for at, (port, pair) in enumerate(zip(self.port_names, pairs, strict=True)):
            if port in wanted:
                wanted[port].append(at)
            if pair in wanted and pair != port:
                wanted[pair].append(at)
        for name, exact in wanted.items():
            matching = exact or [
                at
                for at, (port, pair) in enumerate(zip(self.port_names, pairs, strict=True))
                if fnmatchcase(port, name) or (pair != port and fnmatchcase(pair, name))
            ]
            if not matching:
                near = did_you_mean(name, self.port_names)
                what = "a pattern of at least one port" if set(name) & set("*?[") else "a port"
                raise ValueError(name, f'{what} such as "{self.port_names[-1]}"{near}')
            found.update(dict.fromkeys(matching))
        return list(found)

    def recording(self, ports: ArrayLike) -> "Network":
        """The same network, recording the links `ports`."""
        return replace(self, recorded_ports=np.asarray(ports, np.uint32))

    def longer(self, spread: float, seed: int) -> "Network":
        """The same network, with each cable longer by a random share of its delay, up to `spread`."""
        if not spread:
            return self
        key = np.array([seed, CABLES], np.uint64)
        bits = np.random.Philox(key=key).random_raw(len(self.delay_ps) // 2)
        shares = np.repeat(bits >> np.uint64(11), 2) * 2.0**-53
        return replace(self, delay_ps=self.delay_ps + (self.delay_ps * (spread * shares)).astype(np.uint64))

    def of_links(self, chosen: "NDArray[np.bool_] | slice") -> "Network":
        """The network of these links, whose recorded ports keep their numbers."""
        columns = ("link_from", "link_to", "rate_bps", "delay_ps")
        return replace(self, **{name: getattr(self, name)[chosen] for name in columns})

    def islands(self) -> NDArray[np.integer]:
        """The connected component of every host, as a number."""
        part = np.arange(self.nodes)
        while True:
            lower = part.copy()
            np.minimum.at(lower, self.link_to, part[self.link_from])
            lower = lower[lower]
            if np.array_equal(lower, part):
                return part[: self.hosts]
            part = lower


def _numbered(names: list[str]) -> list[str]:
    """The names, with a number from 0 where a name occurs several times."""
    counts = Counter(names)
    if len(counts) == len(names):
        return names
    number: defaultdict[str, Iterator[int]] = defaultdict(count)
    return [f"{name}#{next(number[name])}" if counts[name] > 1 else name for name in names]


class Wiring:
    """Collector of cables between named nodes. `server_switches` are the `switches` inside servers."""

    def __init__(
        self, hosts: Iterable[str], switches: Iterable[str], server_switches: Iterable[str] = ()
    ) -> None:
        self.host_names, self.switch_names = list(hosts), list(switches)
        self.server_switches = frozenset(server_switches)
        self.number = {name: i for i, name in enumerate(self.host_names + self.switch_names)}
        self.links: list[tuple[int, int, int, int]] = []
        self._checked_at = 2**15

    def cable(self, a: str, b: str, rate: int, delay_ps: int, cables: int = 1) -> None:
        """`cables` times two links between `a` and `b`, of the same rate and delay."""
        if len(self.links) + 2 * cables + len(self.host_names) > ENTITIES.most:
            expected = f"at most {ENTITIES.most} links and hosts together"
            raise ScenarioError("topology", f"{len(self.host_names)} hosts", expected)
        if len(self.links) >= self._checked_at:
            self._checked_at *= 2
            need = LINK_BYTES * self._checked_at
            memory.check(
                f"a network of more than {len(self.links):,} links", need, "a smaller one", "topology"
            )
        forward, back = (self.number[a], self.number[b]), (self.number[b], self.number[a])
        self.links += [(*forward, rate, delay_ps), (*back, rate, delay_ps)] * cables

    def network(
        self, bottlenecks: Iterable[Sequence[str]] | None = None, pairs: Iterable[Sequence[str]] | None = None
    ) -> Network:
        """The network. `bottlenecks` are pairs of names (by default all switch egress ports); `pairs` of
        hosts.
        """
        source, target, rate, delay = (list(column) for column in zip(*self.links, strict=True))
        source = np.array(source, np.uint32)
        watched = np.flatnonzero(source >= len(self.host_names))
        if bottlenecks is not None:
            at = {(a, b): i for i, (a, b, *_) in enumerate(self.links)}
            watched = np.array([at[self.number[a], self.number[b]] for a, b in bottlenecks])
        senders = receivers = None
        if pairs:
            numbers = [[self.number[name] for name in pair] for pair in pairs]
            senders, receivers = np.array(numbers, np.uint32).T
        return Network(
            self.host_names,
            self.switch_names,
            source,
            np.array(target, np.uint32),
            np.array(rate, np.uint64),
            np.array(delay, np.uint64),
            bottlenecks=watched.astype(np.uint32),
            recorded_ports=watched.astype(np.uint32),
            senders=senders,
            receivers=receivers,
            server_switches=frozenset(self.number[name] for name in self.server_switches),
        )
