"""Defaults of a scenario that depend on several tables, filled in by the rules of `algorithms.defaults`."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.algorithms import defaults, marking
from shallows.errors import ScenarioError
from shallows.scenario import ports
from shallows.scenario.queues import Trimming
from shallows.units import NEVER, SIZE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shallows.algorithms.algorithm import Algorithm
    from shallows.algorithms.defaults import Scale
    from shallows.base.table import Table
    from shallows.scenario.model import Scenario
    from shallows.scenario.queues import TrafficClass
    from shallows.scenario.tables import NetworkTable


def fill_in(scenario: "Scenario") -> None:
    """Fill in the defaults of algorithms, marking, memory and timeouts.

    `scenario.derived` has those that a key of the file can replace, by key, for comparison with what is set.
    """
    network = scenario.network
    scale = defaults.Scale.of(network, scenario.mtu)
    derived: dict[str, int] = {}
    vars(scenario)["derived"] = derived
    _algorithms(scenario, scale)
    _queues(scenario, scale, derived)
    derived["hosts.rto_min"] = defaults.rto_min(scale, _longest(scenario))
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


def _queues(scenario: "Scenario", scale: "Scale", derived: dict[str, int]) -> None:
    """Fill in what classes take from `[network]`, their markings, and the limits of queues and memories."""
    options = scenario.network_options
    for number, one in enumerate(scenario.classes):
        _take_from_network(f"classes[{number}]", one, options)
    markings = ports.algorithms_of_tables(scenario)
    for key, table, algorithms in markings:
        chosen = table.marking if table.marking is not None else options.marking
        _set(table, "marking", _marking(scenario, scale, chosen, (key, algorithms)))
    if scenario.classes and options.marking is None:
        _set(options, "marking", "none")  # each class has a marking of its own
    for table in scenario.ports:
        if table.marking is not None and table.marking != "none":
            _set(table, "marking", table.marking.settled(scale, scenario.network.rate_bps))
    derived["network.buffer"] = _buffer(scenario, scale)
    options = options.filled_in(derived)
    _set(scenario, "network_options", options)
    for one in scenario.classes:
        _set(
            one, "buffer", one.buffer or (_default_buffer(scenario, scale) if options.pfc else options.buffer)
        )
    for _, table, algorithms in ports.algorithms_of_tables(scenario):
        _trimming(scenario, table, algorithms)
    for queue in ports.queues_of(scenario):
        if queue.trimming and not queue.trimming.queue and not queue.trimming.threshold:
            _limit_trimming(scenario, scale, queue)
        if queue.pauses and not queue.memory and not queue.pauses.threshold:
            _set(queue.pauses, "threshold", defaults.pause_threshold(scale))
    memories = [*scenario.pools, *([options.shared] if options.shared else [])]
    for memory in memories:
        if not memory.size:
            _set(memory, "size", defaults.memory(scale) // len(memories))


def _take_from_network(key: str, one: "TrafficClass", options: "NetworkTable") -> None:
    """Fill in the pauses and the trimming of a class as `[network]` has them."""
    if one.pfc is None and options.pfc and not one.trimming:
        if one.buffer not in (None, NEVER):
            expected = (
                "no such key: network.pfc is set, so that its queue has no limit of its own; "
                f"or {key}.pfc = false"
            )
            raise ScenarioError(f"{key}.buffer", SIZE.text(one.buffer), expected)
        _set(one, "pfc", options.pfc.model_copy(update={"threshold": None} if one.pool else None))
        _set(one, "buffer", NEVER)
    if one.trimming is None and options.trimming and not one.pfc and not one.pool:
        _set(one, "trimming", options.trimming.model_copy())


def _limit_trimming(scenario: "Scenario", scale: "Scale", queue: "ports.Queue") -> None:
    """Fill in the data and the headers that a port holds which trims, by Ultra Ethernet or by NDP."""
    assert queue.trimming is not None
    if any(used.name == "nscc" for used in queue.algorithms):
        product = defaults.uet_product(scale)
        _set(queue.trimming, "threshold", max(product, 2 * ports.marking_begins(scenario, queue)))
        if "headers" not in queue.trimming.model_fields_set:
            _set(queue.trimming, "headers", max(product, queue.trimming.headers))
        return
    count = defaults.trimming_queue(ports.marking_begins(scenario, queue), scenario.mtu)
    _set(queue.trimming, "queue", count)


def _trimming(scenario: "Scenario", table: Any, algorithms: "Sequence[Algorithm]") -> None:
    """Trim data of algorithms that need it, unless the table says otherwise or nothing fills its queue."""
    lossless = table.pfc or getattr(table, "shared", None) or getattr(table, "pool", None)
    if table.trimming is None and not lossless and any(used.trims for used in algorithms):
        _set(table, "trimming", Trimming.model_validate({}, context={"frame": scenario.frame}))


def _marking(scenario: "Scenario", scale: "Scale", chosen: Any, of: "tuple[str, Sequence[Algorithm]]") -> Any:
    """The marking of the queue whose key and algorithms are `of`: the chosen one, or what they need."""
    key, algorithms = of
    if chosen is None:
        kinds = {used.congestion_point: used for used in algorithms if used.needs_marking}
        if len(kinds) > 1:
            wanted = ", ".join(f"{used.label} {kind}" for kind, used in kinds.items())
            whom = "all" if key == "network" else "the class"
            raise ScenarioError(f"{key}.marking", None, f"one kind of marking for {whom}: {wanted}")
        needing = {used.name for used in algorithms if used.needs_marking}
        table = defaults.uet_ramp(scale) if needing == {"nscc"} else {"kind": next(iter(kinds), None)}
        chosen = marking.choose(table, scenario.frame) if kinds else "none"
    return chosen if chosen == "none" else chosen.settled(scale, scenario.network.rate_bps)


def _buffer(scenario: "Scenario", scale: "Scale") -> int:
    options = scenario.network_options
    if options.shared or options.pfc:
        return NEVER
    return _default_buffer(scenario, scale)


def _default_buffer(scenario: "Scenario", scale: "Scale") -> int:
    return defaults.buffer(scale, scenario.marking_begins, _allowed(scenario, scale))


def _allowed(scenario: "Scenario", scale: "Scale") -> float:
    """Bytes of queue that the target delay of Swift allows; 0 without Swift."""
    targets = [used.parameters for used in scenario.algorithms if used.name in defaults.SWIFT]
    if not targets:
        return 0
    switches, sprayed = defaults.most_switches(scenario.network), scenario.network_options.sprays
    return max(defaults.swift_queue(given, scale, switches, sprayed=sprayed) for given in targets)


def _longest(scenario: "Scenario") -> int:
    """Bytes of the longest queue that a port can hold of all classes, by default or by their limits."""
    network = scenario.network
    incoming = max(int(np.bincount(network.link_to[~network.is_nic], minlength=1).max()), 1)
    one_port = {queue.key: queue for queue in ports.queues_of(scenario)}
    return min(sum(queue.longest(incoming, scenario.mtu) for queue in one_port.values()), NEVER)
