"""Topologies of htsim (`.topo`): a leaf-spine fabric of two tiers, or a fat tree of three.

Keys are case-insensitive, values whole numbers. `Nodes`, `Tiers` (2 or 3) and `Podsize` (hosts) come first,
then for each tier `Tier i` and its keys: `Downlink_speed_Gbps`, `Radix_Down`, `Radix_Up`, `Queue_Down`,
`Queue_Up`, `Oversubscribed`, `Bundle` (parallel links downwards), `Downlink_Latency_ns`, `Switch_Latency_ns`.
The n-th aggregation switch of a pod is connected to the cores n, n + A, n + 2 A …, with A such switches in a
pod.
Source: fat_tree_topology.cpp of github.com/ultraethernet/uet-htsim.
"""

from fractions import Fraction
from pathlib import Path

from shallows.base import limits
from shallows.importers.content import Fabric, Parts
from shallows.importers.source import Source, Word
from shallows.units import RATE, SIZE, TIME

HEADER = ("nodes", "tiers", "podsize")
KEYS = (
    "downlink_speed_gbps", "radix_down", "radix_up", "queue_down", "queue_up", "oversubscribed", "bundle",
    "downlink_latency_ns", "switch_latency_ns",
)  # fmt: skip
RANGES = {
    "downlink_speed_gbps": (0, limits.LINK_RATE.most // 10**9),
    "downlink_latency_ns": (0, limits.DELAY.most // 2000),
    "switch_latency_ns": (0, limits.DELAY.most // 2000),
    "oversubscribed": (1, 2**31 - 1),
    "bundle": (1, 2**31 - 1),
}
"""The values of some keys. The delay of a link is its latency and half of those of two switches."""
NAMES = {2: ("leaf", "spine"), 3: ("tor", "aggr", "core")}
"""Names of the switches of each tier."""


def read(path: Path) -> Parts:
    """The fabric of a `.topo` file. Raises `ScenarioError` with line and column."""
    return _Reader(Source(path)).read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.header: dict[str, tuple[int, Word]] = {}
        self.tiers: dict[int, dict[str, tuple[int, Word]]] = {}
        self.places: dict[int, Word] = {}

    def read(self) -> Parts:
        self._read()
        nodes, count = self.header["nodes"][0], self.header["tiers"][0]
        self._check_tiers(count)
        pods = self._pods(nodes, count)
        tors = self._divided(pods, self.header["podsize"], (0, "radix_down"))
        aggs = self._divided(1, (self._of(0, "radix_up"), self._word(0, "radix_up")), (1, "bundle"))
        self._check_down(1, tors // pods * self._of(1, "bundle"), "switches below it")
        switches = [tors, aggs * pods]
        if count == 3:
            uplinks = (self._of(1, "radix_up"), self._word(1, "radix_up"))
            switches.append(aggs * self._divided(1, uplinks, (2, "bundle")))
            self._check_down(2, pods * self._of(2, "bundle"), "pods")
        for tier in range(count - 1):
            self._check_oversubscribed(tier)
        self._check_size(nodes, switches)
        return self._built(nodes, pods, switches)

    def _read(self) -> None:
        tier = None
        for row in self.source.rows():
            key, *values = row
            name = key.text.lower()
            if len(values) != 1:
                self.source.refuse(
                    values[1] if values else self.source.after(row), key.text, "one whole number"
                )
            value = self.source.whole(values[0], key.text, *RANGES.get(name, (0, 2**31 - 1)))
            if name == "tier":
                if value > 2 or value in self.tiers:
                    self.source.refuse(values[0], key.text, "0, 1 or 2, each once")
                tier = self.tiers.setdefault(value, {})
                self.places[value] = key
                continue
            known, table = (HEADER, self.header) if tier is None else (KEYS, tier)
            if name not in known:
                self.source.refuse(key, "line", f"Tier or one of {', '.join(known)}")
            if name in table:
                self.source.refuse(key, "line", f"{key.text} once for each tier")
            table[name] = value, values[0]
        for name in HEADER:
            if not self.header.get(name, (0,))[0]:
                self.source.refuse(None, None, f"{name.capitalize()} above 0 before the first Tier")

    def _check_tiers(self, count: int) -> None:
        if count not in (2, 3):
            self.source.refuse(self.header["tiers"][1], "Tiers", "2 or 3")
        for tier in range(count):
            if tier not in self.tiers:
                self.source.refuse(None, None, f"Tier {tier} and its keys")
            top = tier == count - 1
            needed = [
                "downlink_speed_gbps",
                "radix_down",
                "downlink_latency_ns",
                *([] if top else ["radix_up"]),
            ]
            for key in needed:
                if not self._of(tier, key):
                    self.source.refuse(
                        self.places[tier], "Tier", f"{key.capitalize()} above 0 in tier {tier}"
                    )
            for key in ("radix_up", "queue_up") if top else ():
                if key in self.tiers[tier]:
                    self.source.refuse(
                        self._word(tier, key), key, "nothing: the top tier has no links upwards"
                    )
        for tier in set(self.tiers) - set(range(count)):
            self.source.refuse(self.places[tier], "Tier", f"tiers below {count}, the number of Tiers")

    def _of(self, tier: int, key: str) -> int:
        return self.tiers[tier].get(key, (1 if key in ("bundle", "oversubscribed") else 0,))[0]

    def _word(self, tier: int, key: str) -> Word:
        return self.tiers[tier][key][1] if key in self.tiers[tier] else self.places[tier]

    def _pods(self, nodes: int, count: int) -> int:
        size, word = self.header["podsize"]
        if nodes % size or (count == 2 and size != nodes):
            expected = f"{nodes}, as Nodes, in two tiers" if count == 2 else f"a divisor of Nodes, {nodes}"
            self.source.refuse(word, "Podsize", expected)
        return nodes // size

    def _divided(self, times: int, number: tuple[int, Word], by: tuple[int, str]) -> int:
        divisor = self._of(*by)
        if number[0] % divisor:
            self.source.refuse(number[1], "value", f"a multiple of {by[1]} of tier {by[0]}, {divisor}")
        return times * (number[0] // divisor)

    def _check_down(self, tier: int, links: int, what: str) -> None:
        if self._of(tier, "radix_down") != links:
            expected = f"{links}: its {what}, times Bundle {self._of(tier, 'bundle')}"
            self.source.refuse(self._word(tier, "radix_down"), "Radix_Down", expected)

    def _check_oversubscribed(self, tier: int) -> None:
        down = self._of(tier, "radix_down") * self._of(tier, "downlink_speed_gbps")
        up = self._of(tier, "radix_up") * self._of(tier + 1, "downlink_speed_gbps")
        if "oversubscribed" in self.tiers[tier] and self._of(tier, "oversubscribed") != Fraction(down, up):
            expected = f"{Fraction(down, up)}: {down} Gbps down and {up} Gbps up"
            self.source.refuse(self._word(tier, "oversubscribed"), "Oversubscribed", expected)

    def _check_size(self, nodes: int, switches: list[int]) -> None:
        """Refuse more links than a network may have, before any is made."""
        links = nodes + sum(count * self._of(tier, "radix_up") for tier, count in enumerate(switches[:-1]))
        if 2 * links > limits.ENTITIES.most:
            expected = f"at most {limits.ENTITIES.most // 2} links; this fabric has {links}"
            self.source.refuse(self.header["nodes"][1], "Nodes", expected)

    def _built(self, nodes: int, pods: int, switches: list[int]) -> Parts:
        fabric = Fabric({}, nodes, network=self._buffers())
        edges = self._edges(nodes, pods, switches, fabric)
        delays = {edge[3] for edge in edges}
        if len(switches) == 2 and len(delays) == 1:
            fabric.topology = {
                "kind": "leaf-spine", "leaves": switches[0], "spines": switches[1],
                "hosts_per_leaf": self._of(0, "radix_down"), "rate": edges[0][2], "spine_rate": edges[-1][2],
                "link_delay": delays.pop(), "links_per_pair": self._of(1, "bundle"),
            }  # fmt: skip
        else:
            fabric.topology = {"kind": "graph", "hosts": [f"h{i}" for i in range(nodes)], "edges": edges}
        parts = Parts(fabric=fabric)
        if any(self._of(tier, "switch_latency_ns") for tier in self.tiers):
            parts.assumed.append("the latency of a switch is half in each of the links at its ends")
        sizes = {self._of(tier, key) for tier in self.tiers for key in ("queue_up", "queue_down")} - {0}
        if len(sizes) > 1:
            parts.left_out.append(
                "Queue_Up and Queue_Down, which differ: a scenario has one buffer for all ports"
            )
        return parts

    def _buffers(self) -> dict[str, str]:
        sizes = {self._of(tier, key) for tier in self.tiers for key in ("queue_up", "queue_down")} - {0}
        return {"buffer": SIZE.text(sizes.pop())} if len(sizes) == 1 else {}

    def _edges(self, nodes: int, pods: int, switches: list[int], fabric: Fabric) -> list[list[str]]:
        names, aggs, tors = NAMES[len(switches)], switches[1] // pods, switches[0] // pods
        hosts = self._of(0, "radix_down")
        edges = [self._edge(0, f"h{host}", f"{names[0]}{host // hosts}") for host in range(nodes)]
        pairs = [(1, tor, tor // tors * aggs + at) for tor in range(switches[0]) for at in range(aggs)]
        if len(switches) == 3:
            each = switches[2] // aggs
            pairs += [(2, agg, agg % aggs + aggs * at) for agg in range(switches[1]) for at in range(each)]
        for tier, below, above in pairs:
            a, b, bundle = f"{names[tier - 1]}{below}", f"{names[tier]}{above}", self._of(tier, "bundle")
            edges += [self._edge(tier, a, b)] * bundle
            ends = [f"{a}<->{b}"] if bundle == 1 else [f"{a}<->{b}#{i}" for i in range(bundle)]
            fabric.uplinks.setdefault((tier - 1, below), []).extend(ends)
        return edges

    def _edge(self, tier: int, a: str, b: str) -> list[str]:
        """A link from a tier downwards, with half of the latencies of the switches at its ends."""
        switch_ns = sum(self._of(at, "switch_latency_ns") for at in range(max(0, tier - 1), tier + 1))
        delay_ps = 1000 * self._of(tier, "downlink_latency_ns") + 500 * switch_ns
        return [a, b, RATE.text(self._of(tier, "downlink_speed_gbps") * 10**9), TIME.text(delay_ps)]
