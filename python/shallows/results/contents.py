"""The types of `summary.json`, so that editors and type checkers know its keys.

docs/results.md has their meanings. A number that a run does not have is None; so that a program need not ask
for it each time, its type is `float | Any`, as for `MaybeNone` of typeshed.
"""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from shallows.core import contract

Number: TypeAlias = float | Any
"""A number, or None."""
Count: TypeAlias = int | Any
"""A whole number, or None."""
Text: TypeAlias = str | Any
"""A text, or None."""


class Threads(TypedDict):
    """`threads`."""

    count: Count
    domains: Count
    gain: Number


class Bottleneck(TypedDict):
    """`bottleneck`."""

    port: str
    utilization: Number
    queue_mean_pkt: Number
    queue_p50_pkt: Number
    queue_p99_pkt: Number
    queue_max_pkt: Number
    delay_mean_us: Number
    backlog_p99_us: Number
    marked: Count
    dropped: Count
    paused_us: Number


class NetworkCounts(TypedDict):
    """`network`."""

    sent: int
    marked: int
    dropped: int
    dropped_in_warmup: int
    trimmed: int
    lost: int
    pauses: int
    paused_us: float
    deadlock: list[str]


class Completion(TypedDict):
    """Completion times and slowdowns of flows, and lower bounds of those that are unknown, by their keys."""

    fct_mean_us: Number
    fct_p50_us: Number
    fct_p95_us: Number
    fct_p99_us: Number
    fct_p999_us: Number
    slowdown_mean: Number
    slowdown_p50: Number
    slowdown_p95: Number
    slowdown_p99: Number
    slowdown_p999: Number
    more_than: dict[str, float]


class FlowNumbers(Completion):
    """`flows`."""

    offered: int
    finished: int
    cut_off: int
    not_begun: int
    lost: int
    goodput_gbps: Number
    jain: Number
    completed: int
    unfinished: int
    retransmits: int
    timeouts: int


class Input(TypedDict):
    """A row of `inputs`: a file that the scenario names, or that its code loads.

    sha256: of the content, uncompressed. copy: its name in the folder of the run, None without one.
    """

    name: str
    bytes: int
    sha256: str
    copy: str | None


class SizeNumbers(Completion):
    """A row of `flows_by_size`."""

    below_bytes: Count
    count: int
    unfinished: int


class TrafficNumbers(Completion):
    """A row of `traffic`."""

    traffic: int
    name: str
    kind: str
    cc: str
    offered: int
    finished: int
    completion_us: Number
    goodput_gbps: Number
    goodput_least_gbps: Number
    goodput_most_gbps: Number
    jain: Number
    completed: int
    unfinished: int
    exchanges: int
    exchanges_unfinished: int
    exchange_mean_us: Number
    exchange_p50_us: Number
    exchange_p99_us: Number


class Load(TypedDict):
    """A row of `load`."""

    traffic: int
    stated: float
    realised: float
    of: str


class FaultNumbers(TypedDict):
    """A row of `faults`."""

    fault: int
    name: str
    kind: str
    at_us: float
    until_us: Number
    links: int
    affected: int
    before_gbps: Number
    lowest_gbps: Number
    during_gbps: Number
    after_gbps: Number
    recovery_us: Number
    inflation_p50: Number
    inflation_p99: Number
    stranded: int
    stranded_flows: list[str]
    stranded_because: Text
    more_than: dict[str, float]


class JobNumbers(TypedDict):
    """Numbers that rows of `collectives` and `tasks` have in common."""

    traffic: int
    name: str
    kind: str
    completion_us: Number
    ideal_us: Number
    ideal_is_bound: bool
    slowdown: Number
    last_rank: Text
    spread_us: Number
    cause: Text
    cause_us: Number
    cause_port: Text
    more_than: dict[str, float]


class CollectiveNumbers(JobNumbers):
    """A row of `collectives`."""

    group: int
    ranks: int
    size_bytes: int
    steps_us: list[float] | Any
    algbw_gb_per_s: Number
    busbw_gb_per_s: Number


class Step(TypedDict):
    """A task, or a pass or bucket, from the start of the first one."""

    step: str
    begin_us: float
    end_us: float


class TaskNumbers(JobNumbers):
    """A row of `tasks`."""

    computation_us: Number
    exposed_us: Number
    exposed_share: Number
    slowest_host: Text
    slowest_ratio: Number
    steps: list[Step] | Any


class Unsettled(TypedDict):
    """A row of `unsettled`."""

    traffic: int
    utilization: float
    from_gbps: float
    to_gbps: float
    needed_s: float


class Books(TypedDict):
    """`books`."""

    closed: bool
    problems: list[str]


class Lateness(contract.Lateness):
    """`lateness` of a run in real time, with the reasons for which runs before it were rejected."""

    rejected: list[str]


class Summary(TypedDict):
    """`summary.json`."""

    world: Literal["packet", "fluid", "kernel", "wire"]
    name: str
    seed: int
    version: str
    fingerprint: Text
    code: NotRequired[dict[str, str]]
    inputs: NotRequired[list[Input]]
    cc: list[str]
    duration_s: float
    warmup_s: float
    cooldown_at_s: Number
    drain_s: Number
    drain_share: Number
    interrupted: NotRequired[bool]
    interrupted_at_s: NotRequired[float]
    wall_s: float
    threads: Threads
    events: int
    packet_hops: Count
    packet_hops_per_s: Number
    bottleneck: Bottleneck
    network: NetworkCounts
    flows: FlowNumbers
    flows_by_size: list[SizeNumbers]
    traffic: list[TrafficNumbers]
    load: list[Load]
    faults: list[FaultNumbers]
    collectives: list[CollectiveNumbers]
    unsettled: list[Unsettled]
    tasks: list[TaskNumbers]
    random: list[str] | Any
    warnings: list[str]
    books: Books
    lateness: NotRequired[Lateness]
    spread: NotRequired[dict[str, Any]]
