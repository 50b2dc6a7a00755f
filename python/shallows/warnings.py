"""Warnings of a finished run: the numbers are right, but the scenario hardly asks what its author meant.

`Scenario.warnings` holds those that are known before a run. The runner adds these to the summary.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.summary import jain
from shallows.units import ACK_BYTES, MOST_ROWS, NEVER, RATE, SIZE, TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.algorithm import Algorithm
    from shallows.contract import Flags
    from shallows.results.answer import Answer
    from shallows.scenario import Scenario
    from shallows.topology import Network

RESENT_SHARE, RESENT_PACKETS = 0.2, 100
"""A run with more retransmissions measures loss recovery, not the algorithm."""
FULL = 0.98
"""Flows without an end use a larger share of a link if the marking threshold is not below theory's."""
TIMES_THEORY = 4
"""Synchronised flows explain at most so many times the drops of theory."""
UNFAIR, ROUND_TRIPS = 0.7, 1000
"""Jain's index below which equal flows share unequally, and the round trips after which it counts."""
MINIMUM_RTT = ("dx", "gap", "vegas")
"""Algorithms whose base RTT is the smallest of the flow."""
BASE_EXCESS, BASE_FRAMES = 0.1, 2
"""A base RTT has queueing delay if it exceeds that of the empty path by this share and these frames."""
FRAMES = 100
"""With fewer frames in the measured time goodput is coarse: a packet counts whole when it arrives."""


def of_run(answer: "Answer") -> list[str]:
    """The warnings of a run: those of its scenario, then those of its results."""
    checks = (
        _nothing_measured,
        _not_begun,
        _coarse,
        _not_recorded,
        _short_rto_max,
        _spurious_timeouts,
        _many_losses,
        _idle_links,
        _unequal_shares,
        _base_with_queue,
        _several_paths,
        _slow_links,
    )
    return [*answer.scenario.warnings, *(warning for check in checks for warning in check(answer))]


def _nothing_measured(answer: "Answer") -> list[str]:
    if answer.measured_ps:
        return []
    ended, warmup = (TIME.text(int(time)) for time in (answer.ended_ps, answer.scenario.warmup_ps))
    return [f"the run ended at {ended}, before its warm-up of {warmup} was over: nothing was measured"]


def _not_begun(answer: "Answer") -> list[str]:
    """Flows without an end that were to start after the end of the run."""
    flows = answer.scenario.flows
    endless = (flows.bytes == 0) & ~flows.waiting
    late = int(np.sum(endless & (flows.start_ps > answer.ended_ps)))
    if not late:
        return []
    ended, count = TIME.text(int(answer.ended_ps)), int(np.sum(endless))
    return [
        f"{late} of {count} flows without an end had not begun when the run ended at {ended}, and count as "
        "cut off"
    ]


def _several_paths(answer: "Answer") -> list[str]:
    """The ideal time is that of one path. A flow over several paths may beat it."""
    quicker = answer.flow_columns["slowdown"] < 1
    if answer.one_way or not quicker.any():
        return []
    return [
        f"{quicker.sum()} of {len(quicker)} flows have a slowdown below 1: their packets took several paths, "
        "and the ideal time is that of one path"
    ]


def _coarse(answer: "Answer") -> list[str]:
    """The measured time of flows without an end is shorter than `FRAMES` frames of a host's link."""
    if not answer.measured_ps or not np.isnan(answer.flow_columns["bytes"]).any():
        return []
    host_links = answer.network.rate_bps[answer.network.is_nic]
    if not len(host_links):  # a fluid has no frames
        return []
    frames = int(answer.measured_ps) * int(host_links.min()) // (8 * 10**12 * answer.scenario.mtu)
    if frames >= FRAMES:
        return []
    span = TIME.text(int(answer.measured_ps))
    return [
        f"only {span} were measured, in which a host link carries {frames} frames: a packet counts whole "
        "when it arrives, so goodput is coarse and may exceed the rate of the link"
    ]


def _not_recorded(answer: "Answer") -> list[str]:
    """Samples of a run without a set duration stop at a limit of rows."""
    queues, probes = answer.answer["queues"], answer.answer["probes"]
    warnings: list[str] = []
    for key, times, series in (
        ("queues", queues["time_ps"], len(queues["bytes"])),
        ("probes", probes["time_ps"], 1),
    ):
        if len(times) * series >= MOST_ROWS:
            until = TIME.text(int(times[-1]))
            warnings.append(f"record.{key} stopped at {until}, with {MOST_ROWS} rows; the run continued")
    return warnings


def _short_rto_max(answer: "Answer") -> list[str]:
    """The retransmission timer expires before an acknowledgement can arrive, so all is sent again."""
    scenario, network = answer.scenario, answer.network
    limit_ps = scenario.hosts.rto_max or NEVER
    sending = 8 * 10**12 * scenario.mtu / network.rate_bps
    # A path crosses each link once at most. The exact round trips are computed only where they may matter.
    if float((network.delay_ps + sending).sum()) <= limit_ps:
        return []
    round_trips = np.array([_round_trip(network, scenario.mtu, *path) for path in _paths(scenario)])
    late = (round_trips > limit_ps) & _of_algorithms(scenario, "hosts.rto_max")
    if not late.any():
        return []
    flow = int(np.argmax(np.where(late, round_trips, 0)))
    limit, took = TIME.text(limit_ps), TIME.text(int(round_trips[flow]))
    return [
        f"hosts.rto_max = {limit} is over before an ack can come, {took} after its packet on the empty path "
        f"of flow {flow}: {late.sum()} of {len(late)} flows send again what is not lost; write more than "
        f"{took}"
    ]


def _of_algorithms(scenario: "Scenario", key: str) -> "Flags":
    """The flows on whose algorithm the key acts."""
    return np.array([key in used.supported_keys for used in scenario.flows.ccs])[scenario.flows.cc]


def _paths(scenario: "Scenario") -> list[tuple[list[int], list[int]]]:
    """The links of each flow's path, forward and back."""
    from shallows import _core
    from shallows.worlds.packet import request

    return _core.paths(request(scenario))


def _round_trip(network: "Network", mtu: int, forward: list[int], back: list[int]) -> int:
    """Picoseconds of a full frame and its acknowledgement on an empty path."""

    def crossed(links: list[int], frame: int) -> int:
        return int((network.delay_ps[links] + np.uint64(8 * 10**12 * frame) // network.rate_bps[links]).sum())

    return crossed(forward, mtu) + crossed(back, ACK_BYTES)


def _spurious_timeouts(answer: "Answer") -> list[str]:
    """More timeouts than lost packets: queueing was taken for loss."""
    hosts, flows = answer.scenario.hosts, answer.flow_columns
    timeouts = int(flows["timeouts"][_of_algorithms(answer.scenario, "hosts.rto_min")].sum())
    lost = sum(int(answer.port_columns[of].sum()) for of in ("dropped", "lost", "trimmed"))
    lost += int(answer.answer["ports"]["dropped_in_warmup"].sum())
    if timeouts <= lost or _short_rto_max(answer) or len(answer.answer["deadlock"]["links"]):
        return []
    longest = _about(1e6 * np.nanmax(flows["srtt_max_us"], initial=0.0))
    least, first = (TIME.text(time or 0) for time in (hosts.rto_min, hosts.rto_initial))
    return [
        f"{timeouts} timeouts, and {lost} packets were lost: the others only waited, in smoothed round trips "
        f"of up to {longest}, while hosts.rto_min = {least} and hosts.rto_initial = {first}; raise them to "
        'twice that, or write hosts.rto = "internet"'
    ]


def _many_losses(answer: "Answer") -> list[str]:
    """So many losses that the goodput is that of the loss recovery, not of the algorithm.

    An algorithm whose packets are trimmed expects to send packets again.
    """
    payload, flows = answer.scenario.frame.payload, answer.scenario.flows
    lost = ~np.array([used.trims for used in flows.ccs])[flows.cc]
    again = int(answer.flow_columns["retransmits"][lost].sum())
    first = float(answer.answer["flows"]["delivered_bytes"][lost].sum()) / payload
    share = again / (again + first) if again else 0.0
    if again >= RESENT_PACKETS and share >= RESENT_SHARE:
        return [f"{share:.0%} of the data packets were sent again: this run measures the repair of losses"]
    return _more_drops_than_theory(answer)


def _more_drops_than_theory(answer: "Answer") -> list[str]:
    """Drops of flows without an end beyond those that halving windows w can cause, 3 of w^2 packets.

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


def _idle_links(answer: "Answer") -> list[str]:
    """Links left idle by flows that are marked too early for the path, or that still grow."""
    scenario, flows = answer.scenario, answer.flow_columns
    marked = np.array([cc.least_threshold is not None for cc in scenario.flows.ccs])[scenario.flows.cc]
    steady = np.array([table.kind == "long-lived" and not table.off for table in scenario.traffic])
    began = flows["start_us"] * 1e6 <= answer.warmup_ps
    its = np.flatnonzero(marked & steady[flows["traffic"]] & began)
    if not answer.measured_ps or not len(its) or not answer.network.is_nic.any() or scenario.faults:
        return []  # a link that fails or slows down is idle for another reason
    paths, used = _paths(scenario), answer.port_columns["utilization"]
    by_link: dict[int, list[int]] = {}
    for flow in its:
        busiest = max(paths[flow][0], key=lambda link: float(used[link]))
        if used[busiest] < FULL:
            by_link.setdefault(busiest, []).append(int(flow))
    return [warning for link, its in by_link.items() for warning in _idle_link(answer, link, its, paths)]


def _idle_link(answer: "Answer", link: int, flows: list[int], paths: Any) -> list[str]:
    """The warning for the busiest link of some flows, by their round trips over empty queues."""
    network, mtu = answer.network, answer.scenario.mtu
    longest = max(_round_trip(network, mtu, *paths[flow]) for flow in flows)
    in_flight = int(network.rate_bps[link]) * longest // (8 * 10**12)  # the bandwidth-delay product in bytes
    used = float(answer.port_columns["utilization"][link])
    where = f"{network.port_names[link]} was used to {used:.0%} by flows without an end"
    algorithm = answer.scenario.flows.ccs[int(answer.scenario.flows.cc[flows[0]])]
    part, source = algorithm.least_threshold or (1, "")
    threshold, least = _step(answer.scenario, link), in_flight // part
    if threshold is not None and threshold < least:
        is_, should = SIZE.text(threshold, mtu), SIZE.text(least - least % mtu, mtu)
        return [
            f"{where}: network.marking.threshold = {is_} is below 1/{part} of the bandwidth-delay product of "
            f"a round trip of {_about(longest)}, {should}: window cuts empty its queue ({source})"
        ]
    missing, measured = (1 - used) * in_flight / mtu / len(flows), int(answer.measured_ps) // longest
    if missing <= measured:
        return []
    return [
        f"{where}: they still grow, by a packet a round trip, and lack {missing:.0f} packets each; "
        f"{measured} round trips were measured"
    ]


def _step(scenario: "Scenario", link: int) -> int | None:
    """The queue length in bytes above which the port of a link marks every packet, if it has one."""
    from shallows.worlds.packet import request

    asked = request(scenario)
    number = int(asked["links"]["marking"][link])
    marking = asked["markings"][number - 1] if number else None
    return int(marking["parameters"]["threshold"]) if marking and marking["kind"] == "step" else None


def _about(time_ps: float) -> str:
    """A time in three digits."""
    return TIME.text(int(float(f"{time_ps:.3g}")))


def _slow_links(answer: "Answer") -> list[str]:
    """Links that a fault slowed down: a full one looks nearly idle in the statistics."""
    slower = _slowed_down(answer)
    if not slower:
        return []
    link, rate = next(iter(slower.items()))
    own = RATE.text(int(answer.network.rate_bps[link]))
    others = f" and {len(slower) - 1} more" if len(slower) > 1 else ""
    return [
        f"{answer.network.port_names[link]}{others} slowed down, to {RATE.text(rate)} of {own}: utilization "
        "and backlog refer to a link's own rate"
    ]


def _slowed_down(answer: "Answer") -> dict[int, int]:
    """The slowest rate in bit/s of each link that was slower for a time."""
    slower: dict[int, int] = {}
    for fault in answer.scenario.faults:
        if fault.kind != "rate" or fault.at >= answer.ended_ps:
            continue
        for link in fault.links(answer.network):
            rate = min(int(fault.number), slower.get(link, NEVER))
            if rate < answer.network.rate_bps[link]:
                slower[link] = rate
    return slower


def _unequal_shares(answer: "Answer") -> list[str]:
    """Equal flows of one table, without an end, that share a link unequally."""
    flows = answer.flow_columns
    warnings: list[str] = []
    for number, table in enumerate(answer.scenario.traffic):
        used = table.cc or answer.scenario.cc
        its = (flows["traffic"] == number) & np.isnan(flows["bytes"])
        if table.kind != "long-lived" or table.stop != NEVER or used.transport != "tcp" or its.sum() < 2:
            continue
        fairness = jain(flows["goodput_gbps"][its])
        if fairness is None or fairness >= UNFAIR or not _long_enough(answer) or not _equal(answer, its):
            continue
        warnings.append(
            f"flows of traffic[{number}] are equal and share unequally, Jain {fairness:.2f}: synchronised "
            "packets can cause that; compare other seeds, or a jitter of at least a round trip"
        )
    return warnings


def _base_with_queue(answer: "Answer") -> list[str]:
    """Flows whose base RTT exceeds the round trip of their empty path: they joined a queue that stayed."""
    probes, names = answer.answer["probes"], list(answer.answer["probe_names"])
    if "base_rtt_us" not in names or not answer.network.is_nic.any() or answer.scenario.faults:
        return []
    its = probes["name"] == names.index("base_rtt_us")
    flows: list[int] = probes["flow"][its].tolist()
    last: dict[int, float] = dict(zip(flows, probes["value"][its].tolist(), strict=True))
    network, mtu = answer.network, answer.scenario.mtu
    paths = _paths(answer.scenario)
    late: dict[int, tuple[float, float]] = {}
    for flow, base_us in last.items():
        used: Algorithm = answer.scenario.flows.ccs[int(answer.scenario.flows.cc[flow])]
        if used.name not in MINIMUM_RTT:
            continue
        path = paths[flow]
        empty_us = _round_trip(network, mtu, *path) / 1e6
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
    columns: tuple[NDArray[Any], ...] = (network.rate_bps, network.delay_ps)
    equal = all(np.ptp(column[edges]) == 0 for column in columns)
    senders, receivers = (np.count_nonzero(np.bincount(hosts)) for hosts in (src, dst))
    return equal and senders == len(src) and receivers in (1, len(dst))


def _long_enough(answer: "Answer") -> bool:
    longest = int(answer.network.delay_ps.max()) if len(answer.network.delay_ps) else 0
    return answer.measured_ps > ROUND_TRIPS * 6 * longest
