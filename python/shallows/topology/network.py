"""A network as columns of its nodes and directed links.

Hosts are numbered from 0. A cable is two links, one in each direction. Every link has an egress port with the
names of both ends ("s0->s1").
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shallows.units import did_you_mean


@dataclass(frozen=True)
class Network:
    """Nodes and directed links, as columns.

    Node `i` is a host for `i < hosts`, else a switch. `link_from`, `link_to` (u32), `rate_bps` and `delay_ps`
    (u64) have one entry per link. `bottlenecks` are the links whose egress queues are recorded by default,
    `recorded_ports` those that are recorded. `senders` and `receivers`, if the kind has them, are pairs of
    hosts by position.
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
    port_names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        names = self.host_names + self.switch_names
        ends = zip(self.link_from.tolist(), self.link_to.tolist(), strict=True)
        object.__setattr__(self, "port_names", [f"{names[a]}->{names[b]}" for a, b in ends])

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
    def host_rate_bps(self) -> NDArray[np.uint64]:
        """The egress rate of every host."""
        rates = np.zeros(self.hosts, np.uint64)
        rates[self.link_from[self.is_nic]] = self.rate_bps[self.is_nic]
        return rates

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

        Raises `ValueError(name, expected)` for a name or a pattern without a port.
        """
        found: dict[int, None] = {}
        for name in names:
            if name in self.port_names:
                matching = [self.port_names.index(name)]
            else:
                matching = [at for at, port in enumerate(self.port_names) if fnmatchcase(port, name)]
            if not matching:
                near = did_you_mean(name, self.port_names)
                what = "a pattern of at least one port" if set(name) & set("*?[") else "a port"
                raise ValueError(name, f'{what} such as "{self.port_names[-1]}"{near}')
            found.update(dict.fromkeys(matching))
        return list(found)

    def recording(self, ports: ArrayLike) -> "Network":
        """The same network, recording the links `ports`."""
        return replace(self, recorded_ports=np.asarray(ports, np.uint32))

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


class Wiring:
    """Collector of cables between named nodes."""

    def __init__(self, hosts: Iterable[str], switches: Iterable[str]) -> None:
        self.host_names, self.switch_names = list(hosts), list(switches)
        self.number = {name: i for i, name in enumerate(self.host_names + self.switch_names)}
        self.links: list[tuple[int, int, int, int]] = []

    def cable(self, a: str, b: str, rate: int, delay_ps: int) -> None:
        """Two links between `a` and `b`, of the same rate and delay."""
        self.links += [(self.number[a], self.number[b], rate, delay_ps)]
        self.links += [(self.number[b], self.number[a], rate, delay_ps)]

    def network(self, bottlenecks: Any = None, pairs: Any = None) -> Network:
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
        )
