"""The request of a run and its answer as Python has them: the types of what crosses into Rust and comes back.

crates/contract defines them, docs/crossing.md says what they mean; tests/test_request.py holds both to that.
"""

from collections.abc import Callable, Mapping
from typing import (
    Any,
    NotRequired,
    TypedDict,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np
from numpy.typing import NDArray

U16, U32, U64 = NDArray[np.uint16], NDArray[np.uint32], NDArray[np.uint64]
F64, Flags = NDArray[np.float64], NDArray[np.bool_]

Links = TypedDict(
    "Links",
    {
        "from": U32,
        "to": U32,
        "rate_bps": U64,
        "delay_ps": U64,
        "buffer_bytes": U64,
        "marking": U32,
        "discipline": NotRequired[U32],
    },
)


class Marking(TypedDict):
    kind: str
    at: NotRequired[str]
    parameters: NotRequired[dict[str, float]]


class Pacer(TypedDict):
    eta: float
    beta: float
    period_ps: int
    least_bps: int


class Class(TypedDict):
    carries: list[str]
    limit_packets: NotRequired[int | None]
    limit_bytes: NotRequired[int | None]
    trims: NotRequired[bool | None]
    turn: NotRequired[int | None]
    shaper_bps: NotRequired[int | None]
    shaper_burst_bytes: NotRequired[int | None]
    pacer: NotRequired[Pacer | None]


class Shared(TypedDict):
    size_bytes: int
    alpha: float


class Pause(TypedDict):
    threshold_bytes: int
    hysteresis_bytes: int
    headroom_bytes: NotRequired[int | None]


class Faults(TypedDict):
    time_ps: U64
    link: U32
    kind: list[str]
    value: F64


class Applications(TypedDict):
    first_bytes: U64
    resume_ps: U64
    on_ps: U64
    off_ps: U64


class Flows(TypedDict):
    src: U32
    dst: U32
    bytes: U64
    start_ps: U64
    stop_ps: U64
    application: NotRequired[Applications]
    after: NotRequired[U32]
    priority: NotRequired[U32]
    cc: U32


class Receiver(TypedDict):
    kind: str
    parameters: dict[str, float]


class Control(TypedDict):
    name: str
    parameters: dict[str, float]
    receiver: NotRequired[Receiver]
    written: NotRequired[Callable[..., object]]


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
    nic: str
    initial_window_bytes: int
    rto_min_ps: int
    rto_max_ps: int
    rto_initial_ps: int
    acks_every: int
    ack_delay_ps: int
    segment: int
    timestamps: NotRequired[Timestamps]


class Record(TypedDict):
    queue_interval_ps: int
    queue_links: U32
    probe_interval_ps: int
    probe_flows: U32


class Request(TypedDict):
    hosts: int
    nodes: int
    links: Links
    markings: list[Marking]
    disciplines: NotRequired[list[list[Class]]]
    shared: NotRequired[Shared]
    pause: NotRequired[Pause]
    balancing: NotRequired[str]
    faults: NotRequired[Faults]
    convergence_ps: NotRequired[int]
    flows: Flows
    ccs: list[Control]
    host: Host
    mtu_bytes: int
    header_bytes: int
    duration_ps: int
    until_done: bool
    warmup_ps: int
    seed: int
    record: Record
    real_time: NotRequired[bool]


class FlowColumns(TypedDict):
    start_ps: U64
    finish_ps: U64
    ideal_ps: U64
    delivered_bytes: U64
    goodput_bytes: U64
    goodput_by_stop_bytes: U64
    retransmits: U32
    timeouts: U32
    credits: U64
    credits_wasted: U64
    srtt_mean_ps: U64
    srtt_max_ps: U64


class PortColumns(TypedDict):
    sent: U64
    sent_bytes: U64
    marked: U64
    dropped: U64
    dropped_in_warmup: U64
    trimmed: U64
    lost: U64
    busy_ps: U64
    pauses: U64
    paused_ps: U64
    queue_mean_bytes: F64
    queue_p50_bytes: F64
    queue_p99_bytes: F64
    queue_max_bytes: F64
    delay_mean_ps: F64
    delay_p99_ps: F64


ClassColumns = TypedDict(
    "ClassColumns",
    {
        "link": U32,
        "class": U32,
        "sent": U64,
        "dropped": U64,
        "largest_bytes": U64,
        "pauses": U64,
        "paused_ps": U64,
    },
)


class Deadlock(TypedDict):
    links: U32
    time_ps: int


class Queues(TypedDict):
    time_ps: U64
    bytes: U32


class Histogram(TypedDict):
    edges_bytes: F64
    time_ps: U64


class Probes(TypedDict):
    time_ps: U64
    flow: U32
    name: U16
    value: F64


class Books(TypedDict):
    closed: bool
    problems: list[str]


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


class Answer(TypedDict):
    fingerprint: str | None
    events: int
    packet_hops: int
    ended_ps: int
    measured_ps: int
    interrupted: bool
    flows: FlowColumns
    ports: PortColumns
    classes: ClassColumns
    deadlock: Deadlock
    queues: Queues
    queue_histograms: list[Histogram]
    probe_names: list[str]
    probes: Probes
    books: Books
    threads: Threads | None
    lateness: Lateness | None


Table = TypeVar("Table")


def zeros(table: type[Table], rows: int) -> Table:
    """A table of columns, each of so many zeros."""
    return cast(Table, {key: np.zeros(rows, _element(kind)) for key, kind in get_type_hints(table).items()})


def from_json(answer: Mapping[str, Any]) -> Answer:
    """An answer of `shallows-live`: its lists as the columns that they are."""
    return _typed(answer, Answer)


def _typed(value: Any, kind: Any) -> Any:
    if is_typeddict(kind):
        return {key: _typed(value[key], inner) for key, inner in get_type_hints(kind).items()}
    if get_origin(kind) is np.ndarray:
        return np.array(value, _element(kind))
    if get_origin(kind) is list:
        (inner,) = get_args(kind)
        return [_typed(item, inner) for item in value]
    return value


def _element(kind: Any) -> Any:
    """The type of a column's entries."""
    (element,) = get_args(get_args(kind)[1])
    return element
