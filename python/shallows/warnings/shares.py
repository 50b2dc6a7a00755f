"""Warnings about flows that share a link unequally."""

from typing import TYPE_CHECKING

import numpy as np

from shallows.results.summary import jain
from shallows.scenario.paths import paths_of, round_trip
from shallows.units import NEVER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.algorithms.algorithm import Algorithm
    from shallows.core.contract import Flags
    from shallows.results.answer import Answer

UNFAIR, ROUND_TRIPS = 0.7, 1000
"""Jain's index below which equal flows share unequally, and the round trips after which it counts."""
BASE_EXCESS, BASE_FRAMES = 0.1, 2
"""A base RTT has queueing delay if it exceeds that of the empty path by this share and these frames."""


def unequal_shares(answer: "Answer") -> list[str]:
    """Equal flows of one table, without an end, that share a link unequally."""
    flows = answer.flow_columns
    warnings: list[str] = []
    used_by = zip(answer.scenario.traffic, answer.scenario.algorithms, strict=True)
    for number, (table, used) in enumerate(used_by):
        its = (flows["traffic"] == number) & np.isnan(flows["bytes"])
        if table.kind != "long-lived" or table.stop != NEVER or its.sum() < 2 or not _why(answer, used):
            continue
        fairness = jain(flows["goodput_gbps"][its])
        if fairness is None or fairness >= UNFAIR or not long_enough(answer) or not _equal(answer, its):
            continue
        warnings.append(
            f"flows of traffic[{number}] are equal and share unequally, Jain {fairness:.2f}: "
            f"{_why(answer, used)}"
        )
    return warnings


def _why(answer: "Answer", used: "Algorithm") -> str | None:
    """What can make equal flows of an algorithm unequal; None if that is the algorithm itself."""
    if used.transport == "tcp":
        return (
            "synchronised packets can cause that; compare other seeds, or a jitter of at least a round trip"
        )
    dropped = int(answer.in_whole_run["dropped"].sum())
    return full_queue_of_roce(dropped) if used.transport == "roce" and dropped else None


def full_queue_of_roce(dropped: int) -> str:
    """Why flows over RoCE share a full queue unequally, and what to write."""
    return (
        f"of two that meet at a full queue one may lose every frame, {dropped} in all, and then waits for "
        'timeouts; write a longer network.buffer, network.pfc = true, or hosts.rto_initial = "1ms"'
    )


def base_with_queue(answer: "Answer") -> list[str]:
    """Flows whose base RTT exceeds the round trip of their empty path: they joined a queue that stayed."""
    probes, names = answer.answer["probes"], list(answer.answer["probe_names"])
    if "base_rtt_us" not in names or not answer.network.is_nic.any() or answer.scenario.faults:
        return []
    its = probes["name"] == names.index("base_rtt_us")
    flows: list[int] = probes["flow"][its].tolist()
    last: dict[int, float] = dict(zip(flows, probes["value"][its].tolist(), strict=True))
    network, mtu = answer.network, answer.scenario.mtu
    paths = paths_of(answer.scenario)
    late: dict[int, tuple[float, float]] = {}
    for flow, base_us in last.items():
        used: Algorithm = answer.scenario.flows.ccs[int(answer.scenario.flows.cc[flow])]
        if not used.takes_least_rtt:
            continue
        path = paths[flow]
        empty_us = round_trip(network, mtu, *path) / 1e6
        frame_us = 8e6 * mtu / float(network.rate_bps[path[0]].min())
        if base_us > empty_us * (1 + BASE_EXCESS) + BASE_FRAMES * frame_us:
            late[flow] = base_us, empty_us
    if not late:
        return []
    flow = max(late, key=lambda flow: late[flow][0] - late[flow][1])
    base_us, empty_us = late[flow]
    return [
        f"{len(late)} flows have queueing delay in their base RTT, flow {flow} {base_us:.1f} us on an empty "
        f"path of {empty_us:.1f} us: they joined a queue that stayed, and get more than their share; let "
        'flows start further apart, or set hosts.initial_window = "2pkt" or traffic.exchange'
    ]


def _equal(answer: "Answer", its: "Flags") -> bool:
    """True if each flow has hosts of its own and all links of hosts are equal."""
    src, dst = (answer.flow_columns[end].codes[its] for end in ("src", "dst"))
    network = answer.network
    edges = (network.link_from < network.hosts) | (network.link_to < network.hosts)
    columns: tuple[NDArray[np.generic], ...] = (network.rate_bps, network.delay_ps)
    equal = all(np.ptp(column[edges]) == 0 for column in columns)
    senders, receivers = (np.count_nonzero(np.bincount(hosts)) for hosts in (src, dst))
    return equal and senders == len(src) and receivers in (1, len(dst))


def long_enough(answer: "Answer", trips: int = ROUND_TRIPS) -> bool:
    """Whether so many of the longest round trips over some six links were measured."""
    longest = int(answer.network.delay_ps.max()) if len(answer.network.delay_ps) else 0
    return answer.measured_ps > trips * 6 * longest
