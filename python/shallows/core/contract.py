"""Types of the core's request and of its answer; docs/crossing.md says what the keys mean.

Generated from crates/sim/src/spec and crates/contract by `make generated`: a change here is lost.
"""

from collections.abc import Callable
from typing import Literal, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

U16, U32, U64 = NDArray[np.uint16], NDArray[np.uint32], NDArray[np.uint64]
F64, Flags = NDArray[np.float64], NDArray[np.bool_]


Nic = Literal["fair", "fifo"]
LossDetection = Literal["duplicate-acks", "rack"]
Retransmission = Literal["go-back-n", "selective"]
Change = (
    Literal["down", "up", "drain", "undrain", "pause", "resume"]
    | dict[str, int]
    | dict[str, float]
    | dict[str, dict[str, int]]
)
At = Literal["enqueue", "dequeue"]
Balancing = Literal[
    "flow", "packet", "queue", "round-robin", "flowlet", "oblivious", "bitmap", "reps", "plb", "mrc"
]


class Datagrams(TypedDict):
    count: int
    hosts_cpu_s: float
    switches_cpu_s: float


class Quantiles(TypedDict):
    count: int
    mean_us: float
    p50_us: float
    p99_us: float
    p999_us: float
    max_us: float


class Lateness(TypedDict):
    accepted: bool
    reason: str | None
    round_trip_us: float
    deliveries: Quantiles
    looks: Quantiles
    stamps: Quantiles | None
    given_up: float
    seen_round_trip_us: float | None
    network_round_trip_us: float | None
    headroom_us: float | None
    longest_gap_us: float
    stalled_us: float
    unroutable: int


class Threads(TypedDict):
    count: int
    domains: int
    gain: float | None


class Books(TypedDict):
    closed: bool
    problems: list[str]


class Random(TypedDict):
    balancing: bool
    marking: bool
    classes: U32
    trimming: bool
    shaping: bool
    gap: bool
    ack_jitter: bool
    timestamps: bool
    ccs: U32
    faults: U32


class Goodput(TypedDict):
    time_ps: U64
    bytes: list[U64]
    last_ps: U64


class Probes(TypedDict):
    time_ps: U64
    flow: U32
    name: U16
    value: F64


class Histogram(TypedDict):
    edges_bytes: F64
    time_ps: U64


class Queues(TypedDict):
    time_ps: U64
    bytes: U32


class Deadlock(TypedDict):
    links: U32
    time_ps: int


ClassColumns = TypedDict(
    "ClassColumns",
    {
        "link": U32,
        "class": U32,
        "sent": U64,
        "sent_bytes": U64,
        "marked": U64,
        "dropped": U64,
        "queue_mean_bytes": F64,
        "largest_bytes": U64,
        "delay_mean_ps": F64,
        "pauses": U64,
        "paused_ps": U64,
    },
)


class PortColumns(TypedDict):
    sent: U64
    sent_bytes: U64
    marked: U64
    dropped: U64
    dropped_in_warmup: U64
    trimmed: U64
    trimmed_in_warmup: U64
    lost: U64
    lost_in_warmup: U64
    busy_ps: U64
    pauses: U64
    paused_ps: U64
    queue_mean_bytes: F64
    queue_p50_bytes: F64
    queue_p99_bytes: F64
    queue_max_bytes: F64
    delay_mean_ps: F64
    delay_p99_ps: F64


class ComputationColumns(TypedDict):
    start_ps: U64
    finish_ps: U64


class FlowColumns(TypedDict):
    start_ps: U64
    finish_ps: U64
    ideal_ps: U64
    delivered_bytes: U64
    goodput_bytes: U64
    goodput_by_stop_bytes: U64
    retransmits: U64
    timeouts: U64
    timeout_wait_ps: U64
    credits: U64
    credits_wasted: U64
    srtt_mean_ps: U64
    srtt_max_ps: U64
    reordering: U64


class Answer(TypedDict):
    fingerprint: str | None
    events: int
    packet_hops: int
    ended_ps: int
    measured_ps: int
    interrupted: bool
    flows: FlowColumns
    computations: ComputationColumns
    ports: PortColumns
    classes: ClassColumns
    deadlock: Deadlock
    queues: Queues
    queue_histograms: list[Histogram]
    probe_names: list[str]
    probes: Probes
    goodput: Goodput | None
    random: Random | None
    books: Books
    threads: Threads | None
    lateness: Lateness | None
    datagrams: Datagrams | None


class GoodputRecord(TypedDict):
    interval_ps: int
    flows: list[U32]


class Record(TypedDict):
    queue_interval_ps: int
    queue_links: U32
    probe_interval_ps: int
    probe_flows: U32
    goodput: NotRequired[GoodputRecord | None]


class Timestamps(TypedDict):
    burst: int
    bucket: int
    poll_ps: int
    stack_ps: int
    noise_ps: int
    drift: float
    host_delay_removed: bool
    burst_reduced: bool
    calibrated: bool


class Host(TypedDict):
    nic: Nic
    initial_window_bytes: int
    rto_min_ps: int
    rto_max_ps: int
    rto_initial_ps: int
    ack_delay_ps: int
    prr: bool
    segment: int
    loss_detection: LossDetection
    retransmission: Retransmission
    gap: float
    option_bytes: int
    poll_ps: int
    batch: int
    segment_time_ps: int
    piggyback: bool
    ack_jitter_ps: int
    timestamps: NotRequired[Timestamps | None]


class SenderSettings(TypedDict):
    flow: U32
    time_ps: U64
    window_bytes: U64
    rate_bps: U64


class Receiver(TypedDict):
    kind: str
    parameters: dict[str, float]


class Control(TypedDict):
    name: str
    parameters: dict[str, float]
    receiver: NotRequired[Receiver | None]
    acks_every: NotRequired[int | None]
    user_algorithm: NotRequired[Callable[..., object] | None]


class Routes(TypedDict):
    flow: U32
    link: U32


class PathHashes(TypedDict):
    flow: U32
    hash: U32


class Applications(TypedDict):
    first_bytes: U64
    resume_ps: U64
    on_ps: U64
    off_ps: U64
    every_ps: U64


Waits = TypedDict(
    "Waits",
    {
        "needs": U32,
        "global": Flags,
    },
)


class Predecessors(TypedDict):
    flow: U32
    predecessor: U32


class Computations(TypedDict):
    host: U32
    duration_ps: U64
    start_ps: U64
    processor: U32
    after: NotRequired[Predecessors | None]
    behind: NotRequired[Predecessors | None]
    wait: NotRequired[Waits | None]


Flows = TypedDict(
    "Flows",
    {
        "src": U32,
        "dst": U32,
        "bytes": U64,
        "start_ps": U64,
        "stop_ps": U64,
        "after": NotRequired[Predecessors | None],
        "behind": NotRequired[Predecessors | None],
        "wait": NotRequired[Waits | None],
        "application": NotRequired[Applications | None],
        "class": U32,
        "cc": U32,
    },
)


class Fault(TypedDict):
    time_ps: int
    link: int
    change: Change


class Shared(TypedDict):
    size_bytes: int
    alpha: float


class Pause(TypedDict):
    threshold_bytes: int
    hysteresis_bytes: int
    headroom_bytes: NotRequired[int | None]
    watchdog_ps: NotRequired[int | None]
    restoration_ps: NotRequired[int | None]


class TrafficClass(TypedDict):
    quantum_bytes: NotRequired[int | None]
    pool: NotRequired[int | None]
    pause: NotRequired[Pause | None]


class Policer(TypedDict):
    rate_bps: int
    burst_bytes: int


class Pacer(TypedDict):
    eta: float
    beta: float
    period_ps: int
    least_bps: int
    most_bps: int


class Shaper(TypedDict):
    rate_bps: int
    burst_bytes: int
    jitter_ps: int
    pacer: NotRequired[Pacer | None]


class Class(TypedDict):
    limit: dict[str, int]
    shaper: NotRequired[Shaper | None]
    trims: bool
    turn: NotRequired[int | None]
    quantum_bytes: NotRequired[int | None]
    policer: NotRequired[Policer | None]
    marking: NotRequired[int | None]


class Discipline(TypedDict):
    classes: list[Class]
    class_of: list[dict[str, int]]
    paced: NotRequired[int | None]


class Marking(TypedDict):
    kind: str
    at: At
    parameters: dict[str, float]


Links = TypedDict(
    "Links",
    {
        "from": U32,
        "to": U32,
        "rate_bps": U64,
        "delay_ps": U64,
        "buffer_bytes": U64,
        "marking": U32,
        "discipline": U32,
    },
)


class Request(TypedDict):
    hosts: int
    nodes: int
    links: Links
    markings: list[Marking]
    disciplines: list[Discipline]
    classes: list[TrafficClass]
    pools: list[Shared]
    balancing: Balancing
    entropies: int
    flowlet_gap_ps: int
    faults: list[Fault]
    changing: U32
    convergence_ps: int
    flows: Flows
    path_hashes: PathHashes
    routes: Routes
    computations: Computations
    ccs: list[Control]
    sender_settings: SenderSettings
    host: Host
    mtu_bytes: int
    header_bytes: int
    duration_ps: int
    until_done: bool
    warmup_ps: int
    seed: int
    record: Record
    max_packets: int
