"""Defaults of a scenario that depend on several tables, filled in by the rules of `shallows.defaults`."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shallows import defaults, marking
from shallows.errors import ScenarioError
from shallows.scenario import classes
from shallows.switch import Trimming
from shallows.units import NEVER

if TYPE_CHECKING:
    from shallows.algorithm import Algorithm
    from shallows.defaults import Scale
    from shallows.scenario.model import Scenario
    from shallows.table import Table


def fill_in(scenario: "Scenario") -> None:
    """Fill in the defaults of algorithms, marking, memory and timeouts.

    `scenario.derived` has those that a key of the file can replace, by key, for comparison with what is set.
    """
    network = scenario.network
    scale = defaults.Scale.of(network, scenario.mtu)
    derived: dict[str, int] = {}
    vars(scenario)["derived"] = derived
    _algorithms(scenario, scale)
    options = scenario.network_options
    classes.settle(scenario, scale)
    _set(options, "marking", _marking(scenario, scale))
    derived["network.buffer"] = _buffer(scenario, scale)
    options = options.filled_in(derived)
    _set(scenario, "network_options", options)
    for one in scenario.classes:
        _set(one, "buffer", one.buffer or options.buffer)
    needed = any(used.trims for used in scenario.algorithms) and not options.shared and not options.pfc
    if options.trimming is None and needed:
        _set(options, "trimming", Trimming.model_validate({}, context={"frame": scenario.frame}))
    if options.trimming and not options.trimming.queue:
        begins = 0 if options.marking == "none" or scenario.classes else scenario.marking_begins
        _set(options.trimming, "queue", defaults.trimming_queue(begins, scenario.mtu))
    if options.shared and not options.shared.size:
        _set(options.shared, "size", defaults.memory(scale))
    if options.pfc and not options.shared and not options.pfc.threshold:
        _set(options.pfc, "threshold", defaults.pause_threshold(scale))
    derived["hosts.rto_min"] = defaults.rto_min(scale, _fullest(scenario))
    of_tcp = all(used.transport == "tcp" for used in scenario.algorithms)
    hosts = scenario.hosts
    if any("hosts.rto_min" in used.supported_keys for used in scenario.algorithms):
        hosts.check_least()
    low = hosts.rto_min if "rto_min" in hosts.model_fields_set else None
    derived["hosts.rto_initial"] = defaults.rto_initial(low or derived["hosts.rto_min"], of_tcp=of_tcp)
    _set(scenario, "hosts", scenario.hosts.filled_in(derived))


def _set(table: "Table", key: str, value: object) -> None:
    vars(table)[key] = value  # in spite of the frozen model


def _algorithms(scenario: "Scenario", scale: "Scale") -> None:
    """Parameters that are not set follow the rate of the hosts' links."""
    for table in (scenario, *scenario.traffic):
        if table.cc is not None:
            _set(table, "cc", of_network(table.cc, scale))


def of_network(used: "Algorithm", scale: "Scale") -> "Algorithm":
    """The same algorithm with defaults for the network. A preset keeps its own values."""
    if used.preset or used.user_class:
        return used
    values = {
        name: value if name in used.chosen else defaults.parameter(used.name, name, value, scale)
        for name, value in used.parameters.items()
    }
    return replace(used, parameters=values)


def _marking(scenario: "Scenario", scale: "Scale") -> Any:
    chosen = scenario.network_options.marking
    if scenario.classes:  # each has a marking of its own
        return chosen or "none"
    if chosen is None:
        kinds = {used.congestion_point: used for used in scenario.algorithms if used.needs_marking}
        if len(kinds) > 1:
            wanted = ", ".join(f"{used.label} {kind}" for kind, used in kinds.items())
            raise ScenarioError("network.marking", None, f"one kind of marking for all: {wanted}")
        chosen = marking.choose({"kind": next(iter(kinds))}, scenario.frame) if kinds else "none"
    return chosen if chosen == "none" else chosen.settled(scale, scenario.network.rate_bps)


def _buffer(scenario: "Scenario", scale: "Scale") -> int:
    options = scenario.network_options
    if options.shared or options.pfc:
        return NEVER
    marks = options.marking != "none" or bool(scenario.classes)
    return defaults.buffer(scale, scenario.marking_begins if marks else 0, _allowed(scenario, scale))


def _allowed(scenario: "Scenario", scale: "Scale") -> float:
    """Bytes of queue that the target delay of Swift allows; 0 without Swift."""
    targets = [used.parameters for used in scenario.algorithms if used.name in defaults.SWIFT]
    if not targets:
        return 0
    switches, sprayed = defaults.most_switches(scenario.network), scenario.network_options.sprays
    return max(defaults.swift_queue(given, scale, switches, sprayed=sprayed) for given in targets)


def _fullest(scenario: "Scenario") -> int:
    """Bytes of the longest queue that a port can hold by its default or its own limit."""
    options, trimming = scenario.network_options, scenario.trimming
    network = scenario.network
    incoming = max(int(np.bincount(network.link_to[~network.is_nic], minlength=1).max()), 1)
    if scenario.classes:
        return classes.fullest(scenario, incoming)
    if trimming:
        return trimming.queue * scenario.mtu
    if options.shared:
        return int(options.shared.size * options.shared.alpha / (1 + options.shared.alpha))
    if options.pfc:  # every other link of the switch may bring that much before it is paused
        return options.pfc.threshold * incoming
    return options.buffer
