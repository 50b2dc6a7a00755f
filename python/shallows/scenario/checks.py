"""Checks across several tables of a scenario."""

from functools import partial
from typing import TYPE_CHECKING

from shallows.base.toml import is_list
from shallows.errors import ScenarioError, collect
from shallows.scenario import faults, port_checks, sizes
from shallows.scenario.supported_keys import algorithms, refuse_unused_keys
from shallows.traffic import Driven
from shallows.units import MOST_ROWS, NEVER, TIME

if TYPE_CHECKING:
    from shallows.scenario.model import Scenario

_PROBE_NAMES = 6  # the most probes of an algorithm besides window, rate and RTT


def check(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for the tables that do not fit together, with all mistakes."""
    sizes.check_links(scenario)  # first: the others divide by the rates of links
    if not len(scenario.flows) and not any(isinstance(table, Driven) for table in scenario.traffic):
        expected = "one message or more: computations alone send nothing"
        raise ScenarioError("traffic", "computations only", expected)
    checks = (
        refuse_unused_keys,
        _check_times,
        sizes.check_flows,
        port_checks.check,
        _check_receivers,
        faults.check,
        _check_recorded_flows,
        _check_rows,
    )
    collect(partial(one, scenario) for one in checks)


def _check_times(scenario: "Scenario") -> None:
    if scenario.warmup >= scenario.duration:
        expected = f"less than the duration, {TIME.text(scenario.duration)}"
        raise ScenarioError("warmup", TIME.text(scenario.warmup), expected)
    _check_cooldown(scenario)
    flows = scenario.flows
    if scenario.duration == NEVER and len(flows) and not flows.bytes.any():
        raise ScenarioError("duration", "until-done", 'a time such as "1s", because no flow has an end')
    for i, table in enumerate(scenario.traffic):
        first = flows.first_start_ps(i)
        if first >= scenario.duration and not isinstance(table, Driven):
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


def _check_receivers(scenario: "Scenario") -> None:
    for where, used in algorithms(scenario.settled):
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
    ends = (
        scenario.duration if scenario.duration != NEVER else int(scenario.flows.start_ps.max(initial=0)) + 1
    )
    record, ports = scenario.record, len(scenario.graph.recorded_ports)
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
