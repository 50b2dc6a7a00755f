"""Flow-size distributions: piecewise-linear CDFs, bundled or from a CSV file.

A file has the columns size_bytes, cum_prob, separated by commas or blanks, and comments after `#`;
probabilities may be percents, the last of which is 100. Between two points the CDF is linear, as in ns-2 and
in the generators of the papers; a size that appears twice is a point mass. data/workloads/README.md lists the
bundled files and their sources.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import pairwise
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shallows.base import texts
from shallows.units import did_you_mean

Numbers = NDArray[np.float64]
ALIASES = {
    "websearch": "websearch_hpcc_bytes",
    "datamining": "datamining_ns2_packets1460",
    "cachefollower": "cachefollower_homa_bytes",
    "webserver": "webserver_homa_bytes",
    "hadoop": "hadoop_hpcc_bytes",
    "keyvalue": "fb_keyvalue_bytes",
}
"""Short names of the most common files."""


@dataclass(frozen=True)
class Sizes:
    """A distribution of flow sizes in bytes of payload: `F(sizes[i]) = shares[i]`, linear between."""

    name: str
    sizes: Numbers
    shares: Numbers

    @property
    def mean(self) -> float:
        """The mean in bytes, of the piecewise-linear distribution itself."""
        middles = (self.sizes[1:] + self.sizes[:-1]) / 2
        return float(self.shares[0] * self.sizes[0] + np.sum(np.diff(self.shares) * middles))

    def cdf(self, size: Numbers) -> Numbers:
        """The share of flows of at most `size` bytes, for an array of sizes."""
        above = np.searchsorted(self.sizes, size, side="right")
        right = np.minimum(above, len(self.sizes) - 1)
        left = np.maximum(right - 1, 0)
        width = self.sizes[right] - self.sizes[left]
        along = np.divide(size - self.sizes[left], width, out=np.ones_like(width), where=width > 0)
        between = self.shares[left] + along * (self.shares[right] - self.shares[left])
        return np.where(above == 0, 0.0, np.where(above == len(self.sizes), 1.0, between))

    def sample(self, uniform: Numbers) -> NDArray[np.uint64]:
        """Whole sizes of at least 1 byte at the quantiles `uniform`."""
        return np.maximum(np.rint(np.interp(uniform, self.shares, self.sizes)), 1).astype(np.uint64)

    def frames(self, payload: int) -> float:
        """The mean number of packets of a flow with `payload` bytes each."""
        # Flows of more than k full packets need another one. Between two sizes their share falls linearly in
        # k, so their sum is the number of values k times the share in their middle.
        edges = np.ceil((self.sizes - 0.5) / payload).clip(1)
        first, last = edges[:-1], edges[1:] - 1
        shares = 1 - self.cdf((first + last) / 2 * payload + 0.5)
        return float(edges[0] + np.sum(np.where(last >= first, (last - first + 1) * shares, 0.0)))

    def below(self, limit: int) -> "Sizes":
        """The same distribution given that the size is below `limit` bytes.

        Raises `ValueError` with what was expected if there is no such flow.
        """
        after = int(np.searchsorted(self.sizes, limit, side="left"))
        if after == len(self.sizes):
            return self
        if after == 0:
            raise ValueError(f"a size above {self.sizes[0]:.0f}B, the smallest of {self.name}")
        (left, right), (low, high) = self.sizes[after - 1 : after + 1], self.shares[after - 1 : after + 1]
        kept = low + (high - low) * (limit - left) / (right - left)
        if kept <= 0:
            raise ValueError(f"a size above that of some flow of {self.name}")
        return Sizes(
            f"{self.name} below {limit}B",
            np.append(self.sizes[:after], max(limit - 1, left)),
            np.append(self.shares[:after], kept) / kept,
        )


def fixed(size: int) -> Sizes:
    """The distribution of flows that all have `size` bytes."""
    return Sizes(f"{size}B", np.array([size, size], float), np.array([0.0, 1.0]))


def names() -> list[str]:
    """The names of the bundled distributions, short ones first."""
    folder = resources.files("shallows") / "data" / "workloads"
    return [*ALIASES, *sorted(file.name[:-4] for file in folder.iterdir() if file.name.endswith(".csv"))]


def bundled(name: str) -> Sizes:
    """The bundled distribution of that name. Raises `ValueError` with what was expected."""
    if name not in names():
        expected = f'a size such as "20KB", a CSV file, or one of {", ".join(names())}'
        raise ValueError(expected + did_you_mean(name, names()))
    file = resources.files("shallows") / "data" / "workloads" / f"{ALIASES.get(name, name)}.csv"
    return parse(name, file.read_text())


def read(path: str | PathLike[str]) -> Sizes:
    """The distribution in a CSV file. Raises `ValueError` with what was expected."""
    try:
        text = texts.read(path)
    except (OSError, ValueError) as error:
        raise ValueError(f"a readable CSV file of size_bytes,cum_prob ({texts.why(error)})") from None
    return parse(Path(path).name, text)


def parse(name: str, text: str) -> Sizes:
    """The distribution of a CSV text. Raises `ValueError` with what was expected, and the line."""
    lines = ((i, line.partition("#")[0].strip()) for i, line in enumerate(text.splitlines(), start=1))
    words = ((i, line.replace(",", " ").split()) for i, line in lines)
    return of_points(name, ((i, row) for i, row in words if row and row[0] != "size_bytes"))


def of_points(name: str, rows: Iterable[tuple[int, Sequence[float | str]]]) -> Sizes:
    """The distribution of numbered rows (size, share). Raises `ValueError` with what was expected."""
    points = [_point(i, row) for i, row in rows]
    if len(points) < 2:
        raise ValueError(f"two points size_bytes,cum_prob or more; it has {len(points)}")
    if points[-1][2] == 100:
        points = [(i, size, share / 100) for i, size, share in points]
    for line, _, share in points:
        if share > 1:
            raise ValueError(
                f"a probability from 0 to 1 on line {line}, or percents of which the last is 100"
            )
    for (_, *before), (line, *after) in pairwise(points):
        if after[0] < before[0] or after[1] < before[1]:
            raise ValueError(f"sizes and probabilities that never fall; line {line} does")
    if points[-1][2] != 1:
        raise ValueError(f"a last probability of 1; line {points[-1][0]} has {points[-1][2]:g}")
    _, sizes, shares = np.array(points, float).T
    return Sizes(name, sizes, shares)


def _point(line: int, row: Sequence[float | str]) -> tuple[int, float, float]:
    try:
        size, share = (float(word) for word in row)
    except (TypeError, ValueError):
        text = ",".join(map(str, row)) if isinstance(row, list) else row
        raise ValueError(f'two numbers size_bytes,cum_prob on line {line}, not "{text}"') from None
    if not (0 <= size < 2**53 and 0 <= share <= 100):
        raise ValueError(f"a size of 0 or more and a probability from 0 to 1 on line {line}")
    return line, size, share
