"""The distance of the kernel world from the packet world, by kind of scenario.

docs/worlds.md has the table and the reasons, and the tests hold random scenarios to it. The machine adds its
own distance: `lateness` in the summary of a run says how much.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shallows.algorithms import defaults
from shallows.results.metrics import known

if TYPE_CHECKING:
    from shallows.algorithms.algorithm import Algorithm
    from shallows.results.run import RunData
    from shallows.scenario import Scenario


@dataclass(frozen=True)
class Distance:
    """The largest distance of two runs of one scenario.

    queue_pkt, queue_share: of the mean queue at the bottleneck: packets, or a share of the longer queue,
    whichever is more. utilization: absolute. goodput: a share, besides the `header_bytes` a packet that Linux
    sends and the packet world does not; of several traffics, also the difference of the share that each has
    in the goodput of all. None is a number that cannot be compared.
    """

    queue_pkt: float | None
    queue_share: float
    utilization: float | None
    goodput: float | None
    header_bytes: int = 12


FEW = "dx, less than two packets per flow in flight"
FEW_DELAYED = f'{FEW}, `acks_every = 2`, `rto = "internet"`'
SHARED = "several bottlenecks"
TWO_WAYS = "data both ways"
DISTANCES = {
    "reno": Distance(5, 0.2, 0.08, 0.08),
    "cubic": Distance(5, 0.2, 0.08, 0.08),
    "dctcp": Distance(3, 0.25, 0.04, 0.08),
    "dx": Distance(2.5, 0.6, 0.12, 0.15, header_bytes=28),
    FEW: Distance(None, 0, 0.25, 0.35, header_bytes=28),
    FEW_DELAYED: Distance(None, 0, None, None, header_bytes=28),
    "inigo": Distance(None, 0, 0.10, 0.15),
    "inigo, dilation = false": Distance(3, 0.75, 0.08, 0.12),
    "receiver inigo": Distance(None, 0, None, None),
    SHARED: Distance(0, 0.25, 0.08, 0.50),
    TWO_WAYS: Distance(None, 0, 0.10, 0.15),
}
"""By algorithm and by kind of scenario; of several rows that apply the largest counts.

The packet world has no bbr, so that there is no distance from it.
"""


def distance(scenario: "Scenario") -> Distance | None:
    """The distance for `scenario`; None if the packet world lacks one of its algorithms."""
    names = [_row(used) for used in scenario.flows.ccs]
    if any(name not in DISTANCES for name in names):
        return None
    scale = defaults.Scale.of(scenario.graph, scenario.mtu)
    if "dx" in names and scale.in_flight(scale.slowest) < 2 * scenario.mtu * len(scenario.flows):
        acks_every = scenario.hosts.acks_every or max(used.acks_every for used in scenario.flows.ccs)
        names.append(FEW_DELAYED if acks_every > 1 and scenario.hosts.rto == "internet" else FEW)
    if set(scenario.flows.src.tolist()) & set(scenario.flows.dst.tolist()):
        names.append(TWO_WAYS)
    if scenario.topology.kind not in ("dumbbell", "star"):
        names.append(SHARED)
    rows = [DISTANCES[name] for name in names]
    return Distance(
        _largest([row.queue_pkt for row in rows]),
        max(row.queue_share for row in rows),
        _largest([row.utilization for row in rows]),
        _largest([row.goodput for row in rows]),
        max(row.header_bytes for row in rows),
    )


def _largest(distances: list[float | None]) -> float | None:
    """The largest distance; None, which cannot be compared, is larger than all."""
    known = [distance for distance in distances if distance is not None]
    return max(known) if len(known) == len(distances) else None


def table() -> list[str]:
    """The table of the documentation, as lines."""
    lines = ["| scenario | mean queue | utilisation | goodput |", "|---|---|---|---|"]
    for name, row in DISTANCES.items():
        share = f"{row.queue_share:.0%}"
        queue = f"{row.queue_pkt:g} packets or {share}" if row.queue_pkt else f"{share}"
        if row.queue_pkt is None:
            queue = "not comparable"
        used = "not comparable" if row.utilization is None else f"{row.utilization:.2f}"
        goodput = "not comparable" if row.goodput is None else f"{row.goodput:.0%}"
        lines.append(f"| {name} | {queue} | {used} | {goodput} |")
    return lines


def _row(used: "Algorithm") -> str:
    if used.receiver:
        return f"receiver {used.receiver.kind}"
    plain = used.name == "inigo" and not used.parameters.get("dilation", True)
    return "inigo, dilation = false" if plain else used.name


def beyond(packet: "RunData", kernel: "RunData", most: Distance) -> list[str]:
    """A sentence for each number of two runs of one scenario that differs by more than `most`."""
    found: list[str] = []
    if most.queue_pkt is not None:
        queues = [known(run.summary, "queue_mean_pkt") for run in (packet, kernel)]
        allowed = max(most.queue_pkt, most.queue_share * max(queues))
        if abs(queues[0] - queues[1]) > allowed:
            found.append(f"queues of {queues[0]:.2f} and {queues[1]:.2f} packets, allowed are {allowed:.2f}")
    if most.utilization is not None:
        used = [known(run.summary, "utilization") for run in (packet, kernel)]
        if abs(used[0] - used[1]) > most.utilization:
            found.append(f"utilisation of {used[0]:.3f} and {used[1]:.3f}, allowed are {most.utilization}")
    payload = packet.scenario.frame.payload
    expected = (packet.summary["flows"]["goodput_gbps"] or 0) * (payload - most.header_bytes) / payload
    goodput = kernel.summary["flows"]["goodput_gbps"] or 0
    if most.goodput is not None and abs(goodput - expected) > most.goodput * expected:
        found.append(
            f"goodput of {goodput * 1e3:.2f} Mbps for {expected * 1e3:.2f}, allowed are {most.goodput:.0%}"
        )
    return found + _shares_beyond(packet, kernel, most)


def _shares_beyond(packet: "RunData", kernel: "RunData", most: Distance) -> list[str]:
    """A sentence for each traffic of several whose share of the goodput differs by more than allowed."""
    here, there = (_shares(run) for run in (packet, kernel))
    if most.goodput is None or len(here) < 2:
        return []
    return [
        f"traffic[{at}]: {a:.1%} and {b:.1%} of the goodput, allowed are {most.goodput:.0%} of it"
        for at, (a, b) in enumerate(zip(here, there, strict=True))
        if abs(a - b) > most.goodput
    ]


def _shares(run: "RunData") -> list[float]:
    """The share of each traffic in the goodput of all; none where some traffic has no goodput."""
    goodputs = [row["goodput_gbps"] for row in run.summary["traffic"]]
    known = [goodput for goodput in goodputs if goodput is not None]
    return [goodput / sum(known) for goodput in known] if len(known) == len(goodputs) and sum(known) else []
