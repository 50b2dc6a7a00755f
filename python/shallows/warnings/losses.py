"""Warnings about losses, retransmissions and timeouts."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from shallows.results import recovery
from shallows.scenario.paths import about, of_algorithms, of_transport, paths_of, round_trip
from shallows.scenario.ports import paused
from shallows.traffic import Collective, Tasks, Training
from shallows.units import NEVER, TIME
from shallows.warnings import starved

if TYPE_CHECKING:
    from shallows.algorithms.algorithm import Algorithm
    from shallows.core.contract import F64, Flags
    from shallows.results.answer import Answer

RESENT_SHARE, RESENT_PACKETS = 0.2, 100
"""A run with more retransmissions, as a share of them and the delivered packets, measures loss recovery."""
RESENT_TIMES = 2
"""Retransmissions beyond so many times the losses repeat packets that were not lost."""
BUSY = 0.5
"""The link of a host is busy from this utilization on."""
FULL = 0.9
"""Flows without an end can wait for timeouts beside a link that is used to this share."""
MOST_TIME, SLOW_SHARE = 0.5, 0.01
"""Timeouts that are this share of the time of a job, or of this share of the flows, make a warning."""
JOBS = (Collective, Tasks, Training)
TIMES_THEORY = 4
"""Synchronised flows explain at most so many times the drops of theory."""


def short_rto_max(answer: "Answer") -> list[str]:
    """The retransmission timer expires before an acknowledgement can arrive, so all is sent again."""
    scenario, network = answer.scenario, answer.network
    limit_ps = scenario.hosts.rto_max
    sending = 8 * 10**12 * scenario.mtu / network.rate_bps
    # A path crosses each link once at most. The exact round trips are computed only where they may matter.
    if float((network.delay_ps + sending).sum()) <= limit_ps:
        return []
    round_trips = np.array([round_trip(network, scenario.mtu, *path) for path in paths_of(scenario)])
    late = (round_trips > limit_ps) & of_algorithms(scenario, "hosts.rto_max")
    late &= answer.flow_columns["timeouts"] > 0
    if not late.any():
        return []
    flow = int(np.argmax(np.where(late, round_trips, 0)))
    limit, took = TIME.text(limit_ps), f"{round_trips[flow] / 1e6:.9g}us"  # they may differ little
    return [
        f"hosts.rto_max = {limit} is over before an ack can come, {took} after its packet on the empty path "
        f"of flow {flow}: {late.sum()} of {len(late)} flows sent again what was not lost; write more than "
        f"{took}"
    ]


def _lost(answer: "Answer") -> int:
    """Packets that ports dropped or trimmed and links lost in the whole run, as flows count timeouts."""
    return sum(int(of.sum()) for of in answer.in_whole_run.values())


def spurious_timeouts(answer: "Answer") -> list[str]:
    """More timeouts than lost packets: queueing was taken for loss."""
    lost, credit = _lost(answer), of_transport(answer.scenario, "credit")
    timeouts = int(answer.flow_columns["timeouts"][~credit].sum())
    if timeouts <= lost or short_rto_max(answer) or len(answer.answer["deadlock"]["links"]):
        return []
    if starved.starved_by_priority(answer):  # a longer timeout would not give them a turn
        return []
    return [f"{timeouts} timeouts, and {lost} packets were lost: the others only waited, {_waits(answer)}"]


def _waits(answer: "Answer") -> str:
    """The longest wait beside the retransmission timeouts, and what to write."""
    hosts, (where, longest_us) = answer.scenario.hosts, _longest_wait(answer)
    least, first = (TIME.about(time) for time in (hosts.rto_min, hosts.rto_initial))
    where = f"in {where} of up to {about(1e6 * longest_us)}, while"
    if not of_algorithms(answer.scenario, "hosts.rto_min").any():
        return f"{where} hosts.rto_initial = {first}; raise it to twice that"
    return (
        f"{where} hosts.rto_min = {least} and hosts.rto_initial = {first}; raise them to twice that, or "
        'write hosts.rto = "internet"'
    )


def _longest_wait(answer: "Answer") -> tuple[str, float]:
    """What packets waited in, and at most how long (us): a port's queue if no flow smooths round trips."""
    smoothed_us = answer.flow_columns["srtt_max_us"]
    if np.isfinite(smoothed_us).any():
        return "smoothed round trips", float(np.nanmax(smoothed_us))
    queued_bits = 8.0 * answer.scenario.mtu * answer.port_columns["queue_max_pkt"]
    return "a queue", 1e6 * float((queued_bits / answer.network.rate_bps).max(initial=0.0))


def dropped_unmarked(answer: "Answer") -> list[str]:
    """Data that is dropped where ECN-capable data would be marked, of algorithms that expect no loss there.

    A TCP that reacts to losses expects it. Drops below a full queue come from the marking.
    """
    options = answer.scenario.network
    marking = answer.scenario.marking
    if marking is None or not marking.marks or not marking.drops:
        return []
    names = dict.fromkeys(used.label for used in answer.scenario.algorithms if _expects_no_drop(used))
    longest = answer.port_columns["queue_max_pkt"] * answer.scenario.mtu
    not_full = longest + answer.scenario.mtu <= answer.scenario.buffer
    dropped = int(answer.port_columns["dropped"][not_full].sum())
    if not names or not dropped or options.pfc or options.shared:
        return []
    return [
        f"{dropped} packets were dropped before the queue was full: data of {', '.join(names)} is not "
        "ECN-capable, and ports drop it where they mark other data; write network.marking.nodrop = true"
    ]


def _expects_no_drop(used: "Algorithm") -> bool:
    fills_queues = used.transport == "tcp" and "hosts.gap" in used.supported_keys
    return not used.needs_marking and not used.trims and not fills_queues


def many_losses(answer: "Answer") -> list[str]:
    """So many retransmissions or drops that the goodput is that of the repair, not of the algorithm."""
    its = _that_repair(answer)
    again = int(answer.flow_columns["retransmits"][its].sum())
    first = float(answer.answer["flows"]["delivered_bytes"][its].sum()) / answer.scenario.frame.payload
    sent = f"{again} packets were sent again beside {first:.0f} that were delivered"
    needless = _far_above_losses(answer, again, sent)
    if needless:
        return needless
    if again >= max(RESENT_PACKETS, RESENT_SHARE * (again + first)):
        trimmed = int(answer.in_whole_run["trimmed"].sum())
        if 2 * trimmed > again:
            return [
                f"{sent}, because ports trimmed {trimmed}, and links of their hosts were busy: this run "
                "measures the repair of losses; let hosts send to different receivers at a time"
            ]
        return [f"{sent}: this run measures the repair of losses"]
    return _more_drops_than_theory(answer) or _mostly_dropped(answer)


def _that_repair(answer: "Answer") -> "Flags":
    """The flows whose retransmissions count.

    Where packets are trimmed, a packet that is sent again costs nothing unless the link of its host is busy.
    """
    flows, nics = answer.flow_columns, answer.network.is_nic
    if 2 * int(answer.in_whole_run["trimmed"].sum()) <= int(flows["retransmits"].sum()):
        return np.ones(len(flows["retransmits"]), bool)
    busy = np.zeros(answer.network.hosts)  # stays 0 where nothing was measured
    np.fmax.at(busy, answer.network.link_from[nics], answer.port_columns["utilization"][nics])
    return busy[flows["src"].codes] >= BUSY


def _far_above_losses(answer: "Answer", again: int, sent: str) -> list[str]:
    """Retransmissions of packets that were not lost."""
    lost = _lost(answer)
    deadlock = len(answer.answer["deadlock"]["links"])
    if deadlock or again < RESENT_PACKETS + RESENT_TIMES * lost:
        return []
    said = f"{sent}, and {lost} were lost"
    if _several_paths(answer):
        return [f"{said}: packets took several paths, and hosts took reordered ones for lost"]
    if of_transport(answer.scenario, "roce").any():
        key = "pfc of its class" if answer.scenario.classes else "network.pfc"
        instead = "" if paused(answer.scenario) else f"; {key} = true prevents losses"
        return [f"{said}: receivers of RoCE discard what follows a loss{instead}"]
    if (timeouts := _of_lost_repairs(answer)) > 0:
        return [
            f"{said}: in {timeouts} timeouts a packet that was sent again was lost as well, and all that was "
            "on the way was sent once more; a larger network.buffer prevents the losses"
        ]
    return [f"{said}: the others only waited, {_waits(answer)}"]


def _of_lost_repairs(answer: "Answer") -> int:
    """The timeouts of a run in which no packet waited as long as the least timeout."""
    hosts = answer.scenario.hosts
    its = of_algorithms(answer.scenario, "hosts.rto_min").any()
    least_us = (hosts.rto_min if its else hosts.rto_initial) / 1e6
    waited = _longest_wait(answer)[1] >= least_us
    return 0 if waited else int(answer.flow_columns["timeouts"].sum())


def _several_paths(answer: "Answer") -> bool:
    """True if packets of a flow may take several paths: sprayed, or detours around faults."""
    network = answer.network
    has_cycle = len(network.link_from) // 2 >= network.nodes
    return has_cycle and not answer.one_way


def _mostly_dropped(answer: "Answer") -> list[str]:
    """Drops that are a large part of all packets, whether flows repair them or not."""
    ports = answer.answer["ports"]
    dropped = int(answer.in_whole_run["dropped"].sum())
    arrived = float(answer.answer["flows"]["delivered_bytes"].sum()) / answer.scenario.frame.payload
    enough = max(RESENT_PACKETS, RESENT_SHARE * (dropped + arrived))
    if dropped < enough or of_transport(answer.scenario, "credit").any():
        return []
    marks = answer.scenario.network.marking != "none" and not ports["marked"].any()
    why = ": ports that mark drop packets that are not ECN-capable" if marks else ""
    return [f"{dropped} packets were dropped beside {arrived:.0f} that were delivered{why}"]


def dropped_in_spite_of_pauses(answer: "Answer") -> list[str]:
    """Drops in a network whose pauses should prevent them, because the memory behind a pause is short."""
    scenario = answer.scenario
    dropped = int(answer.in_whole_run["dropped"].sum())
    pauses = {queue.key: queue.pauses for queue in paused(scenario) if queue.pauses}
    watched = next(((key, one.watchdog) for key, one in pauses.items() if one.watchdog), None)
    if dropped and watched and not scenario.classes:
        key, time = watched
        return [
            f"{dropped} packets were dropped, in pauses longer than {key}.pfc.watchdog = {TIME.text(time)}"
        ]
    short = [key for key, one in pauses.items() if one.headroom != NEVER]
    given = [] if scenario.classes else short
    if not dropped or not given:
        return []
    return [f"{dropped} packets were dropped in spite of pauses: {given[0]}.pfc.headroom is short"]


def long_timeouts(answer: "Answer") -> list[str]:
    """Collectives, tasks and flows that spend most of their time in timeouts.

    None where most timeouts follow no loss: those of packets that only wait delay nobody. None either where a
    broken link ended the run: another sentence names it.
    """
    if any(recovery.DEAD_PATH.search(problem) for problem in answer.answer["books"]["problems"]):
        return []
    waited_us: F64 = answer.flow_columns["timeout_wait_us"]
    lost = _lost(answer)
    if not waited_us.any() or answer.flow_columns["timeouts"].sum() > 2 * lost:
        return []
    hosts, flow = answer.scenario.hosts, int(np.argmax(waited_us))
    key = "rto_min" if of_algorithms(answer.scenario, "hosts.rto_min")[flow] else "rto_initial"
    timeout = f"hosts.{key} = {TIME.about(getattr(hosts, key) or 0)}"
    said = [
        f"{answer.scenario.flows.names[number]}: timeouts of {timeout} or more are at least {share:.0%} of "
        f"its time, {count} in all: prevent the losses, or write a shorter one"
        for number, count, share in _jobs_in_timeouts(answer, waited_us)
    ]
    if said:
        return said
    counted, columns = answer.counted, answer.flow_columns
    idle = float(answer.port_columns["utilization"].max(initial=0.0)) < FULL  # else their shares are judged
    endless = np.isnan(columns["bytes"]) & (columns["start_us"] * 1e6 < answer.ended_ps) & idle
    fct_us = np.where(endless, answer.ended_ps / 1e6 - columns["start_us"], counted.least["fct_us"])
    of = counted.done | counted.unfinished | endless
    slow = of & (waited_us >= MOST_TIME * fct_us) & (waited_us > 0)
    if slow.sum() < max(1, SLOW_SHARE * of.sum()):
        return []
    return [
        f"{slow.sum()} of {of.sum()} flows spent most of their time in timeouts of {timeout} or more: "
        "prevent the losses, or write a shorter one"
    ]


def _jobs_in_timeouts(answer: "Answer", waited_us: "F64") -> "Iterator[tuple[int, int, float]]":
    """Collectives and tasks of which one flow alone waited for most of the time: table, timeouts, share."""
    columns = answer.flow_columns
    ends_us = columns["start_us"] + answer.counted.least["fct_us"]
    for number, table in enumerate(answer.scenario.traffic):
        its = columns["traffic"] == number
        if isinstance(table, JOBS) and np.isfinite(columns["start_us"][its]).any():
            took_us = float(np.nanmax(ends_us[its]) - np.nanmin(columns["start_us"][its]))
            share = float(waited_us[its].max()) / took_us if took_us else 0.0
            if share >= MOST_TIME:
                yield number, int(columns["timeouts"][its].sum()), min(share, 1.0)


def _more_drops_than_theory(answer: "Answer") -> list[str]:
    """Drops of flows without an end beyond those that halving windows w can cause, 3 of w^2 packets.

    A packet more a round trip from 2 w / 3 to 4 w / 3, then one or two lost: a sawtooth is 2 w^2 / 3 packets
    (Mathis et al., CCR 27(3), 1997, with one lost). A flow that starts while it is measured overshoots too.
    In a short run each flow may lose a window at once: drops of a full queue come in bursts.
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
    explained = TIMES_THEORY * theory + float(np.nansum(window))
    if dropped < RESENT_PACKETS or dropped <= explained or np.isnan(window).all():
        return []
    return [
        f"{dropped} packets were dropped: flows that halve their windows at a loss would have {theory:.0f} "
        f"dropped with windows of {np.nanmean(window):.0f} packets, 3 of w^2 at most"
    ]
