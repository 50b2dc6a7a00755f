"""The data of a comparison of runs, as tables and pages read it."""

from typing import TYPE_CHECKING, Protocol, TypedDict

from shallows.results.contents import Count, Number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shallows.results.run import Run


class Row(TypedDict):
    """A row of the table of a comparison."""

    cc: str
    port: str
    utilization: Number
    queue_mean_pkt: Number
    queue_p99_pkt: Number
    delay_mean_us: Number
    backlog_p99_us: Number
    dropped: Count
    goodput_gbps: Number
    jain: Number
    offered: int
    finished: int
    completed: int
    unfinished: int
    more_than: dict[str, float]
    fct_mean_us: Number
    fct_p99_us: Number
    slowdown_p50: Number
    slowdown_p99: Number
    timeouts: int
    drain_s: Number
    drain_share: Number


class Distance(TypedDict):
    """The difference of a quantity between two worlds; None where it is unknown."""

    cc: str
    world: str
    than: str
    quantity: str
    value: float | None
    reference: float | None
    difference: float | None
    percent: float | None
    half_width: float | None
    reference_half_width: float | None


class Compared(Protocol):
    """Runs of one scenario, and how they differ."""

    @property
    def runs(self) -> "Mapping[str, Run]":
        """The runs by their labels."""
        ...

    @property
    def rows(self) -> list[Row]:
        """A row of numbers for each run."""
        ...

    @property
    def distances(self) -> list[Distance]:
        """Differences between worlds."""
        ...

    @property
    def networks(self) -> list[str]:
        """Sentences on how the networks of the runs differ."""
        ...
