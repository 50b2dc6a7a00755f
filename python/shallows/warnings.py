"""What a run did that is lawful and hardly meant: sentences for who reads the result.

`Scenario.doubts` says it of what can be seen before a run, these of what the run shows.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.summary import jain
from shallows.traffic import NO_FLOW
from shallows.units import MOST_ROWS, NEVER, RATE, SIZE, TIME

if TYPE_CHECKING:
    from shallows.contract import Flags
    from shallows.results.answer import Answer
    from shallows.scenario import Scenario
    from shallows.topology import Network

RESENT_SHARE, RESENT_PACKETS = 0.2, 100
"""More is not what an algorithm that answers losses does to a network that it fits."""
FULL = 0.98
"""Flows without an end use more of a link where DCTCP's threshold is not below theory's."""
TIMES_THEORY = 4
"""So many times more drops than theory has are hardly a matter of phase."""
UNFAIR, ROUND_TRIPS = 0.7, 1000
"""Jain's index below which flows that are alike are not, after so many round trips."""


FRAMES = 100
"""Fewer in what is measured make the goodput of a flow coarse: a packet counts whole when it arrives."""


def of_run(answer: "Answer") -> list[str]:
    """The doubts of a run."""
    checks = (
        _no_statistics,
        _not_begun,
        _coarse,
        _not_recorded,
        _no_patience,
        _impatient,
        _repaired,
        _idle,
        _unlike,
        _several_ways,
        _slower,
    )
    return [doubt for check in checks for doubt in check(answer)]


def _no_statistics(answer: Any) -> list[str]:
    if answer.measured_ps:
        return []
    ended, warmup = (TIME.text(int(time)) for time in (answer.ended_ps, answer.scenario.warmup_ps))
    return [f"the run ended at {ended}, before its warm-up of {warmup} was over: nothing was measured"]


def _not_begun(answer: Any) -> list[str]:
    """Flows without an end that were to start after the run's: how many share a link is meant."""
    flows = answer.scenario.flows
    endless = (flows.bytes == 0) & (flows.after == NO_FLOW)
    late = int(np.sum(endless & (flows.start_ps > answer.ended_ps)))
    if not late:
        return []
    ended, count = TIME.text(int(answer.ended_ps)), int(np.sum(endless))
    return [
        f"{late} of {count} flows without an end had not begun when the run ended at {ended}, and count as "
        "cut off"
    ]


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
    waits = np.array(["hosts.rto_max" in used.supported_keys for used in scenario.flows.ccs])
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
    return np.array([_round_trip(network, scenario.mtu, *way) for way in _ways(scenario)])


def _ways(scenario: "Scenario") -> Any:
    """By flow, the links on its way there and on its way back."""
    from shallows import _core
    from shallows.worlds.packet import request

    return _core.paths(request(scenario))


def _round_trip(network: "Network", mtu: int, there: list[int], back: list[int]) -> int:
    def crossed(links: list[int], frame: int) -> int:
        return int((network.delay_ps[links] + np.uint64(8 * 10**12 * frame) // network.rate_bps[links]).sum())

    return crossed(there, mtu) + crossed(back, ACK_BYTES)


def _impatient(answer: Any) -> list[str]:
    """More timeouts than packets that could have caused them: what waited was taken for lost."""
    hosts, flows = answer.scenario.hosts, answer.flow_columns
    waits = np.array(["hosts.rto_min" in used.supported_keys for used in answer.scenario.flows.ccs])
    its = waits[answer.scenario.flows.cc]
    timeouts = int(flows["timeouts"][its].sum())
    gone = sum(int(answer.port_columns[of].sum()) for of in ("dropped", "lost", "trimmed"))
    gone += int(answer.answer["ports"]["dropped_in_warmup"].sum())
    if timeouts <= gone or _no_patience(answer) or len(answer.answer["deadlock"]["links"]):
        return []
    longest = _about(1e6 * np.nanmax(flows["srtt_max_us"][its], initial=0.0))
    least, first = TIME.text(hosts.rto_min), TIME.text(hosts.rto_initial)
    return [
        f"{timeouts} timeouts, and {gone} packets were lost: the others only waited, in smoothed round trips "
        f"of up to {longest}, while hosts.rto_min = {least} and hosts.rto_initial = {first}; raise them to "
        'twice that, or write hosts.rto = "internet"'
    ]


def _repaired(answer: Any) -> list[str]:
    """Where so much is lost, the goodput is not the algorithm's but its loss recovery's.

    Where ports cut packets instead of dropping them, to send again is the algorithm's own way.
    """
    payload, flows = answer.scenario.frame.payload, answer.scenario.flows
    lost = ~np.array([used.trims for used in flows.ccs])[flows.cc]
    again = int(answer.flow_columns["retransmits"][lost].sum())
    first = float(answer.answer["flows"]["delivered_bytes"][lost].sum()) / payload
    share = again / (again + first) if again else 0.0
    if again >= RESENT_PACKETS and share >= RESENT_SHARE:
        return [f"{share:.0%} of the data packets were sent again: what is measured is the repair of losses"]
    return _more_than_halving_drops(answer)


def _more_than_halving_drops(answer: Any) -> list[str]:
    """Drops of flows without an end beyond what halving windows w can cause, 3 of w^2 packets.

    A packet more a round trip from 2 w / 3 to 4 w / 3, then one or two lost: a sawtooth is 2 w^2 / 3 packets
    (Mathis et al., CCR 27(3), 1997, with one lost). A flow that starts while it is measured overshoots too.
    """
    flows, scenario = answer.flow_columns, answer.scenario
    of_tcp = np.array([cc.transport == "tcp" for cc in scenario.flows.ccs])[scenario.flows.cc]
    its = np.isnan(flows["bytes"])
    if not answer.measured_ps or not its.any() or not of_tcp[its].all():
        return []
    packets = answer.answer["flows"]["goodput_bytes"][its] / scenario.frame.payload
    trips = answer.measured_ps / 1e6 / flows["srtt_mean_us"][its]
    window = np.maximum(packets / trips, 1.0)
    starts = flows["start_us"][its] * 1e6 >= answer.warmup_ps
    theory = float(np.nansum(3 * packets / window**2 + np.where(starts, 2 * window, 0.0)))
    dropped = int(answer.port_columns["dropped"].sum()) - int(flows["retransmits"][~its].sum())
    if dropped < RESENT_PACKETS or dropped <= TIMES_THEORY * theory or np.isnan(window).all():
        return []
    return [
        f"{dropped} packets were dropped: flows that halve their windows at a loss would have {theory:.0f} "
        f"dropped with windows of {np.nanmean(window):.0f} packets, 3 of w^2 at most"
    ]


def _idle(answer: Any) -> list[str]:
    """DCTCP leaves a link idle that marks too early for what is on its way, or while it climbs."""
    scenario, flows = answer.scenario, answer.flow_columns
    of_dctcp = np.array([cc.name == "dctcp" for cc in scenario.flows.ccs])[scenario.flows.cc]
    steady = np.array([table.kind == "long-lived" and not table.off for table in scenario.traffic])
    began = flows["start_us"] * 1e6 <= answer.warmup_ps
    its = np.flatnonzero(of_dctcp & steady[flows["traffic"]] & began)
    if not answer.measured_ps or not len(its) or not answer.network.is_nic.any() or scenario.faults:
        return []  # a link that fails or slows down is idle for reasons of its own
    ways, used = _ways(scenario), answer.port_columns["utilization"]
    at: dict[int, list[int]] = {}
    for flow in its:
        busiest = max(ways[flow][0], key=lambda link: float(used[link]))
        if used[busiest] < FULL:
            at.setdefault(busiest, []).append(_round_trip(answer.network, scenario.mtu, *ways[flow]))
    return [doubt for link, trips in at.items() for doubt in _of_idle_link(answer, link, trips)]


def _of_idle_link(answer: Any, link: int, trips: list[int]) -> list[str]:
    """Of the busiest link of some flows, which take such round trips when all queues are empty."""
    network, mtu, longest = answer.network, answer.scenario.mtu, max(trips)
    on_its_way = int(network.rate_bps[link]) * longest // (8 * 10**12)
    used = float(answer.port_columns["utilization"][link])
    where = f"{network.port_names[link]} was used to {used:.0%} by flows without an end"
    threshold, least = _step(answer.scenario, link), on_its_way // 7
    if threshold is not None and threshold < least:
        is_, should = SIZE.text(threshold, mtu), SIZE.text(least - least % mtu, mtu)
        return [
            f"{where}: network.marking.threshold = {is_} is below a seventh of what fills it for a "
            f"round trip of {_about(longest)}, {should}: cuts empty its queue (DCTCP, SIGCOMM 2010 eq. 13)"
        ]
    missing, measured = (1 - used) * on_its_way / mtu / len(trips), int(answer.measured_ps) // longest
    if missing <= measured:
        return []
    return [
        f"{where}: they still grow, by a packet a round trip, and lack {missing:.0f} packets each; "
        f"{measured} round trips were measured"
    ]


def _step(scenario: "Scenario", link: int) -> int | None:
    """Bytes beyond which the port of a link marks every packet, if it does."""
    from shallows.worlds.packet import request

    asked = request(scenario)
    marking = asked["markings"][int(asked["links"]["marking"][link])]
    return int(marking.get("parameters", {})["threshold"]) if marking["kind"] == "step" else None


def _about(time_ps: float) -> str:
    """A time in three digits."""
    return TIME.text(int(float(f"{time_ps:.3g}")))


def _slower(answer: Any) -> list[str]:
    """A full link that a fault has slowed down reads as one that is nearly idle."""
    slower = _slowed_down(answer)
    if not slower:
        return []
    link, rate = next(iter(slower.items()))
    own = RATE.text(int(answer.network.rate_bps[link]))
    others = f" and {len(slower) - 1} more" if len(slower) > 1 else ""
    return [
        f"{answer.network.port_names[link]}{others} slowed down, to {RATE.text(rate)} of {own}: utilization "
        "and backlog are told at a link's own rate"
    ]


def _slowed_down(answer: Any) -> dict[int, int]:
    """By number of a link that was slower for a time, its slowest rate."""
    slower: dict[int, int] = {}
    for fault in answer.scenario.faults:
        for link in (
            fault.links(answer.network) if fault.kind == "rate" and fault.at < answer.ended_ps else ()
        ):
            rate = min(int(fault.number), slower.get(link, NEVER))
            if rate < answer.network.rate_bps[link]:
                slower[link] = rate
    return slower


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
