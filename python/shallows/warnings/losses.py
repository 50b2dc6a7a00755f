"""Warnings about losses, retransmissions and timeouts."""

from typing import TYPE_CHECKING

import numpy as np

from shallows.scenario.classes import lossless
from shallows.units import NEVER, TIME
from shallows.warnings.paths import about, of_algorithms, of_transport, paths_of, round_trip

if TYPE_CHECKING:
    from shallows.algorithm import Algorithm
    from shallows.results.answer import Answer

RESENT_SHARE, RESENT_PACKETS = 0.2, 100
"""A run with more retransmissions, as a share of them and the delivered packets, measures loss recovery."""
RESENT_TIMES = 2
"""Retransmissions beyond so many times the losses repeat packets that were not lost."""
TIMES_THEORY = 4
"""Synchronised flows explain at most so many times the drops of theory."""


def short_rto_max(answer: "Answer") -> list[str]:
    """The retransmission timer expires before an acknowledgement can arrive, so all is sent again."""
    scenario, network = answer.scenario, answer.network
    limit_ps = scenario.hosts.rto_max or NEVER
    sending = 8 * 10**12 * scenario.mtu / network.rate_bps
    # A path crosses each link once at most. The exact round trips are computed only where they may matter.
    if float((network.delay_ps + sending).sum()) <= limit_ps:
        return []
    round_trips = np.array([round_trip(network, scenario.mtu, *path) for path in paths_of(scenario)])
    late = (round_trips > limit_ps) & of_algorithms(scenario, "hosts.rto_max")
    if not late.any():
        return []
    flow = int(np.argmax(np.where(late, round_trips, 0)))
    limit, took = TIME.text(limit_ps), TIME.text(int(round_trips[flow]))
    return [
        f"hosts.rto_max = {limit} is over before an ack can come, {took} after its packet on the empty path "
        f"of flow {flow}: {late.sum()} of {len(late)} flows send again what is not lost; write more than "
        f"{took}"
    ]


def _lost(answer: "Answer") -> int | None:
    """Packets that ports dropped or trimmed and links lost in the whole run, as flows count timeouts.

    None if links may have lost some in the warm-up, which are not counted.
    """
    if any(fault.loses and fault.at < answer.warmup_ps for fault in answer.scenario.faults):
        return None
    ports = answer.answer["ports"]
    return sum(int(ports[of].sum()) for of in ("dropped", "dropped_in_warmup", "lost", "trimmed"))


def spurious_timeouts(answer: "Answer") -> list[str]:
    """More timeouts than lost packets: queueing was taken for loss."""
    lost, credit = _lost(answer), of_transport(answer, "credit")
    timeouts = int(answer.flow_columns["timeouts"][~credit].sum())
    if lost is None or timeouts <= lost or short_rto_max(answer) or len(answer.answer["deadlock"]["links"]):
        return []
    return [f"{timeouts} timeouts, and {lost} packets were lost: the others only waited, {_waits(answer)}"]


def _waits(answer: "Answer") -> str:
    """The longest smoothed round trip beside the retransmission timeouts, and what to write."""
    hosts = answer.scenario.hosts
    longest = about(1e6 * np.nanmax(answer.flow_columns["srtt_max_us"], initial=0.0))
    least, first = (TIME.text(time or 0) for time in (hosts.rto_min, hosts.rto_initial))
    where = f"in smoothed round trips of up to {longest}, while"
    if not of_algorithms(answer.scenario, "hosts.rto_min").any():
        return f"{where} hosts.rto_initial = {first}; raise it to twice that"
    return (
        f"{where} hosts.rto_min = {least} and hosts.rto_initial = {first}; raise them to twice that, or "
        'write hosts.rto = "internet"'
    )


def dropped_unmarked(answer: "Answer") -> list[str]:
    """Data that is dropped where ECN-capable data would be marked, of algorithms that expect no loss there.

    A TCP that reacts to losses expects it. Drops below a full queue come from the marking.
    """
    options = answer.scenario.network_options
    if isinstance(options.marking, str) or not options.marking.marks or not options.marking.drops:
        return []
    names = dict.fromkeys(used.label for used in answer.scenario.algorithms if _expects_no_drop(used))
    longest = answer.port_columns["queue_max_pkt"] * answer.scenario.mtu
    not_full = longest + answer.scenario.mtu <= options.buffer
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
    """So many retransmissions that the goodput is that of the loss recovery, not of the algorithm.

    An algorithm whose packets are trimmed expects to send packets again.
    """
    payload, flows = answer.scenario.frame.payload, answer.scenario.flows
    trims = bool(answer.scenario.trimming)
    its = ~np.array([trims and used.trims for used in flows.ccs])[flows.cc]
    again = int(answer.flow_columns["retransmits"][its].sum())
    first = float(answer.answer["flows"]["delivered_bytes"][its].sum()) / payload
    if again < RESENT_PACKETS:
        return _more_drops_than_theory(answer)
    sent = f"{again} packets were sent again beside {first:.0f} that were delivered"
    needless = _far_above_losses(answer, again, sent)
    if needless:
        return needless
    if again >= RESENT_SHARE * (again + first):
        return [f"{sent}: this run measures the repair of losses"]
    return _more_drops_than_theory(answer)


def _far_above_losses(answer: "Answer", again: int, sent: str) -> list[str]:
    """Retransmissions of packets that were not lost."""
    lost = _lost(answer)
    deadlock = len(answer.answer["deadlock"]["links"])
    if lost is None or deadlock or again < RESENT_PACKETS + RESENT_TIMES * lost:
        return []
    said = f"{sent}, and {lost} were lost"
    if answer.scenario.network_options.balancing != "flow" or answer.scenario.faults:
        return [f"{said}: packets took several paths, and hosts took reordered ones for lost"]
    if of_transport(answer, "roce").any():
        key = "pfc of its class" if answer.scenario.classes else "network.pfc"
        instead = "" if lossless(answer.scenario) else f"; {key} = true prevents losses"
        return [f"{said}: receivers of RoCE discard what follows a loss{instead}"]
    return [f"{said}: the others only waited, {_waits(answer)}"]


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
