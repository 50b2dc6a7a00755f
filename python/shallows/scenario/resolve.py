"""Resolution of a scenario: defaults that depend on several tables, by the rules of `algorithms.defaults`.

Each step returns a `Draft` with further values; no table changes.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from shallows.algorithms import defaults, marking
from shallows.base.table import Table
from shallows.errors import ScenarioError
from shallows.scenario import ports
from shallows.scenario.port_checks import check_names
from shallows.scenario.queues import PortTable, Shared, TrafficClass, Trimming
from shallows.scenario.resolved import Draft, Resolved, ResolvedClass, ResolvedHosts, ResolvedNetwork
from shallows.scenario.tables import NetworkTable
from shallows.units import NEVER, SIZE

if TYPE_CHECKING:
    from shallows.algorithms.algorithm import Algorithm
    from shallows.algorithms.defaults import Scale
    from shallows.algorithms.marking import Marking
    from shallows.scenario.given import Given
    from shallows.topology import Network
    from shallows.units import Frame

_Table = TypeVar("_Table", bound=Table)
_Memory = TypeVar("_Memory", bound=Shared)


def resolve(given: "Given", frame: "Frame") -> Resolved:
    """The tables of a scenario with every default. Raises `ScenarioError`."""
    check_names(given)
    network = given.topology.build().longer(given.network.delay_spread, given.seed)
    network = network.recording(_recorded(given, network))
    tables: dict[str, Any] = {key: getattr(given, key) for key in type(given).model_fields}
    draft = Draft(**tables, frame=frame, graph=network, derived={})
    draft = _with_traffic(draft)
    scale = defaults.Scale.of(network, draft.mtu)
    draft = _with_algorithms(draft, scale)
    draft = _with_multipath(draft)
    draft = _with_inheritance(draft)
    draft = _with_last_hop(draft, scale)
    draft = _with_markings(draft, scale)
    draft = _with_buffers(draft, scale)
    draft = _with_trimming(draft)
    draft = _with_limits(draft, scale)
    draft = _with_timeouts(draft, scale)
    tables |= vars(draft) | {
        "network": ResolvedNetwork.made_of(draft.network),
        "hosts": ResolvedHosts.made_of(draft.hosts),
        "classes": [ResolvedClass.made_of(one) for one in draft.classes],
    }
    return Resolved(**tables)


def _recorded(given: "Given", network: "Network") -> NDArray[np.integer]:
    if given.record.ports == "bottleneck":
        return network.bottlenecks
    if given.record.ports == "all":
        return np.arange(len(network.port_names))
    try:
        return np.asarray(network.ports(given.record.ports))
    except ValueError as error:
        raise ScenarioError("record.ports", *error.args) from None


def _with_traffic(draft: Draft) -> Draft:
    """With the numbers of flows that follow the network."""
    traffic: list[object] = []
    for i, table in enumerate(draft.traffic):
        if table.cc is None and draft.cc is None:
            raise ScenarioError("cc", None, f'an algorithm such as "dctcp", here or as traffic[{i}].cc')
        try:
            traffic.append(table.settled(draft.graph))
        except ScenarioError as error:
            raise error.under(f"traffic[{i}]") from None
    return replace(draft, traffic=traffic)


def _with_algorithms(draft: Draft, scale: "Scale") -> Draft:
    """With parameters that follow the rate of the hosts' links where they are not set."""
    traffic = [
        table if table.cc is None else _changed(table, cc=of_network(table.cc, scale))
        for table in draft.traffic
    ]
    return replace(draft, cc=draft.cc and of_network(draft.cc, scale), traffic=traffic)


def _with_multipath(draft: Draft) -> Draft:
    """With paths that hosts choose as MRC does, if the algorithms of all traffic choose paths."""
    options = draft.network
    choose = all(used.traits["chooses_paths"] for used in draft.algorithms)
    if "balancing" in options.model_fields_set or not choose:
        return draft
    return replace(draft, network=_changed(options, balancing="mrc"))


def _with_last_hop(draft: Draft, scale: "Scale") -> Draft:
    """With ports to hosts that mark nothing and trim later, if the ports are those of MRC.

    So a mark means that paths are loaded unequally, and not that the receiver is.
    """
    options = draft.network
    chosen = options.marking is not None or options.trimming is not None or options.pfc or options.shared
    if options.balancing != "mrc" or chosen or draft.ports or draft.classes:
        return draft
    network = draft.graph
    last = np.flatnonzero(~network.is_nic & (network.link_to < network.hosts))
    threshold = round(defaults.UET_LAST_HOP * defaults.uet_product(scale))
    table = {
        "names": [network.port_names[link] for link in last],
        "marking": "none",
        "trimming": {"threshold": f"{threshold}B"},
    }
    made = PortTable.model_validate(table, context={"frame": draft.frame})
    return replace(draft, ports=[made])


def of_network(used: "Algorithm", scale: "Scale") -> "Algorithm":
    """The same algorithm with defaults for the network. A preset keeps its own values."""
    if used.preset or used.user_class:
        return used
    values = {
        name: value if name in used.chosen else defaults.parameter(used.name, name, value, scale)
        for name, value in used.parameters.items()
    }
    return replace(used, parameters=values)


def _changed(table: _Table, **values: object) -> _Table:
    """The same table with other values."""
    return table.model_copy(update=values)


def _with_inheritance(draft: Draft) -> Draft:
    """With the pauses and the trimming of classes as `[network]` has them."""
    classes = [
        _inheriting(f"classes[{number}]", one, draft.network) for number, one in enumerate(draft.classes)
    ]
    return replace(draft, classes=classes)


def _inheriting(key: str, one: "TrafficClass", options: "NetworkTable") -> "TrafficClass":
    if one.pfc is None and options.pfc and not one.trimming:
        if one.buffer is not None and one.buffer != NEVER:
            expected = (
                "no such key: network.pfc is set, so that its queue has no limit of its own; "
                f"or {key}.pfc = false"
            )
            raise ScenarioError(f"{key}.buffer", SIZE.text(one.buffer), expected)
        pfc = _changed(options.pfc, threshold=None) if one.pool else options.pfc
        one = _changed(one, pfc=pfc, buffer=NEVER)
    if one.trimming is None and options.trimming and not one.pfc and not one.pool:
        one = _changed(one, trimming=options.trimming)
    return one.with_defaults_of(options)


def _with_markings(draft: Draft, scale: "Scale") -> Draft:
    """With the markings of queues: the chosen ones, or what their algorithms need."""
    options, rates = draft.network, draft.graph.rate_bps
    found: list[Marking | Literal["none"]] = []
    for key, table, algorithms in ports.algorithms_of_tables(draft):
        chosen = table.marking if table.marking is not None else options.marking
        chosen = _needed(draft, scale, key, algorithms) if chosen is None else chosen
        found.append(chosen if chosen == "none" else chosen.settled(scale, rates))
    of_ports = [
        _changed(table, marking=table.marking.settled(scale, rates))
        if isinstance(table.marking, marking.Marking)
        else table
        for table in draft.ports
    ]
    if not draft.classes:
        return replace(draft, network=_changed(options, marking=found[0]), ports=of_ports)
    classes = [_changed(one, marking=chosen) for one, chosen in zip(draft.classes, found, strict=True)]
    if options.marking is None:
        options = _changed(options, marking="none")  # each class has a marking of its own
    return replace(draft, network=options, classes=classes, ports=of_ports)


def _needed(
    draft: Draft, scale: "Scale", key: str, algorithms: "Sequence[Algorithm]"
) -> 'Marking | Literal["none"]':
    """The marking that the algorithms of a queue need, whose key is `key`."""
    kinds = {used.congestion_point: used for used in algorithms if used.needs_marking}
    if len(kinds) > 1:
        wanted = ", ".join(f"{used.label} {kind}" for kind, used in kinds.items())
        whom = "all" if key == "network" else "the class"
        raise ScenarioError(f"{key}.marking", None, f"one kind of marking for {whom}: {wanted}")
    if not kinds:
        return "none"
    is_uet = all(used.trims for used in algorithms if used.needs_marking)
    return marking.choose(defaults.uet_ramp(scale) if is_uet else {"kind": next(iter(kinds))}, draft.frame)


def _with_buffers(draft: Draft, scale: "Scale") -> Draft:
    """With the buffers of ports and of classes."""
    options = draft.network
    usual = defaults.buffer(scale, draft.marking_begins, _allowed(draft, scale))
    derived = {**draft.derived, "network.buffer": NEVER if options.shared or options.pfc else usual}
    options = options.filled_in(derived)
    of_class = usual if options.pfc else options.buffer
    classes = [_changed(one, buffer=one.buffer or of_class) for one in draft.classes]
    return replace(draft, network=options, classes=classes, derived=derived)


def _allowed(scenario: "Draft", scale: "Scale") -> float:
    """Bytes of queue that the largest target delay allows; 0 where no algorithm has one."""
    targets = [used.parameters for used in scenario.algorithms if used.traits["has_target_queue"]]
    if not targets:
        return 0
    switches, sprayed = defaults.most_switches(scenario.graph), scenario.network.sprays
    return max(defaults.swift_queue(given, scale, switches, sprayed=sprayed) for given in targets)


def _with_trimming(draft: Draft) -> Draft:
    """With trimming for algorithms that need it, unless a table says otherwise or nothing fills its queue."""
    tables: list[NetworkTable | TrafficClass] = []
    for _, table, algorithms in ports.algorithms_of_tables(draft):
        memory = table.shared if isinstance(table, NetworkTable) else table.pool
        lossless = table.pfc or memory
        if table.trimming is None and not lossless and any(used.trims for used in algorithms):
            table = _changed(table, trimming=Trimming.model_validate({}, context={"frame": draft.frame}))
        tables.append(table)
    return _with_tables(draft, tables)


def _with_tables(draft: Draft, tables: "list[NetworkTable | TrafficClass]") -> Draft:
    """With these tables of queues: the classes, or `[network]` without any."""
    network = next((table for table in tables if isinstance(table, NetworkTable)), draft.network)
    return replace(draft, network=network, classes=[one for one in tables if isinstance(one, TrafficClass)])


def _with_limits(draft: Draft, scale: "Scale") -> Draft:
    """With the lengths at which queues trim and pause, and the sizes of memories."""
    tables: list[NetworkTable | TrafficClass] = []
    queues = {queue.key: queue for queue in ports.queues_of(draft)}
    for key, table, _ in ports.algorithms_of_tables(draft):
        queue, changes = queues[key], dict[str, object]()
        if queue.trimming and not queue.trimming.queue and not queue.trimming.threshold:
            changes["trimming"] = _limited(draft, scale, queue, queue.trimming)
        if queue.pauses and not queue.memory and not queue.pauses.threshold:
            changes["pfc"] = _changed(queue.pauses, threshold=defaults.pause_threshold(scale))
        tables.append(_changed(table, **changes))
    draft = _with_tables(draft, tables)
    options = draft.network
    count = len(draft.pools) + bool(options.shared)

    def sized(memory: _Memory) -> _Memory:
        return memory if memory.size else _changed(memory, size=defaults.memory(scale) // count)

    if options.shared:
        options = _changed(options, shared=sized(options.shared))
    return replace(draft, network=options, pools=[sized(pool) for pool in draft.pools])


def _limited(draft: Draft, scale: "Scale", queue: ports.Queue, trimming: Trimming) -> Trimming:
    """The data and the headers that a port holds which trims, by Ultra Ethernet or by NDP."""
    begins = ports.marking_begins(draft, queue)
    if not any(used.trims and used.needs_marking for used in queue.algorithms):
        return _changed(trimming, queue=defaults.trimming_queue(begins, draft.mtu))
    product = defaults.uet_product(scale)
    own = "headers" in trimming.model_fields_set
    headers = trimming.headers if own else max(product, trimming.headers)
    return _changed(trimming, threshold=max(product, 2 * begins), headers=headers)


def _with_timeouts(draft: Draft, scale: "Scale") -> Draft:
    """With the retransmission timeouts and the acknowledgements of hosts."""
    hosts, algorithms = draft.hosts, draft.algorithms
    rto_min = defaults.rto_min(scale, _longest(draft))
    of_tcp = all(used.transport == "tcp" for used in algorithms)
    if any("hosts.rto_min" in used.supported_keys for used in algorithms):
        hosts.check_least()
    low = hosts.rto_min if "rto_min" in hosts.model_fields_set else None
    first = defaults.rto_initial(low or rto_min, of_tcp=of_tcp)
    derived = {**draft.derived, "hosts.rto_min": rto_min, "hosts.rto_initial": first}
    acks_every = {used.acks_every for used in algorithms}
    if len(acks_every) == 1:
        derived["hosts.acks_every"] = acks_every.pop()
    return replace(draft, hosts=hosts.filled_in(derived), derived=derived)


def _longest(scenario: "Draft") -> int:
    """Bytes of the longest queue that a port can hold of all classes, by default or by their limits."""
    network = scenario.graph
    incoming = max(int(np.bincount(network.link_to[~network.is_nic], minlength=1).max()), 1)
    one_port = {queue.key: queue for queue in ports.queues_of(scenario)}
    return min(sum(queue.longest(incoming, scenario.mtu) for queue in one_port.values()), NEVER)
