"""Checks across several tables of a scenario."""

from functools import partial
from typing import TYPE_CHECKING

from shallows import faults, marking
from shallows.errors import ScenarioError, collect
from shallows.literal import is_list
from shallows.scenario import classes, sizes
from shallows.supported_keys import algorithms, refuse_unused_keys
from shallows.units import ACK_BYTES, MOST_ROWS, NEVER, SIZE, TIME

if TYPE_CHECKING:
    from shallows.scenario.model import Scenario

_PROBE_NAMES = 6  # the most probes of an algorithm besides window, rate and RTT


def check(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for the tables that do not fit together, with all mistakes."""
    sizes.check_links(scenario)  # first: the others divide by the rates of links
    if not len(scenario.flows):
        expected = "one message or more: computations alone send nothing"
        raise ScenarioError("traffic", "computations only", expected)
    checks = (
        _check_buffers,
        refuse_unused_keys,
        _check_times,
        sizes.check_flows,
        _check_marking,
        _check_priorities,
        classes.check,
        _check_credits,
        _check_trimming,
        _check_pacer,
        _check_receivers,
        faults.check,
        _check_recorded_flows,
        _check_rows,
    )
    collect(partial(one, scenario) for one in checks)


def _check_buffers(scenario: "Scenario") -> None:
    shared = scenario.network_options.shared
    holds = {"network.buffer": scenario.network_options.buffer}
    if shared:
        holds = {"network.shared.size": int(min(shared.size, shared.size * shared.alpha))}
    for key, size in holds.items():
        if size < scenario.mtu:
            expected = f"at least one full frame, {SIZE.text(scenario.mtu)}: a smaller port passes nothing"
            raise ScenarioError(key, SIZE.text(size), expected)


def _check_times(scenario: "Scenario") -> None:
    if scenario.warmup >= scenario.duration:
        expected = f"less than the duration, {TIME.text(scenario.duration)}"
        raise ScenarioError("warmup", TIME.text(scenario.warmup), expected)
    _check_cooldown(scenario)
    flows = scenario.flows
    if scenario.duration == NEVER and not flows.bytes.any():
        raise ScenarioError("duration", "until-done", 'a time such as "1s", because no flow has an end')
    for i in range(len(scenario.traffic)):
        first = flows.first_start_ps(i)
        if first >= scenario.duration:
            expected = f"a start before the end of the run at {TIME.text(scenario.duration)}"
            raise ScenarioError(f"traffic[{i}]", f"first start at {TIME.text(first)}", expected)


def _check_cooldown(scenario: "Scenario") -> None:
    last = scenario.last_arrival_ps
    if not scenario.cooldown:
        return
    if last is None:
        expected = "0s: it acts on traffic whose arrivals do not wait, such as poisson, and there is none"
        raise ScenarioError("cooldown", TIME.text(scenario.cooldown), expected)
    if scenario.warmup + scenario.cooldown >= last:
        expected = (
            f"less than {TIME.text(max(last - scenario.warmup, 0))}, from the warm-up to the last arrival"
        )
        raise ScenarioError("cooldown", TIME.text(scenario.cooldown), expected)


def _check_marking(scenario: "Scenario") -> None:
    if scenario.classes:
        return
    for used in scenario.algorithms:
        marking.check_feedback(used, scenario.network_options.marking, "network.marking")
    if scenario.network_options.marking == "none":
        return
    for used in scenario.algorithms:
        wanted = used.congestion_point
        if wanted and marking.tells(wanted) != scenario.network_options.marking.tells:
            expected = f"{marking.tells(wanted)}, which {used.label} needs: {wanted}"
            raise ScenarioError("network.marking.kind", scenario.network_options.marking.kind, expected)
    _check_ramp(scenario)
    largest, trimming = scenario.marking_begins, scenario.trimming
    holds = trimming.queue * scenario.mtu if trimming else scenario.network_options.buffer
    if largest >= holds:
        key = "network.trimming.queue" if trimming else "network.buffer"
        buffer, threshold = (SIZE.text(size, scenario.mtu) for size in (holds, largest))
        expected = f"more than the largest marking threshold, {threshold}, or packets are dropped unmarked"
        without = "; without this key it is twice that" if trimming else ""
        raise ScenarioError(key, buffer, expected + without)


def _check_ramp(scenario: "Scenario") -> None:
    """Refuse a ramp of RED that ends before it begins, at the rate of some port."""
    chosen = scenario.network_options.marking
    if chosen == "none" or chosen.kind != "red":
        return
    points, _ = chosen.at_rates(scenario.network.rate_bps[~scenario.network.is_nic])
    for point in points:
        kmin, kmax = (int(point["parameters"][key]) for key in ("kmin", "kmax"))
        if kmin > kmax:
            begins, ends = (SIZE.text(size, scenario.mtu) for size in (kmin, kmax))
            raise ScenarioError("network.marking.kmin", begins, f"at most kmax, {ends}")


def _check_priorities(scenario: "Scenario") -> None:
    if len({table.priority for table in scenario.traffic}) < 2:
        return
    if scenario.credits:
        expected = "0: an algorithm with credits uses the classes of the ports itself"
        raise ScenarioError("traffic.priority", 1, expected)
    for key, value in (("pfc", scenario.network_options.pfc), ("shared", scenario.network_options.shared)):
        if value:
            expected = "no such table, because it cannot be combined with traffic.priority = 1"
            raise ScenarioError(f"network.{key}", None, expected)
    if scenario.hosts.nic != "fair":
        raise ScenarioError("hosts.nic", scenario.hosts.nic, '"fair", or priorities end at the hosts')


def _check_credits(scenario: "Scenario") -> None:
    for used in scenario.algorithms:
        if used.credits and used.credits != scenario.credits:
            raise ScenarioError("cc", used.label, "the same credit, burst and queue in all algorithms")


def _check_trimming(scenario: "Scenario") -> None:
    if not scenario.trimming:
        return
    if scenario.trimming.headers < ACK_BYTES:
        size = SIZE.text(scenario.trimming.headers)
        raise ScenarioError("network.trimming.headers", size, f"at least {SIZE.text(ACK_BYTES)}, an ack")
    if scenario.mtu <= ACK_BYTES:
        expected = f"more than {SIZE.text(ACK_BYTES)}, the length of a trimmed frame"
        raise ScenarioError("network.mtu", SIZE.text(scenario.mtu), expected)
    credits = next((used.label for used in scenario.algorithms if used.credits), None)
    clashes = {
        "network.shared": (scenario.network_options.shared, None, "no shared memory"),
        "network.pfc": (scenario.network_options.pfc, None, "no pauses"),
        "cc": (credits, credits, "no algorithm with credits"),
        "traffic.priority": (len({table.priority for table in scenario.traffic}) > 1, 1, "one priority"),
    }
    for key, (clash, value, expected) in clashes.items():
        if clash:
            why = "ports that trim packets have a class of data and one of headers (trimming)"
            raise ScenarioError(key, value, f"{expected}: {why}")


def _check_pacer(scenario: "Scenario") -> None:
    if not scenario.pacer:
        return
    for where, used in algorithms(scenario):
        if used.pacer and used.pacer != scenario.pacer:
            expected = f"the same {', '.join(scenario.pacer)} for all flows that share a host's pacer"
            raise ScenarioError(where, used.label, expected)
    credits = next((used.label for used in scenario.algorithms if used.credits), None)
    for key, clash, value in (("network.pfc", scenario.network_options.pfc, None), ("cc", credits, credits)):
        if clash:
            expected = "no pauses and no credits with cc.per_server: a NIC has classes for only one of these"
            raise ScenarioError(key, value, expected)


def _check_receivers(scenario: "Scenario") -> None:
    for where, used in algorithms(scenario):
        if not used.receiver:
            continue
        if scenario.hosts.timestamps:
            own = "which has a timestamp error of its own, resolution"
            expected = f"no hosts.timestamps with {where}.receiver, {own}"
            raise ScenarioError("hosts.timestamps", scenario.hosts.timestamps.kind, expected)
        if used.receiver.parameters.get("mark") and not used.needs_marking:
            expected = (
                f"false: {used.label} does not react to marks, only to the window that it is advertised"
            )
            raise ScenarioError(f"{where}.receiver.mark", True, expected)


def _check_recorded_flows(scenario: "Scenario") -> None:
    wanted = scenario.record.flows
    for flow in wanted if is_list(wanted) else ():
        if flow >= len(scenario.flows):
            expected = f"numbers from 0 to {len(scenario.flows) - 1}: there are {len(scenario.flows)} flows"
            raise ScenarioError("record.flows", flow, expected)


def _check_rows(scenario: "Scenario") -> None:
    ends = scenario.duration if scenario.duration != NEVER else int(scenario.flows.start_ps.max()) + 1
    record, ports = scenario.record, len(scenario.network.recorded_ports)
    probes = len(scenario.probed_flows) * _PROBE_NAMES
    wanted = {
        "queues": (record.queues, ports, "name fewer record.ports"),
        "probes": (record.probes, probes, "probe fewer record.flows"),
    }
    for key, (interval, series, fewer) in wanted.items():
        rows = ends // interval * series if interval else 0
        if rows > MOST_ROWS:
            enough = TIME.text(-(-ends * series // MOST_ROWS))
            expected = f"at most {MOST_ROWS} rows, not {rows}: raise it to {enough}, or {fewer}"
            raise ScenarioError(f"record.{key}", TIME.text(interval), expected)
