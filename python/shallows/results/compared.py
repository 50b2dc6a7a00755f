"""The data of a comparison of runs, as tables and pages read it."""

from typing import TYPE_CHECKING, Protocol, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shallows.results.run import RunData


class Row(TypedDict):
    """A row of the table of a comparison."""

    cc: str
    port: str
    utilization: float | None
    queue_mean_pkt: float | None
    queue_p99_pkt: float | None
    delay_mean_us: float | None
    backlog_p99_us: float | None
    dropped: int | None
    goodput_gbps: float | None
    jain: float | None
    offered: int
    finished: int
    completed: int
    unfinished: int
    more_than: dict[str, float]
    fct_mean_us: float | None
    fct_p99_us: float | None
    slowdown_p50: float | None
    slowdown_p99: float | None
    timeouts: int
    drain_s: float | None
    drain_share: float | None


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
    def runs(self) -> "Mapping[str, RunData]":
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
