"""The compiled half of Shallows; docs/crossing.md has the shapes of requests, answers and tables."""

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallows.core.contract import U32, Answer, Change, Marking, Request
from shallows.core.rows import AlgorithmRow, BalancingRow, MarkingRow, Row

class Bug(RuntimeError):  # noqa: N818 (its name in the core)
    """An invariant of the simulator does not hold: please report it."""

def simulate(
    request: Request,
    on_progress: Callable[[int, int, int], None] | None = None,
    threads: int | None = 1,
) -> Answer:
    """The answer to a request. `on_progress` hears simulated picoseconds, packet-hops and flows finished.

    Without a number of `threads` there are as many as pay. The answer is the same for any number.
    """

def emulate(request: Request, on_progress: Callable[[int, int, int], None] | None = None) -> Answer:
    """The answer to a request that runs in real time, with UDP datagrams. Ctrl-C ends it early."""

def endpoint(
    request: Request,
    descriptor: int,
    peer: tuple[str, int],
    key: list[int],
    sends: bool,
    on_progress: Callable[[int, int, int], None] | None = None,
) -> dict[str, object]:
    """What one end of a flow has seen, over a bound socket, with a peer that knows the same 16 bytes."""

def datagrams_per_s(seconds: float) -> float:
    """Datagrams that each of two threads receives and sends per second, measured for so many seconds."""

def host_stamps(count: int, interval_ns: int, polls: bool, answers: bool) -> list[list[int]]:
    """The eight times, in ns, of each of `count` credits to which another thread of this machine answers."""

def longest_gaps(seconds: float, at_least_ns: int) -> list[int]:
    """Gaps of at least so many ns between two readings of the clock, of a thread that does nothing else."""

def flow_session(open: Callable[[str, int, int], Request | None], input: int, output: int) -> bool:
    """Serve a session of another program over two descriptors; whether it was closed in order.

    `open` makes the request of a profile for a seed and a number of hosts. Its `ValueError` is an answer.
    """

def watch(
    request: Request,
    watched: Mapping[str, object],
    on_progress: Callable[[int, int, int], None] | None = None,
) -> tuple[Answer, dict[str, Any]]:
    """The answer to a request, and why the packets of the flows that are `watched` left when they did."""

def at(
    request: Request,
    time_ps: int,
    on_progress: Callable[[int, int, int], None] | None = None,
) -> tuple[Answer, dict[str, Any]]:
    """The answer to a request, and what everything was doing after all that happens at or before a time."""

def tap(
    request: Request,
    tap: Mapping[str, object],
    on_progress: Callable[[int, int, int], None] | None = None,
) -> tuple[Answer, dict[str, Any]]:
    """The answer to a request, and every frame at the ports that are tapped."""

class OpenRun:
    """A run at time zero that messages may join. Errors of the core are `ValueError`.

    A call during another one, or after the end, is a `RuntimeError`.
    """

    def __init__(self, request: Request, threads: int = 1) -> None: ...
    def state(self) -> tuple[int, bool, int]:
        """The clock in ps, whether the run has ended, and how many flows with an end have not completed."""

    def send(self, messages: list[tuple[int, int, int, int, int, int]]) -> int:
        """Add messages: source, target, bytes, start in ps, class, algorithm; the number of the first."""

    def extend(self, request: Request) -> None:
        """Add the algorithms and markings that a request has besides those that are known."""

    def change(self, links: list[int], change: Change) -> None:
        """Change links at the clock."""

    def mark(self, links: list[int], marking: Marking) -> None:
        """Change the marking of links at the clock."""

    def retune(self, algorithm: int, values: dict[str, float]) -> int:
        """Give flows of an algorithm that have not started other values of parameters; its new number."""

    def set_senders(self, settings: list[tuple[int, int, int]]) -> list[tuple[int, int, int, int]]:
        """Set windows in bytes and rates in bit/s, 0 for none, of flows that a program drives.

        Returns them with the clock in ps in front.
        """

    def step(self, to_ps: int, group: U32, groups: int) -> tuple[NDArray[np.float32], list[float], bool, int]:
        """Execute everything before a time, and measure what groups of flows did since the last call.

        A row for each group, and the same over all: send and receive rate in Gbps, mean smoothed round trip
        in us, share of packets that had been sent before, share of acknowledged bytes that was marked. Then
        whether the run has ended, and how many flows with an end have not completed. `group` has the group
        of each flow; others do not count.
        """

    def advance(self, to_ps: int, stops: bool) -> bool:
        """Execute everything before a time, or until a flow completes if it `stops`; whether one has."""

    def completions(self) -> list[tuple[int, int, bool]]:
        """Completions since the last call: time in ps, flow, and whether it is known to the sender."""

    def links(self, links: list[int]) -> dict[str, NDArray[Any]]:
        """Links at the clock: queue_bytes, and packets delivered, lost and dropped."""

    def flows(self) -> dict[str, NDArray[Any]]:
        """All flows so far: start_ps, finish_ps, delivered_bytes, retransmits, timeouts."""

    def observe(self) -> dict[str, NDArray[Any]]:
        """What each flow has done since the last call."""

    def fork(self) -> OpenRun:
        """A copy."""

    def close(self, at_clock: bool) -> None:
        """Let no further message join. The run ends at the clock, or as its request says."""

    def finish(self, on_progress: Callable[[int, int, int], None] | None = None) -> Answer:
        """Run what is left; the answer."""

def check(request: Request) -> tuple[str, str, str] | None:
    """The first mistake in a request: its key, its value and what was expected; None if it can run."""

def flows_over(request: Request, links: list[list[int]]) -> list[U32]:
    """For each list of links, the flows that use one of them on their way or on that of their answers."""

def paths(request: Request, flows: U32 | None = None) -> list[tuple[list[int], list[int]]]:
    """The links on the way there of each of these flows, by default all, and on its answers' way back."""

def longest_chain(
    members: NDArray[np.uint32],
    needs: Mapping[str, NDArray[np.generic]],
    lasts: NDArray[np.float64],
    delays: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    """The longest chain of tasks, from the first start to the last end, and the start of each since then.

    Times have the unit of `lasts` and `delays`. `needs` has the columns waiting (u32), needed (u32) and lag
    (f64). A task starts its delay after all that it needs: the lag from the start of each such task. Only
    `members` count, and of these those that need members alone.
    """

def catalog() -> list[AlgorithmRow]:
    """The algorithms."""

def markings() -> list[MarkingRow]:
    """The kinds of marking."""

def receivers() -> list[Row]:
    """The receivers that can stand in for an algorithm's own."""

def balancings() -> list[BalancingRow]:
    """The values of `network.balancing`, with what they do."""

def write_table(
    path: PathLike[str],
    columns: list[tuple[str, str]],
    metadata: list[tuple[str, str]],
    blocks: Iterable[list[NDArray[Any] | tuple[NDArray[np.int32], list[str]]]],
) -> None:
    """Write a Parquet file: its columns by name and kind, its metadata, and a row group for each block."""

def read_header(path: PathLike[str]) -> tuple[dict[str, str], list[str]]:
    """The metadata of a Parquet file and the names of its columns."""

def read_table(path: PathLike[str]) -> dict[str, NDArray[np.generic] | tuple[NDArray[np.int32], list[str]]]:
    """The columns of a Parquet file that is as it was written; of text its numbers and the texts.

    `NotImplementedError` means that the core has no decoder of the file's compression.
    """

def contract() -> list[tuple[str, list[tuple[str, str, bool, str]]]]:
    """The tables of the request and the answer: name, fields (key, kind, whether optional, meaning)."""

def version() -> str:
    """The release, such as "0.2.0"."""

def sources() -> str:
    """A checksum of the Rust sources that this was built from."""
