"""The types of `summary.json`, so that editors and type checkers know its keys.

docs/results.md has their meanings. A number that a run does not have is None; `Run.number` is for programs
that do not want to ask for it each time.
"""

from typing import Any, Literal, NotRequired, TypedDict

from shallows.core import contract


class Threads(TypedDict):
    """`threads`."""

    count: int | None
    domains: int | None
    gain: float | None


class Bottleneck(TypedDict):
    """`bottleneck`."""

    port: str
    utilization: float | None
    queue_mean_pkt: float | None
    queue_p50_pkt: float | None
    queue_p99_pkt: float | None
    queue_max_pkt: float | None
    delay_mean_us: float | None
    backlog_p99_us: float | None
    marked: int | None
    dropped: int | None
    paused_us: float | None


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

    fct_mean_us: float | None
    fct_p50_us: float | None
    fct_p95_us: float | None
    fct_p99_us: float | None
    fct_p999_us: float | None
    slowdown_mean: float | None
    slowdown_p50: float | None
    slowdown_p95: float | None
    slowdown_p99: float | None
    slowdown_p999: float | None
    more_than: dict[str, float]


class FlowNumbers(Completion):
    """`flows`."""

    offered: int
    finished: int
    cut_off: int
    not_begun: int
    lost: int
    goodput_gbps: float | None
    jain: float | None
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

    below_bytes: int | None
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
    completion_us: float | None
    goodput_gbps: float | None
    goodput_least_gbps: float | None
    goodput_most_gbps: float | None
    jain: float | None
    completed: int
    unfinished: int
    exchanges: int
    exchanges_unfinished: int
    exchange_mean_us: float | None
    exchange_p50_us: float | None
    exchange_p99_us: float | None


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
    until_us: float | None
    links: int
    affected: int
    before_gbps: float | None
    lowest_gbps: float | None
    during_gbps: float | None
    after_gbps: float | None
    recovery_us: float | None
    inflation_p50: float | None
    inflation_p99: float | None
    stranded: int
    stranded_flows: list[str]
    stranded_because: str | None
    more_than: dict[str, float]


class JobNumbers(TypedDict):
    """Numbers that rows of `collectives` and `tasks` have in common."""

    traffic: int
    name: str
    kind: str
    completion_us: float | None
    ideal_us: float | None
    ideal_is_bound: bool
    slowdown: float | None
    last_rank: str | None
    spread_us: float | None
    cause: str | None
    cause_us: float | None
    cause_port: str | None
    more_than: dict[str, float]


class CollectiveNumbers(JobNumbers):
    """A row of `collectives`."""

    group: int
    ranks: int
    size_bytes: int
    steps_us: list[float] | None
    algbw_gb_per_s: float | None
    busbw_gb_per_s: float | None


class Step(TypedDict):
    """A task, or a pass or bucket, from the start of the first one."""

    step: str
    begin_us: float
    end_us: float


class TaskNumbers(JobNumbers):
    """A row of `tasks`."""

    computation_us: float | None
    exposed_us: float | None
    exposed_share: float | None
    slowest_host: str | None
    slowest_ratio: float | None
    steps: list[Step] | None


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
    fingerprint: str | None
    code: NotRequired[dict[str, str]]
    inputs: NotRequired[list[Input]]
    cc: list[str]
    duration_s: float
    warmup_s: float
    cooldown_at_s: float | None
    drain_s: float | None
    drain_share: float | None
    interrupted: NotRequired[bool]
    interrupted_at_s: NotRequired[float]
    wall_s: float
    threads: Threads
    events: int
    packet_hops: int | None
    packet_hops_per_s: float | None
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
    random: list[str] | None
    warnings: list[str]
    books: Books
    lateness: NotRequired[Lateness]
    spread: NotRequired[dict[str, Any]]
