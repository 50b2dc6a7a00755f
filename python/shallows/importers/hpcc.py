"""Files of the HPCC simulator (ns-3) and its forks: topology, flows, and distributions of flow sizes.

| file | grammar |
|---|---|
| topology | `NODES SWITCHES LINKS`, the numbers of the switches, and for each link `A B RATE DELAY ERROR` |
| of PowerTCP | `NODES SWITCHES TORS LINKS` in its first line, of Reverie two rates behind them |
| of SimAI | `NODES GPUS_PER_SERVER NVSWITCHES SWITCHES LINKS GPU` there; NVLink switches come first |
| flows | their number, then for each flow `SRC DST PRIORITY PORT BYTES START`, START in seconds |
| of some forks | `SRC DST PRIORITY BYTES START` |
| traced nodes | their number, then the numbers |
| sizes | `BYTES PERCENT` for each point, from 0 to 100 percent, or `BYTES SHARE`, from 0 to 1 |
| of Homa's simulator | the mean in the first line, then `BYTES SHARE` for each size that flows have |

Words are separated by blanks or line ends. Sources: scratch/third.cc and traffic_gen of
github.com/alibaba-edu/High-Precision-Congestion-Control; astra-sim-alibabacloud and ns-3-alibabacloud;
github.com/inet-tub/ns3-datacenter.
"""

import re
from pathlib import Path
from typing import NoReturn

from shallows.base import limits
from shallows.importers.content import Fabric, Parts, Task, Work
from shallows.importers.source import Source, Word
from shallows.units import RATE, TIME

RATES = {
    "": 1, "bps": 1, "b/s": 1, "Kbps": 10**3, "kbps": 10**3, "Kb/s": 10**3, "kb/s": 10**3, "Mbps": 10**6,
    "Mb/s": 10**6, "Gbps": 10**9, "Gb/s": 10**9, "Tbps": 10**12, "Tb/s": 10**12,
    "GBps": 8 * 10**9, "GB/s": 8 * 10**9, "MBps": 8 * 10**6, "MB/s": 8 * 10**6,
}  # fmt: skip
"""Units of ns-3's DataRate in bits per second, which it takes a number without a unit for."""
DELAYS = {"": 10**12, "s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1}
"""Units of ns-3's Time in picoseconds; without a unit it is seconds."""
_QUANTITY = re.compile(r"(\d+(?:\.\d*)?|\.\d+)((?:[eE][+-]?\d+)?)([A-Za-z/]*)")


def read_topology(path: Path) -> Parts:
    """The graph of a topology file. Raises `ScenarioError` with line and column."""
    return _Topology(Source(path)).read()


class _Topology:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.header, *rows = source.rows()
        self.rest = [word for row in reversed(rows) for word in reversed(row)]

    def read(self) -> Parts:
        nodes, nvswitches, switches, links = self._counts()
        kinds = ["host"] * nodes
        for kind, count in (("nvswitch", nvswitches), ("switch", switches)):
            for _ in range(count):
                word = self._next()
                number = self.source.whole(word, "switch", 0, nodes - 1)
                if kinds[number] != "host":
                    self.source.refuse(word, "switch", "each switch once")
                kinds[number] = kind
        prefix = {"host": "h", "nvswitch": "nv", "switch": "s"}
        names = [f"{prefix[kind]}{node}" for node, kind in enumerate(kinds)]
        edges: list[list[str]] = []
        faults: list[dict[str, object]] = []
        lossy: set[str] = set()
        for _ in range(links):
            first, second = self._next(), self._next()
            a, b = (names[self.source.whole(word, "node", 0, nodes - 1)] for word in (first, second))
            if a == b:
                self.source.refuse(second, "node", "another node than at the first end of the link")
            rate, delay, error = self._next(), self._next(), self._next()
            edges.append([a, b, RATE.text(self._rate(rate)), TIME.text(self._delay(delay))])
            share = float(self.source.number(error, "error rate", "a share from 0, and below 1"))
            if share >= 1:
                self.source.refuse(error, "error rate", "a share from 0, and below 1")
            if share and f"{a}<->{b}" not in lossy:
                lossy.add(f"{a}<->{b}")
                faults.append({"link": f"{a}<->{b}", "kind": "loss", "value": share})
        parts = self._parts(names, kinds, edges, faults)
        if self._is_reverie:
            rates = " and ".join(word.text for word in self.header[4:])
            parts.left_out.append(f"{rates} in the first line: every link has a rate of its own")
        if self.rest:
            line = self.rest[-1].line
            parts.left_out.append(f"all from line {line} on: the first line announces {links} links")
        return parts

    def _parts(
        self, names: list[str], kinds: list[str], edges: list[list[str]], faults: list[dict[str, object]]
    ) -> Parts:
        hosts = [node for node, kind in enumerate(kinds) if kind == "host"]
        topology: dict[str, object] = {"kind": "graph", "hosts": [names[host] for host in hosts]}
        if "nvswitch" in kinds:
            topology["server_switches"] = [
                name for name, kind in zip(names, kinds, strict=True) if kind == "nvswitch"
            ]
        number = {host: place for place, host in enumerate(hosts)}
        return Parts(fabric=Fabric(topology | {"edges": edges}, len(hosts), faults=faults, hosts=number))

    @property
    def _is_reverie(self) -> bool:
        return len(self.header) == 6 and self.header[5].text.isdigit()

    def _counts(self) -> tuple[int, int, int, int]:
        """(nodes, NVLink switches, switches, links)."""
        wanted = {3: (0, None, 1, 2), 4: (0, None, 1, 3), 6: (0, 2, 3, 4), 7: (0, 2, 3, 4)}
        places = wanted[4] if self._is_reverie else wanted.get(len(self.header))
        if places is None:
            expected = "NODES SWITCHES LINKS, or that of a fork: 4 or 6 numbers, or 5 and a type of GPU"
            self.source.refuse(self.header[0], "line", expected)
        counts = [
            0 if at is None else self.source.whole(self.header[at], "count", 0, 2**31 - 1) for at in places
        ]
        if counts[1] + counts[2] + 2 > counts[0]:
            self.source.refuse(self.header[0], "nodes", "more nodes: two hosts or more beside the switches")
        if counts[1] + counts[2] + 5 * counts[3] > len(self.rest):
            self._next_missing()
        if counts[0] > 2 * counts[3]:
            expected = f"at most {2 * counts[3]}: a node for each end of the {counts[3]} links"
            self.source.refuse(self.header[0], "nodes", expected)
        return counts[0], counts[1], counts[2], counts[3]

    def _next_missing(self) -> NoReturn:
        self.source.refuse(None, None, "more; the file ends before all switches and links are there")

    def _next(self) -> Word:
        return self.rest.pop()

    def _rate(self, word: Word) -> int:
        return quantity(self.source, word, "rate", RATES, "a rate such as 100Gbps", limits.LINK_RATE)

    def _delay(self, word: Word) -> int:
        return quantity(self.source, word, "delay", DELAYS, "a delay such as 0.001ms", limits.DELAY)


def quantity(
    source: Source, word: Word, key: str, units: dict[str, int], expected: str, limit: limits.Limit
) -> int:
    """A number with one of `units`, in the smallest, within `limit`. Raises `ScenarioError`."""
    match = _QUANTITY.fullmatch(word.text)
    if not match or match[3] not in units:
        source.refuse(word, key, expected)
    number = Word(match[1] + match[2], word.line, word.column)
    value = round(source.number(number, key, expected) * units[match[3]])
    if not limit.least <= value <= limit.most:
        text = TIME if limit.unit == "ps" else RATE
        source.refuse(word, key, f"{expected}, from {text.text(limit.least)} to {text.text(limit.most)}")
    return value


def read_flows(path: Path) -> Parts:
    """The flows of a flow file. Raises `ScenarioError` with line and column."""
    source = Source(path)
    (first, *_), *rows = source.rows()
    count = source.whole(first, "number of flows", 0, 2**31 - 1)
    tasks = [_flow(source, row, at) for at, row in enumerate(rows[:count])]
    if len(tasks) < count:
        source.refuse(first, "number of flows", f"at most {len(tasks)}, as many as the file has")
    parts = Parts(Work(path.stem, source, tasks))
    if tasks:
        parts.assumed.append("flow files number hosts as nodes, and start times are seconds")
        if endless := sum(not task.bytes for task in tasks):
            parts.assumed.append(f"flows of more than 1 PB have no end ({endless} of {len(tasks)})")
    else:
        parts.left_out.append(f"{path.name}: it announces 0 flows")
    if len(rows) > count:
        parts.left_out.append(
            f"{len(rows) - count} lines behind the {count} flows that the first line announces"
        )
    if len({row[2].text for row in rows[:count]}) > 1:
        parts.left_out.append("priority groups of flows")
    if len({row[3].text for row in rows[:count] if len(row) == 6}) > 1:
        parts.left_out.append("ports of flows")
    return parts


def read_traced(path: Path) -> Parts:
    """The nodes whose packets the simulator traces. Raises `ScenarioError` with line and column."""
    source = Source(path)
    words = [word for row in source.rows() for word in row]
    if not words:
        source.refuse(None, None, "the number of traced nodes, and their numbers")
    count, *nodes = (source.whole(word, "node", 0, 2**31 - 1) for word in words)
    if len(nodes) < count:
        source.refuse(words[0], "number of nodes", f"at most {len(nodes)}, as many as the file has")
    return Parts(left_out=[f"{path.name}: {count} nodes whose packets the simulator traces"])


def _flow(source: Source, row: list[Word], at: int) -> Task:
    if len(row) not in (5, 6):
        source.refuse(row[0], "flow", "SRC DST PRIORITY PORT BYTES START, or the same without PORT")
    src, dst, *_, size, start = row
    if "." in size.text:
        expected = "BYTES; flows of ns3-rdma (SRC DST PRIORITY PACKETS START STOP) are not read"
        source.refuse(size, "bytes", expected)
    ends = [source.whole(word, "host", 0, 2**31 - 1) for word in (src, dst)]
    if ends[0] == ends[1]:
        source.refuse(dst, "host", "two different hosts")
    endless = size.text.isdecimal() and limits.SIZE.most < int(size.text[:40]) < 2**64
    return Task(
        str(at),
        ends[0],
        ends[1],
        bytes=0 if endless else source.whole(size, "bytes", 1),
        delay_ps=source.time(start, "start", 10**12, "seconds"),
        word=src,
    )


def read_sizes(path: Path) -> Parts:
    """The points of a distribution of sizes. Raises `ScenarioError` with line and column."""
    source = Source(path)
    rows = source.rows()
    mean = rows.pop(0)[0] if len(rows[0]) == 1 else None
    points: list[list[float]] = []
    for row in rows:
        if len(row) != 2:
            source.refuse(row[0], "line", "BYTES PERCENT")
        size, percent = (float(source.number(word, "point", "a number of at least 0")) for word in row)
        if percent > 100 or (points and (size < points[-1][0] or percent < points[-1][1])):
            source.refuse(row[0], "line", "sizes and percents that never fall, up to 100")
        points.append([size, percent])
    if len(points) < 2 or points[-1][1] not in (1, 100):
        source.refuse(None, None, "two points or more, the last at 100 percent, or at a share of 1")
    parts = Parts(sizes=points)
    if points[-1][1] == 1:
        parts.assumed.append(f"{path.name} has shares from 0 to 1, because its last point is 1")
    if mean:
        parts.sizes = _steps(points)
        _compare(source, mean, points, parts)
    return parts


def _steps(points: list[list[float]]) -> list[list[float]]:
    """The points of a distribution of these sizes alone: it rises at each of them."""
    before = [0.0, *(share for _, share in points[:-1])]
    pairs = (([size, low], [size, high]) for (size, high), low in zip(points, before, strict=True))
    return [point for pair in pairs for point in pair]


def _compare(source: Source, word: Word, points: list[list[float]], parts: Parts) -> None:
    """Say which mean size a file of Homa's simulator gives, and which its points have."""
    given = float(source.number(word, "mean", "the mean size in bytes, or the number of flows"))
    before = [0.0, *(share for _, share in points[:-1])]
    rises = (size * (share - low) for (size, share), low in zip(points, before, strict=True))
    found = sum(rises) / points[-1][1]
    name = source.path.name
    parts.assumed.append(f"{name} is of Homa's simulator: flows have the sizes of its points alone")
    if abs(found - given) > 0.01 * given:
        parts.left_out.append(f"{name}, line {word.line}: a mean of {word.text}; its points have {found:.6g}")
