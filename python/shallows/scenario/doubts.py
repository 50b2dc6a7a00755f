"""Warnings that need no run: a scenario is valid, but hardly asks what its author meant."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from shallows.algorithms.marking import lacks_marks
from shallows.scenario import headroom, sprayed
from shallows.scenario.faults import changes
from shallows.scenario.paths import paths_of
from shallows.scenario.ports import paused
from shallows.topology.fabrics import RailOptimised
from shallows.traffic import Collective, Training
from shallows.traffic import offered as offered_load
from shallows.traffic.kinds import Incast
from shallows.traffic.poisson import Poisson
from shallows.units import NEVER, SIZE, TIME

if TYPE_CHECKING:
    from shallows.core.contract import F64, Flags
    from shallows.scenario import Scenario

CARRIED = 1 + 1e-9
"""The largest offered load of a port that is not overloaded, with rounding."""
FAR = 1.2
"""The factor by which a realised load may differ from the stated one."""


def of_scenario(scenario: "Scenario") -> list[str]:
    """The warnings of a scenario that are known before it runs."""
    checks = (
        _overload,
        _few_spines,
        _realised_load,
        _dead_paths,
        _nowhere_to_drain,
        _nothing_trims,
        _nothing_marks,
        _reordering_is_loss,
        sprayed.short_ramps,
        sprayed.short_steps,
        _short_headroom,
        _pauses_before_marks,
        _priority_without_end,
    )
    return [warning for check in checks for warning in check(scenario)]


def _few_spines(scenario: "Scenario") -> list[str]:
    """Leaves with less capacity to the spines than to GPUs, because nobody said how many spines there are."""
    topology, given = scenario.topology, scenario.tables["topology"]
    if not isinstance(topology, RailOptimised) or "spines" in given:
        return []
    down = topology.servers * topology.rate
    up = topology.spines * topology.links_per_pair * topology.spine_rate
    if down <= up or not any(isinstance(table, Collective | Training) for table in scenario.traffic):
        return []
    enough = math.ceil(down / (topology.links_per_pair * topology.spine_rate))
    return [
        f"topology.spines is {topology.spines}, its default, with which leaves have {down / up:.3g} times "
        f"as much capacity to GPUs as to spines: write topology.spines = {enough}, or rings that stay on "
        "rails (channels and rails = true)"
    ]


def offered(scenario: "Scenario") -> "F64":
    """The load that open-loop traffic offers to each link, as a share of its rate."""
    return offered_load.load(scenario.graph, scenario.flows.offered)


def _overload(scenario: "Scenario") -> list[str]:
    """Ports to which open-loop traffic offers more than their rate."""
    loads = np.nan_to_num(offered(scenario))
    over = np.flatnonzero(loads > CARRIED)
    if not len(over):
        return []
    port = int(over[np.argmax(loads[over])])
    offering = scenario.flows.offered
    tables = [
        number
        for number, one in enumerate(offering)
        if one and np.nan_to_num(offered_load.load(scenario.graph, [one]))[port]
    ]
    most = float(loads[port])
    others = f" and {len(over) - 1} more ports are" if len(over) > 1 else " is"
    return [
        f"{scenario.graph.port_names[port]}{others} offered more than they can carry, up to {most:.3g} "
        "times their rate: queues grow for as long as flows arrive, and completion times depend on the "
        f"number of flows; {_instead(scenario, tables, most)}"
    ]


def _instead(scenario: "Scenario", tables: list[int], most: float) -> str:
    """What to write if these tables offer `most` times the rate of a port."""
    if len(tables) > 1:
        names = " and ".join(f"traffic[{number}]" for number in tables)
        return f"divide the loads of {names} by {_rounded(most, math.ceil)}"
    table = scenario.traffic[tables[0]]
    if isinstance(table, Poisson | Incast) and table.load is not None:
        return f"write traffic[{tables[0]}].load = {_rounded(table.load / most, math.floor)} or less"
    if isinstance(table, Incast) and table.period is not None:
        period = TIME.text(math.ceil(float(_rounded(table.period * most, math.ceil))))
        return f'write traffic[{tables[0]}].period = "{period}" or more'
    return f"spread the starts of traffic[{tables[0]}] over a time {_rounded(most, math.ceil)} times as long"


def _rounded(value: float, towards: Callable[[float], int]) -> str:
    """A number in three digits, rounded by `towards`."""
    scale = 10.0 ** (2 - math.floor(math.log10(value)))
    return f"{towards(value * scale) / scale:.15g}"


def _realised_load(scenario: "Scenario") -> list[str]:
    """Tables whose drawn flows offer a load far from the stated one."""
    counts = np.bincount(scenario.flows.group).tolist()
    return [
        f"traffic[{number}] states a load of {load.stated:g}, and its {counts[number]} flows realise "
        f"{load.realised:.3g}, because their sizes and arrivals are random: more flows come closer"
        for number, load in enumerate(scenario.flows.loads)
        if load and not 1 / FAR <= load.realised / load.stated <= FAR
    ]


def _dead_paths(scenario: "Scenario") -> list[str]:
    """Flows whose path leads over a link that goes down for good, and that switches do not reroute."""
    down, options = _down_for_good(scenario), scenario.network
    if not down.any():
        return []
    network, flows = scenario.graph, scenario.flows
    islands = network.of_links(~down).islands()
    apart = islands[flows.src] != islands[flows.dst]
    over = apart.copy()
    if options.convergence == NEVER and options.balancing == "flow":
        over |= [bool(down[there].any() or down[back].any()) for there, back in paths_of(scenario)]
    if not over.any():
        return []
    names = [network.port_names[link] for link in np.flatnonzero(down)]
    which = names[0] + (f" and {len(names) - 1} more links, which go" if len(names) > 1 else ", which goes")
    instead = 'another fault of the link, with kind = "up"'
    if not apart[over].all():
        instead = f'network.convergence = "10ms", after which switches reroute, or {instead}'
    return [
        f"{over.sum()} of {len(flows)} flows take a path over {which} down for good, and deliver nothing "
        f"after that; write {instead}"
    ]


def _down_for_good(scenario: "Scenario") -> "Flags":
    """The links that are down at the end of the run."""
    return _last(scenario, {"down": True, "up": False})


def _last(scenario: "Scenario", wanted: "dict[str, bool]") -> "Flags":
    """For each link, the value of the last of the `wanted` changes; false without one."""
    found = np.zeros(len(scenario.graph.rate_bps), bool)
    for one in changes(scenario):
        if isinstance(one.change, str) and one.change in wanted and one.at < scenario.duration:
            found[one.link] = wanted[one.change]
    return found


def _nowhere_to_drain(scenario: "Scenario") -> list[str]:
    """Flows that keep to a drained link, because they have no other path."""
    if not any(fault.kind == "drain" for fault in scenario.faults):
        return []
    network, flows = scenario.graph, scenario.flows
    drained = np.zeros(len(network.rate_bps), bool)
    for one in changes(scenario):
        drained[one.link] |= one.change == "drain"
    islands = network.of_links(~drained).islands()
    stay = int(np.sum(islands[flows.src] != islands[flows.dst]))
    if not stay:
        return []
    name = network.port_names[int(np.flatnonzero(drained)[0])]
    return [
        f"{stay} of {len(flows)} flows have no path without {name} and other links that are drained, and "
        "keep to them; drain links to which there is another path"
    ]


def _nothing_trims(scenario: "Scenario") -> list[str]:
    """Algorithms that need ports that trim packets, in a network that drops them."""
    found: dict[str, list[str]] = {}
    for queue in scenario.queues:
        names = [used.label for used in queue.algorithms if used.trims]
        if names and not queue.trimming:
            memory = "pool" if scenario.classes else "shared"
            table = memory if queue.memory else "pfc" if queue.pauses else None
            why = f" beside {queue.key}.{table}" if table else ""
            instead = f"no {queue.key}.{table}" if table else f"{queue.key}.trimming = true"
            found.setdefault(f"{why}: a lost packet can wait for a timeout; write {instead}", []).extend(
                names
            )
    return [
        f"{', '.join(dict.fromkeys(names))} needs ports that trim packets, and here they drop them{instead}"
        for instead, names in found.items()
    ]


def _nothing_marks(scenario: "Scenario") -> list[str]:
    """Algorithms that react to nothing but marks, on ports that do not mark."""
    queues = scenario.queues
    everywhere = [*queues, *(queue.changed(table) for table in scenario.ports for queue in queues)]
    names = dict.fromkeys(
        used.label
        for queue in queues
        for used in queue.algorithms
        if used.transport == "roce" and all(lacks_marks(used, other.marking) for other in everywhere)
    )
    if not names:
        return []
    return [
        f"{', '.join(names)} slows down at marks alone, and no port marks: its senders keep the rates of "
        "their links, whatever they lose; write network.marking with a kind"
    ]


def _reordering_is_loss(scenario: "Scenario") -> list[str]:
    """Algorithms whose transport treats reordered packets as lost, in a network that sprays packets."""
    network, balancing = scenario.graph, scenario.network.balancing
    paths = len(network.link_from) // 2 >= network.nodes  # there is a cycle
    if not scenario.network.sprays or not paths:
        return []
    found: list[str] = []
    for transport, key, value in (("tcp", "loss_detection", "rack"), ("roce", "retransmission", "selective")):
        names = dict.fromkeys(used.label for used in scenario.algorithms if used.transport == transport)
        if names and getattr(scenario.hosts, key) != value:
            found.append(
                f'network.balancing = "{balancing}" can reorder packets, and reordered packets count as lost '
                f'with {", ".join(names)}; write hosts.{key} = "{value}"'
            )
    return found


def _short_headroom(scenario: "Scenario") -> list[str]:
    """Links that can need more memory behind a pause than they have."""
    given = {f"{queue.key}.pfc": queue.pauses.headroom for queue in paused(scenario) if queue.pauses}
    if all(size == NEVER for size in given.values()):
        return []
    needed = headroom.of_any_link(scenario.graph, scenario.mtu)
    return [
        f'{key}.headroom = "{SIZE.text(size)}" and a link can need {SIZE.text(needed)}: '
        'packets can be dropped in spite of pauses; write that or "auto"'
        for key, size in given.items()
        if size < needed
    ]


def _pauses_before_marks(scenario: "Scenario") -> list[str]:
    """Pauses of a link that come before a port marks the same data."""
    found: dict[str, str] = {}
    for queue in paused(scenario):
        (key, begins), marks = queue.pauses_begin(), queue.marking_begins(scenario.graph)
        if queue.marks and marks >= begins:
            texts = [SIZE.text(size, scenario.mtu) for size in (begins, marks)]
            found[key] = (
                f"{key} = {texts[0]} can pause a link before a port marks, from {texts[1]} on: "
                "pauses can limit data from one link before the algorithm does"
            )
    return list(found.values())


def _priority_without_end(scenario: "Scenario") -> list[str]:
    endless = (scenario.flows.priority == 1) & (scenario.flows.bytes == 0) & (scenario.flows.stop_ps == NEVER)
    if scenario.duration != NEVER or not endless.any() or scenario.flows.priority.all():
        return []
    first = scenario.flows.group[endless][0]
    return [
        f'traffic[{first}].priority = 1 with duration = "until-done": where its flows without an end '
        "fill a link, flows of priority 0 may never finish"
    ]
