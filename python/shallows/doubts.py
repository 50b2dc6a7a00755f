"""What a run did that is lawful and hardly meant: sentences for who reads the result.

`Scenario.doubts` says it of what can be seen before a run, these of what the run shows.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.summary import jain
from shallows.units import MOST_ROWS, NEVER, TIME

if TYPE_CHECKING:
    from shallows.contract import Flags
    from shallows.results.answer import Answer
    from shallows.scenario import Scenario
    from shallows.topology import Network

RESENT_SHARE, RESENT_PACKETS = 0.2, 100
"""More is not what an algorithm that answers losses does to a network that it fits."""
UNFAIR, ROUND_TRIPS = 0.7, 1000
"""Jain's index below which flows that are alike are not, after so many round trips."""


FRAMES = 100
"""Fewer in what is measured make the goodput of a flow coarse: a packet counts whole when it arrives."""


def of_run(answer: "Answer") -> list[str]:
    """The doubts of a run."""
    checks = (_no_statistics, _coarse, _not_recorded, _no_patience, _sent_again, _unlike, _several_ways)
    return [doubt for check in checks for doubt in check(answer)]


def _no_statistics(answer: Any) -> list[str]:
    if answer.measured_ps:
        return []
    ended, warmup = (TIME.text(int(time)) for time in (answer.ended_ps, answer.scenario.warmup_ps))
    return [f"the run ended at {ended}, before its warm-up of {warmup} was over: nothing was measured"]


def _several_ways(answer: Any) -> list[str]:
    """The ideal time is that of one way, which a flow over several may beat."""
    quicker = answer.flow_columns["slowdown"] < 1
    if answer.one_way or not quicker.any():
        return []
    return [
        f"{quicker.sum()} of {len(quicker)} flows have a slowdown below 1: their packets went several ways, "
        "and the ideal time is that of one"
    ]


def _coarse(answer: Any) -> list[str]:
    """What is measured of flows without an end is shorter than `FRAMES` frames of a host's link."""
    if not answer.measured_ps or not np.isnan(answer.flow_columns["bytes"]).any():
        return []
    host_links = answer.network.rate_bps[answer.network.is_nic]
    if not len(host_links):  # a fluid world's: it has no frames
        return []
    slowest = int(host_links.min())
    frames = int(answer.measured_ps) * slowest // (8 * 10**12 * answer.scenario.mtu)
    if frames >= FRAMES:
        return []
    span = TIME.text(int(answer.measured_ps))
    return [
        f"measured for {span}, in which a host's link carries {frames} frames: packets count whole as they "
        "arrive, so goodput is coarse, and may pass the link's rate"
    ]


def _not_recorded(answer: Any) -> list[str]:
    """Samples of a run without a set duration end where they would fill the memory."""
    rows = {
        "queues": (answer.answer["queues"]["time_ps"], len(answer.answer["queues"]["bytes"])),
        "probes": (answer.answer["probes"]["time_ps"], 1),
    }
    said: list[str] = []
    for key, (times, series) in rows.items():
        if len(times) * series >= MOST_ROWS:
            until = TIME.text(int(times[-1]))
            said.append(f"record.{key} stopped at {until}, with {MOST_ROWS} rows; the run went on")
    return said


def _no_patience(answer: Any) -> list[str]:
    """A sender gives up waiting before an acknowledgement can come, and sends all of it again for ever."""
    scenario, network = answer.scenario, answer.network
    most = scenario.hosts.rto_max
    if not _may_be_longer(network, scenario.mtu, most):
        return []
    there_and_back = _round_trips(scenario, network)
    waits = np.array(["hosts.rto_max" in used.honours for used in scenario.flows.ccs])
    late = (there_and_back > most) & waits[scenario.flows.cc]
    if not late.any():
        return []
    flow = int(np.argmax(np.where(late, there_and_back, 0)))
    limit, took = TIME.text(most), TIME.text(int(there_and_back[flow]))
    which = f"{late.sum()} of {len(late)} flows"
    return [
        f"hosts.rto_max = {limit} is over before an ack can come, {took} after its packet on the empty path "
        f"of flow {flow}: {which} send again what is not lost; write more than {took}"
    ]


ACK_BYTES = 64
"""An acknowledgement on the wire."""


def _may_be_longer(network: "Network", mtu: int, than: int) -> Any:
    """Whether any way, there and back, may take longer: it crosses no link twice."""
    sending = 8 * 10**12 * mtu / network.rate_bps
    return float((network.delay_ps + sending).sum()) > than


def _round_trips(scenario: "Scenario", network: "Network") -> Any:
    """Picoseconds that a full frame and its acknowledgement take on the empty path of each flow."""
    from shallows import _core
    from shallows.worlds.packet import request

    def crossed(links: list[int], frame: int) -> Any:
        return int((network.delay_ps[links] + np.uint64(8 * 10**12 * frame) // network.rate_bps[links]).sum())

    ways = _core.paths(request(scenario))
    return np.array([crossed(there, scenario.mtu) + crossed(back, ACK_BYTES) for there, back in ways])


def _sent_again(answer: Any) -> list[str]:
    """Most of what is sent being repairs, the goodput is not the algorithm's but its loss recovery's."""
    payload = answer.scenario.frame.payload
    again = int(answer.flow_columns["retransmits"].sum())
    first = float(answer.answer["flows"]["delivered_bytes"].sum()) / payload
    share = again / (again + first) if again else 0.0
    if again < RESENT_PACKETS or share < RESENT_SHARE:
        return []
    return [f"{share:.0%} of the data packets were sent again: what is measured is the repair of losses"]


def _unlike(answer: Any) -> list[str]:
    """Flows of one table, without an end, that go the same ways at the same time and share unequally."""
    flows = answer.flow_columns
    said: list[str] = []
    for number, table in enumerate(answer.scenario.traffic):
        used = table.cc or answer.scenario.cc
        its = (flows["traffic"] == number) & np.isnan(flows["bytes"])
        if table.kind != "long-lived" or table.stop != NEVER or used.transport != "tcp" or its.sum() < 2:
            continue
        fairness = jain(flows["goodput_gbps"][its])
        if fairness is None or fairness >= UNFAIR or not _long_enough(answer) or not _alike(answer, its):
            continue
        said.append(
            f"flows of traffic[{number}] are alike and share unequally, Jain {fairness:.2f}: packets that "
            "stay in step can do that; compare other seeds, or a jitter of a round trip and more"
        )
    return said


def _alike(answer: Any, its: "Flags") -> bool:
    """Whether each has hosts of its own, and all cables of hosts are alike."""
    src, dst = (answer.flow_columns[end].codes[its] for end in ("src", "dst"))
    network = answer.network
    edges = (network.link_from < network.hosts) | (network.link_to < network.hosts)
    alike = all(np.ptp(column[edges]) == 0 for column in (network.rate_bps, network.delay_ps))
    senders, receivers = (np.count_nonzero(np.bincount(hosts)) for hosts in (src, dst))
    return senders == len(src) and receivers in (1, len(dst)) and alike


def _long_enough(answer: Any) -> Any:
    longest = int(answer.network.delay_ps.max()) if len(answer.network.delay_ps) else 0
    return answer.measured_ps > ROUND_TRIPS * 6 * longest
