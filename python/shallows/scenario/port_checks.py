"""Checks of the queues of ports, and of the names by which tables refer to classes and pools."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shallows.algorithms import marking
from shallows.errors import ScenarioError, collect
from shallows.scenario.port_request import RESERVED
from shallows.scenario.ports import PortGroups, Queue, paused
from shallows.scenario.queues import Trimming
from shallows.scenario.supported_keys import algorithms
from shallows.units import ACK_BYTES, RATE, SIZE, TIME, did_you_mean

if TYPE_CHECKING:
    from shallows.algorithms.marking import Marking
    from shallows.scenario import Scenario
    from shallows.scenario.given import Given

MOST = 8
"""The most traffic classes: a frame has three bits of priority (IEEE 802.1Q)."""


def check_names(scenario: "Given") -> None:
    """Raise `ScenarioError` for names that are used twice or that no table has."""
    for key, tables in (("classes", scenario.classes), ("pools", scenario.pools)):
        found = [one.name for one in tables]
        for at, name in enumerate(found):
            if name in RESERVED:
                raise ScenarioError(f"{key}[{at}].name", name, "another name: every port has such a queue")
            if name in found[:at]:
                raise ScenarioError(
                    f"{key}[{at}].name", name, f"a name of its own: {key}[{found.index(name)}] has it"
                )
    if len(scenario.classes) > MOST:
        raise ScenarioError("classes", len(scenario.classes), f"at most {MOST} tables")
    classes, pools = [one.name for one in scenario.classes], [one.name for one in scenario.pools]
    for i, table in enumerate(scenario.traffic):
        _check_known(f"traffic[{i}].class", table.traffic_class, "classes", classes)
    for i, ports in enumerate(scenario.ports):
        _check_known(f"ports[{i}].class", ports.traffic_class, "classes", classes)
    for i, one in enumerate(scenario.classes):
        _check_known(f"classes[{i}].pool", one.pool, "pools", pools)
    used = {one.pool for one in scenario.classes}
    for i, name in enumerate(pools):
        if name not in used:
            raise ScenarioError(f"pools[{i}].name", name, "no such table: no class has this pool")


def _check_known(key: str, name: str | None, tables: str, known: list[str]) -> None:
    if name and name not in known:
        has = (
            f"one of {', '.join(known)}{did_you_mean(name, known)}"
            if known
            else f"no such key: there is no table [[{tables}]] of this name"
        )
        raise ScenarioError(key, name, has)


def check(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for queues that do not fit to the rest of a scenario, with all mistakes."""
    checks = [partial(_check_queue, scenario, queue) for queue in _distinct(scenario.queues)]
    collect(
        [
            partial(_check_tables, scenario),
            *checks,
            partial(_check_port_tables, scenario),
            partial(_check_feedback_of_ports, scenario),
            partial(_check_headers, scenario),
            partial(_check_credits, scenario),
            partial(_check_pacer, scenario),
        ]
    )


def _distinct(found: list[Queue]) -> list[Queue]:
    """One queue of each key: the two of `traffic.priority` have the same."""
    by_key: dict[str, Queue] = {}
    for queue in found:
        first = by_key.get(queue.key)
        both = [*first.algorithms, *queue.algorithms] if first else queue.algorithms
        by_key[queue.key] = replace(queue, algorithms=both)
    return list(by_key.values())


def _check_tables(scenario: "Scenario") -> None:
    """Refuse what two tables would describe twice."""
    if scenario.classes and scenario.network.shared:
        raise ScenarioError(
            "network.shared", None, "no such table with classes: describe memory as [[pools]]"
        )
    for i, table in enumerate(scenario.traffic):
        if table.priority and scenario.classes:
            raise ScenarioError(
                f"traffic[{i}].priority", 1, "0: the order of the classes is that of priority"
            )
    if len({table.priority for table in scenario.traffic}) > 1 and scenario.hosts.nic != "fair":
        raise ScenarioError("hosts.nic", scenario.hosts.nic, '"fair", or priorities end at the hosts')


def _check_queue(scenario: "Scenario", queue: Queue) -> None:
    mtu, is_class = scenario.mtu, bool(scenario.classes)
    if queue.buffer < mtu:
        what = "queue" if is_class else "port"
        expected = f"at least one full frame, {SIZE.text(mtu)}: a smaller {what} passes nothing"
        raise ScenarioError(f"{queue.key}.buffer", SIZE.text(queue.buffer), expected)
    if queue.memory:
        holds = int(min(queue.memory.size, queue.memory.size * queue.memory.alpha))
        if holds < mtu:
            expected = f"at least one full frame, {SIZE.text(mtu)}: a smaller port passes nothing"
            raise ScenarioError(f"{queue.memory_key}.size", SIZE.text(holds), expected)
    if queue.trimming:
        _check_trimming(scenario, queue, queue.trimming)
    _check_policer(scenario, queue)
    _check_marking(scenario, queue)


def _check_trimming(scenario: "Scenario", queue: Queue, trimming: Trimming) -> None:
    for key, value in (("shared", queue.memory), ("pfc", queue.pauses)):
        if value and not scenario.classes:
            what = "shared memory" if key == "shared" else "pauses"
            expected = (
                f"no {what}: a queue with {what} is never full and trims nothing; "
                "write [[classes]], of which one trims and another one does not"
            )
            raise ScenarioError(f"network.{key}", None, expected)
    if trimming.headers < ACK_BYTES:
        expected = f"at least {SIZE.text(ACK_BYTES)}, an ack"
        raise ScenarioError(f"{queue.key}.trimming.headers", SIZE.text(trimming.headers), expected)
    if scenario.mtu <= ACK_BYTES:
        expected = f"more than {SIZE.text(ACK_BYTES)}, the length of a trimmed frame"
        raise ScenarioError("network.mtu", SIZE.text(scenario.mtu), expected)
    if trimming.holds(scenario.mtu) < scenario.mtu:
        expected = f"at least one full frame, {SIZE.text(scenario.mtu)}: a smaller queue passes nothing"
        raise ScenarioError(f"{queue.key}.trimming.threshold", SIZE.text(trimming.threshold or 0), expected)


def _check_policer(scenario: "Scenario", queue: Queue) -> None:
    policer, mtu = queue.own.policer, scenario.mtu
    if not policer:
        return
    if policer.burst < mtu:
        expected = f"at least one full frame, {SIZE.text(mtu)}: none would pass a smaller one"
        raise ScenarioError(f"{queue.key}.policer.burst", SIZE.text(policer.burst), expected)
    if queue.pauses:
        expected = "no policer where switches pause links (pfc), which drop nothing"
        raise ScenarioError(f"{queue.key}.policer", None, expected)
    if queue.marks and queue.marks.has_two_queues:
        expected = f"no policer, or another kind than {queue.marks.kind}, which has two queues of its own"
        raise ScenarioError(f"{queue.key}.policer", None, expected)


def _check_marking(scenario: "Scenario", queue: Queue) -> None:
    key = f"{queue.key}.marking"
    for used in queue.algorithms:
        # Ultra Ethernet lets some ports mark nothing, those to hosts.
        if not (queue.key.startswith("ports[") and used.trims):
            marking.check_feedback(used, queue.marking, key)
    if queue.marks is None:
        return
    for used in queue.algorithms:
        wanted = used.congestion_point
        if wanted and marking.tells(wanted) != queue.marks.tells:
            expected = f"{marking.tells(wanted)}, which {used.label} needs: {wanted}"
            raise ScenarioError(f"{key}.kind", queue.marks.kind, expected)
    _check_ramp(scenario, queue.marks, key)
    if queue.marks.has_two_queues:
        _check_two_queues(scenario, queue, key)
    begins, trimming = queue.marking_begins(scenario.graph), queue.trimming
    holds = trimming.holds(scenario.mtu) if trimming else queue.buffer
    if begins >= holds:
        which = ("threshold" if trimming.threshold else "queue") if trimming else ""
        limit = f"{queue.key}.trimming.{which}" if trimming else f"{queue.key}.buffer"
        buffer, threshold = (SIZE.text(size, scenario.mtu) for size in (holds, begins))
        expected = f"more than the largest marking threshold, {threshold}, or packets are dropped unmarked"
        without = "; without this key it is twice that" if trimming else ""
        raise ScenarioError(limit, buffer, expected + without)


def _check_ramp(scenario: "Scenario", chosen: "Marking", key: str) -> None:
    """Refuse a ramp that ends before it begins, at the rate of some port."""
    if len(chosen.thresholds) < 2:
        return
    first, last = chosen.thresholds
    points, _ = chosen.at_rates(scenario.graph.rate_bps[~scenario.graph.is_nic])
    for point in points:
        low, high = (int(point["parameters"][name]) for name in (first, last))
        if low > high:
            begins, ends = (SIZE.text(size, scenario.mtu) for size in (low, high))
            raise ScenarioError(f"{key}.{first}", begins, f"at most {last}, {ends}")


def _check_two_queues(scenario: "Scenario", queue: Queue, key: str) -> None:
    """Refuse what would share, pause, trim or order the packets of a port that has two queues of its own."""
    kind = queue.marks.kind if queue.marks else ""
    why = f"marking by {kind} has two queues of its own"
    instead = f'no such key, or another kind than "{kind}" for {key}: {why}'
    if scenario.classes:
        raise ScenarioError(f"{key}.kind", kind, f"another kind with [[classes]]: {why}")
    for i, table in enumerate(scenario.traffic):
        if table.priority:
            raise ScenarioError(f"traffic[{i}].priority", table.priority, instead)
    for name, value in (("shared", queue.memory), ("pfc", queue.pauses), ("trimming", queue.trimming)):
        if value:
            raise ScenarioError(f"network.{name}", None, instead)
    if scenario.credits:
        raise ScenarioError(f"{key}.kind", kind, f"another kind with credits, which have a queue: {why}")
    _check_target(scenario, queue, key)


def _check_target(scenario: "Scenario", queue: Queue, key: str) -> None:
    """Refuse a target delay in which the slowest port sends no frame."""
    target = queue.marks.parameters["target"] if queue.marks else None
    slowest = int(scenario.graph.rate_bps[~scenario.graph.is_nic].min())
    frame_ps = scenario.mtu * 8 * 10**12 // slowest
    if isinstance(target, float) and target * 1e12 < frame_ps:
        expected = f"at least {TIME.text(frame_ps)}, the time of a frame at {RATE.text(slowest)}"
        raise ScenarioError(f"{key}.target", TIME.text(round(target * 1e12)), expected)


def _check_port_tables(scenario: "Scenario") -> None:
    groups = PortGroups.of(scenario, scenario.graph)  # first: names without a port
    for i, table in enumerate(scenario.ports):
        key = f"ports[{i}]"
        if np.all(scenario.graph.is_nic[groups.matched[i]]):
            expected = "ports of switches: those of hosts hold what their flows give them"
            raise ScenarioError(f"{key}.names", ", ".join(table.patterns), expected)
        concerned = [
            one for one in scenario.queues if one.name is None or table.traffic_class in (None, one.name)
        ]
        if table.trimming and not any(one.trimming for one in concerned):
            expected = "no such table: these queues trim nothing; write trimming = true for their class first"
            raise ScenarioError(f"{key}.trimming", None, expected)
        unlimited = next((one for one in concerned if one.memory or one.pauses or one.trimming), None)
        if table.buffer and unlimited:
            what = "trims" if unlimited.trimming else "shares a memory" if unlimited.memory else "is paused"
            whose = unlimited.name or "of all data"
            expected = f"no such key: the queue {whose} {what}, and has no limit of its own"
            raise ScenarioError(f"{key}.buffer", SIZE.text(table.buffer), expected)
        for one in concerned:
            _check_queue(scenario, replace(one.changed(table), key=key))


def _check_feedback_of_ports(scenario: "Scenario") -> None:
    """Rates and records are those of a port: all queues that tell them share one mechanism."""
    telling = {
        queue.key: queue.marks for queue in scenario.queues if queue.marks and queue.marks.tells != "marks"
    }
    first = next(iter(telling), None)
    for key, chosen in telling.items():
        if first and chosen != telling[first]:
            tells, kind = telling[first].tells, telling[first].kind
            why = f"a port has one mechanism that tells {tells}, for all its classes"
            expected = f'"{kind}", as {first}.marking: {why}'
            raise ScenarioError(f"{key}.marking.kind", chosen.kind, expected)


def _check_headers(scenario: "Scenario") -> None:
    """All classes that trim share the queue of headers."""
    trimming = {queue.key: queue.trimming for queue in scenario.queues if queue.trimming}
    first = next(iter(trimming), None)
    for key, table in trimming.items():
        for name in ("headers", "ratio"):
            value, other = getattr(table, name), getattr(trimming[first or key], name)
            if value != other:
                shown, expected = (SIZE.text(one) if name == "headers" else one for one in (value, other))
                said = f"{expected}, as {first}.trimming: all classes that trim share one queue of headers"
                raise ScenarioError(f"{key}.trimming.{name}", shown, said)


def _check_credits(scenario: "Scenario") -> None:
    for used in scenario.algorithms:
        if used.credits and used.credits != scenario.credits:
            raise ScenarioError(
                "cc", used.label, "the same credit, burst, queue and switch_jitter in all algorithms"
            )


def _check_pacer(scenario: "Scenario") -> None:
    if not scenario.pacer:
        return
    for where, used in algorithms(scenario.settled):
        if used.pacer and used.pacer != scenario.pacer:
            expected = f"the same {', '.join(scenario.pacer)} for all flows that share a host's pacer"
            raise ScenarioError(where, used.label, expected)
    for queue in paused(scenario):
        if any(used.pacer for used in queue.algorithms):
            expected = (
                "no pauses with cc.per_server: what waits in the pacer of a NIC cannot be paused by class"
            )
            raise ScenarioError(f"{queue.key}.pfc", None, expected)
