"""The content of imported files: tasks, a topology, faults, sizes of flows, and notes for the reader."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from shallows.importers.source import Source, Word

UNITS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
"""Units of time in picoseconds."""


@dataclass(slots=True)
class Task:
    """A message from `host` to `to`, or, if `to` is None, a computation at `host` of `duration_ps`.

    A message of 0 bytes has no end.

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

    `hosts` is the number of hosts that the file has, or None. `tables` are of collectives that are traffic
    tables of their own; their `hosts` are numbers of the file.
    """

    name: str
    source: Source
    tasks: list[Task]
    hosts: int | None = None
    tables: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


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


@dataclass(frozen=True)
class Reference:
    """A file that another one names under `key`, with its word there; `what` is the part that it has."""

    key: str
    what: str
    word: Word
    source: Source


@dataclass(frozen=True)
class Settings:
    """A configuration beside topology and flows: tables of a scenario and the table of `cc`, None without.

    mode, down_word, buffer_word: words for errors, None if their lines are not there. down: (time in ps,
    node, node) of links that go down. buffer: bytes of memory of each switch, of which headroom is a part.
    rate_ai: additive step of HPCC in bit/s. one_rtt: all flows have the longest base RTT. error_rate: of
    links that have none. traced: names of files of traced nodes.
    """

    tables: dict[str, Any]
    cc: dict[str, Any] | None
    source: Source
    mode: Word | None = None
    down_word: Word | None = None
    buffer_word: Word | None = None
    down: Sequence[tuple[int, int, int]] = ()
    buffer: int | None = None
    rate_ai: int | None = None
    one_rtt: bool = True
    error_rate: float = 0.0
    traced: Sequence[str] = ()


class Notes(Protocol):
    """Sentences about a scenario: what was assumed, and what it does not express."""

    assumed: list[str]
    left_out: list[str]


@dataclass
class Parts:
    """The content of one file. `assumed` and `left_out` are sentences about it."""

    work: Work | None = None
    fabric: Fabric | None = None
    sizes: list[list[float]] | None = None
    settings: Settings | None = None
    references: Sequence[Reference] = ()
    failed: Sequence[Uplink] = ()
    assumed: list[str] = field(default_factory=list[str])
    left_out: list[str] = field(default_factory=list[str])
