"""The content of imported files: tasks, a topology, faults, sizes of flows, and notes for the reader."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from shallows.importers.source import Source, Word

UNITS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
"""Units of time in picoseconds."""


@dataclass(slots=True)
class Task:
    """A message from `host` to `to`, or, if `to` is None, a computation at `host` of `duration_ps`.

    It starts `delay_ps` after `needs` of its predecessors (0: all) have ended at `host`; those of `behind`
    have only sent their data. If it is `everywhere`, some end at other hosts. A computation of no length
    joins its predecessors. `word` is its place.
    """

    name: str
    host: int
    to: int | None = None
    bytes: int = 0
    duration_ps: int = 0
    delay_ps: int = 0
    after: list[str] = field(default_factory=list[str])
    behind: list[str] = field(default_factory=list[str])
    needs: int = 0
    processor: int = 0
    everywhere: bool = False
    word: Word | None = None


@dataclass
class Work:
    """The tasks of one or several files that become a table of traffic, with the file for errors.

    `hosts` is the number of hosts that the file has, or None.
    """

    name: str
    source: Source
    tasks: list[Task]
    hosts: int | None = None


@dataclass(frozen=True)
class Uplink:
    """A failed link as a `.cm` file names it: the link number `link` from a switch of a tier to the next."""

    tier: int
    switch: int
    link: int
    word: Word
    source: Source


@dataclass
class Fabric:
    """A topology as the keys of `[topology]` and `[network]`.

    `hosts` are the numbers of its nodes by the number of a host in flow files, None where they are equal.
    `uplinks` has the cables from each (tier, switch) upwards, by the names of their ends.
    """

    topology: dict[str, Any]
    count: int
    network: dict[str, Any] = field(default_factory=dict[str, Any])
    faults: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    hosts: dict[int, int] | None = None
    uplinks: dict[tuple[int, int], list[str]] = field(default_factory=dict[tuple[int, int], list[str]])


@dataclass
class Parts:
    """The content of one file. `assumed` and `left_out` are sentences about it."""

    work: Work | None = None
    fabric: Fabric | None = None
    sizes: list[list[float]] | None = None
    failed: Sequence[Uplink] = ()
    assumed: list[str] = field(default_factory=list[str])
    left_out: list[str] = field(default_factory=list[str])
