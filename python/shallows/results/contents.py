"""The numbers of `summary.json`: the type of each, for editors and type checkers, and its title and form.

docs/results.md has their meanings. A number that a run does not have is None; `Run.number` is for programs
that do not want to ask for it each time.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

from shallows.core import contract
from shallows.results.summary import PERCENTILES
from shallows.scenario.supported_keys import WorldName


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

    world: WorldName
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


@dataclass(frozen=True)
class Metric:
    """A number of a summary.

    key: in `summary.json`. title: with the unit, for tables and axes. form: how a report prints it. parts:
    where a summary has it; "" is the summary itself, "job" a collective or a task.
    """

    key: str
    title: str
    form: str
    parts: tuple[str, ...]

    @property
    def word(self) -> str:
        """Its name without a unit, as reports print it: "busbw" of `busbw_gb_per_s`."""
        return _UNIT.sub("", self.key)


_UNIT = re.compile("_(gb_per_s|gbps|us|pkt|s)$")
_FLOWS = ("flows", "traffic", "size")
_ALL = ("flows", "traffic")
_EACH = ("traffic",)
_PORT, _PORTS, _JOB, _FAULT, _RUN = ("bottleneck",), ("network",), ("job",), ("faults",), ("",)


def _percentiles(
    key: str, title: str, form: str, parts: tuple[str, ...], names: Sequence[str]
) -> list[Metric]:
    """The mean and percentiles of times or slowdowns of flows."""
    words = {"mean": "mean", "p999": "p99.9", **{name: name for name in names if name != "p999"}}
    return [Metric(key.format(name), title.format(words[name]), form, parts) for name in ("mean", *names)]


METRICS = [
    Metric("utilization", "utilization", "{:.3f}", _PORT),
    Metric("queue_mean_pkt", "queue mean (packets)", "{:.2f}", _PORT),
    Metric("queue_p50_pkt", "queue p50 (packets)", "{:.1f}", _PORT),
    Metric("queue_p99_pkt", "queue p99 (packets)", "{:.1f}", _PORT),
    Metric("queue_max_pkt", "queue max (packets)", "{:.1f}", _PORT),
    Metric("delay_mean_us", "delay mean (us)", "{:.2f}", _PORT),
    Metric("backlog_p99_us", "backlog p99 (us)", "{:.1f}", _PORT),
    Metric("marked", "marked (packets)", "{}", ("network", "bottleneck")),
    Metric("dropped", "dropped (packets)", "{}", ("network", "bottleneck")),
    Metric("pauses", "pauses", "{}", _PORTS),
    Metric("paused_us", "paused (us)", "{:.0f}", ("network", "bottleneck")),
    Metric("trimmed", "trimmed (packets)", "{}", _PORTS),
    Metric("lost", "lost (packets)", "{}", _PORTS),
    Metric("sent", "sent (packets)", "{}", _PORTS),
    Metric("dropped_in_warmup", "dropped in the warm-up (packets)", "{}", _PORTS),
    Metric("goodput_gbps", "goodput (Gbit/s)", "{:.3f}", _ALL),
    Metric("goodput_least_gbps", "goodput of a flow, least (Gbit/s)", "{:.3f}", _EACH),
    Metric("goodput_most_gbps", "goodput of a flow, most (Gbit/s)", "{:.3f}", _EACH),
    Metric("jain", "Jain's index", "{:.3f}", _ALL),
    Metric("offered", "flows offered", "{}", _ALL),
    Metric("finished", "flows finished", "{}", _ALL),
    Metric("completed", "flows in fct, slowdown", "{}", _FLOWS),
    Metric("unfinished", "flows unfinished", "{}", _FLOWS),
    Metric("cut_off", "flows cut off", "{}", ("flows",)),
    *_percentiles("fct_{}_us", "fct {} (us)", "{:.0f}", _FLOWS, tuple(PERCENTILES)),
    *_percentiles("slowdown_{}", "slowdown {}", "{:.2f}", _FLOWS, tuple(PERCENTILES)),
    *_percentiles("exchange_{}_us", "exchange {} (us)", "{:.0f}", _EACH, ("p50", "p99")),
    Metric("exchanges", "exchanges", "{}", _EACH),
    Metric("exchanges_unfinished", "exchanges unfinished", "{}", _EACH),
    Metric("retransmits", "retransmits (packets)", "{}", ("flows",)),
    Metric("timeouts", "timeouts", "{}", ("flows",)),
    Metric("completion_us", "completion (us)", "{:.1f}", (*_EACH, *_JOB)),
    Metric("ideal_us", "ideal (us)", "{:.1f}", _JOB),
    Metric("slowdown", "slowdown of the ideal", "{:.2f}", _JOB),
    Metric("algbw_gb_per_s", "algbw (GB/s)", "{:.2f}", _JOB),
    Metric("busbw_gb_per_s", "busbw (GB/s)", "{:.2f}", _JOB),
    Metric("computation_us", "computation (us)", "{:.1f}", _JOB),
    Metric("exposed_us", "exposed communication (us)", "{:.1f}", _JOB),
    Metric("exposed_share", "exposed communication (share of the time)", "{:.2f}", _JOB),
    Metric("slowest_ratio", "computation of the slowest host / mean", "{:.2f}", _JOB),
    Metric("cause_us", "largest cause (us)", "{:.1f}", _JOB),
    Metric("recovery_us", "recovery (us)", "{:.0f}", _FAULT),
    Metric("before_gbps", "before (Gbit/s)", "{:.2f}", _FAULT),
    Metric("during_gbps", "during (Gbit/s)", "{:.2f}", _FAULT),
    Metric("lowest_gbps", "lowest (Gbit/s)", "{:.2f}", _FAULT),
    Metric("after_gbps", "after (Gbit/s)", "{:.2f}", _FAULT),
    Metric("inflation_p50", "inflation p50", "{:.2f}", _FAULT),
    Metric("inflation_p99", "inflation p99", "{:.2f}", _FAULT),
    Metric("affected", "flows affected", "{:.0f}", _FAULT),
    Metric("stranded", "stranded", "{:.0f}", _FAULT),
    Metric("drain_s", "drain (s)", "{:.3g}", _RUN),
    Metric("drain_share", "drain (share of the time)", "{:.2f}", _RUN),
    Metric("packet_hops", "packet-hops", "{}", _RUN),
    Metric("events", "events", "{}", _RUN),
]
"""Every number of a summary that describes what was simulated."""
