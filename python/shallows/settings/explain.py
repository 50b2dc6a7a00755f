"""The meaning of settings on a network: thresholds in bytes, BDPs and microseconds, headroom and stability.

A BDP is the rate of a port times the longest base round trip of the scenario's flows: a full frame there
and an acknowledgement back over empty links.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shallows.base.toml import is_table
from shallows.scenario.headroom import headroom
from shallows.scenario.ports import algorithms_by_marking, paused
from shallows.topology.routing import Routes
from shallows.units import NEVER, RATE, SIZE

if TYPE_CHECKING:
    from shallows.algorithms.algorithm import Algorithm
    from shallows.algorithms.marking import Marking
    from shallows.core.contract import F64, Flags
    from shallows.fluid.model import Model
    from shallows.scenario import Scenario
    from shallows.scenario.ports import Queue

FLOWS = (2, 4, 8, 16, 32, 64)
"""Numbers of flows at a port for which stability is computed."""
MOST_PAIRS = 200
"""Pairs of hosts whose round trip is looked at."""
TUNED = 4.0
"""A parameter further than this factor from its paper's share of the rate is tuned for another rate."""


@dataclass(frozen=True)
class Level:
    """A queue length at which a port does something: its name, what sets it, and bytes."""

    name: str
    key: str
    bytes: float


@dataclass(frozen=True)
class Margin:
    """The least phase margin in degrees over `FLOWS`, where it is, and the longest queue there in bytes.

    Without a fixed point for some number of flows `degrees` is NaN.
    """

    degrees: float
    flows: int
    queue_bytes: float


@dataclass(frozen=True)
class PortExplanation:
    """The switch ports of one rate.

    rate_bps, delay_ps: of their links, the longest. count, example: how many, and the name of one.
    bdp_bytes: rate times the base round trip. levels: by bytes. headroom_needed, headroom_set: bytes behind
    a pause, or None without PFC. margin: of the fluid model, or None without one.
    """

    rate_bps: int
    delay_ps: int
    count: int
    example: str
    bdp_bytes: float
    levels: tuple[Level, ...]
    headroom_needed: int | None
    headroom_set: int | None
    margin: Margin | None

    def microseconds(self, size: float) -> float:
        """The time to send `size` bytes, in us."""
        return 8e6 * size / self.rate_bps


@dataclass(frozen=True)
class Explanation:
    """The settings of a scenario, by kind of port, and sentences about what they lead to."""

    scenario: "Scenario"
    base_rtt_ps: int
    ports: tuple[PortExplanation, ...]
    remarks: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """All but the scenario, for JSON; without a fixed point `degrees` is None."""
        ports = [asdict(port) for port in self.ports]
        for port in ports:
            if port["margin"] and math.isnan(port["margin"]["degrees"]):
                port["margin"]["degrees"] = None
        return {"base_rtt_ps": self.base_rtt_ps, "ports": ports, "remarks": list(self.remarks)}


MARKS = {"kmin": "marking begins", "kmax": "every packet is marked", "threshold": "marking begins"}
"""Parameters of a marking that are levels of a queue."""


def explain(scenario: "Scenario") -> Explanation:
    """The `Explanation` of a scenario's switch ports."""
    network = scenario.graph
    base_rtt_ps = _base_rtt_ps(scenario)
    switch_ports = ~network.is_nic
    ports = tuple(
        _port(scenario, switch_ports & (network.rate_bps == rate), base_rtt_ps)
        for rate in np.unique(network.rate_bps[switch_ports])
    )
    remarks = [*_tuned_elsewhere(scenario, ports), *_order(scenario, ports), *_stability(ports)]
    return Explanation(scenario, base_rtt_ps, ports, (*scenario.warnings, *remarks))


def _base_rtt_ps(scenario: "Scenario") -> int:
    """The longest base round trip of the scenario's flows, of at most `MOST_PAIRS` pairs of hosts."""
    network, frame, routes = scenario.graph, scenario.frame, Routes(scenario.graph)
    pairs = np.unique(np.column_stack([scenario.flows.src, scenario.flows.dst]), axis=0)
    step = -(-len(pairs) // MOST_PAIRS)
    longest = 0.0
    for src, dst in pairs[::step].tolist():
        path = routes.path(src, dst)
        sending = (8e12 * (frame.wire + frame.header) / network.rate_bps[path]).sum()
        longest = max(longest, 2 * float(network.delay_ps[path].sum()) + float(sending))
    return round(longest)


def _port(scenario: "Scenario", chosen: "Flags", base_rtt_ps: int) -> PortExplanation:
    network = scenario.graph
    links: list[int] = np.flatnonzero(chosen).tolist()
    rate, delay = int(network.rate_bps[links[0]]), int(network.delay_ps[chosen].max())
    needed = configured = None
    pauses = [queue.pauses for queue in paused(scenario) if queue.pauses]
    if pauses:
        needed = headroom(rate, delay, scenario.mtu)
        set_to = min(one.headroom for one in pauses)  # NEVER is the largest
        configured = needed if set_to == NEVER else set_to
    return PortExplanation(
        rate, delay, len(links), network.port_names[links[0]], rate * base_rtt_ps / 8e12,
        tuple(sorted(_levels(scenario, rate), key=lambda level: level.bytes)), needed, configured,
        _margin(scenario, rate, base_rtt_ps),
    )  # fmt: skip


def _levels(scenario: "Scenario", rate: int) -> list[Level]:
    """The levels at which a port marks, pauses or trims the data of each class, or is full of it."""
    levels: dict[str, Level] = {}
    for queue in scenario.queues:
        whose = f", {queue.name}" if queue.name else ""
        point = _point(queue.marks, rate) if queue.marks else {}
        for name, text in MARKS.items():
            if name in point:
                key = f"{queue.key}.marking.{name}"
                levels[key] = Level(f"{text}{whose}", key, point[name])
        for text, key, size in _limits(queue, scenario.mtu):
            levels[key] = Level(f"{text}{whose if key.startswith(queue.key) else ''}", key, size)
    return list(levels.values())


def _limits(queue: "Queue", mtu: int) -> "Iterator[tuple[str, str, int]]":
    """(what happens, key, bytes) at each limit of a queue."""
    if queue.pauses:
        key, begins = queue.pauses_begin()
        yield "a lone link is paused" if queue.memory else "a link is paused", key, begins
    elif queue.memory:
        yield "a lone port is full", f"{queue.memory_key}.alpha", queue.memory.lone
    elif queue.trimming:
        which = "threshold" if queue.trimming.threshold else "queue"
        yield "packets are trimmed", f"{queue.key}.trimming.{which}", queue.trimming.holds(mtu)
    elif queue.buffer != NEVER:
        yield ("the queue is full" if queue.name else "the port is full"), f"{queue.key}.buffer", queue.buffer
    if queue.memory:
        yield "the memory is full", f"{queue.memory_key}.size", queue.memory.size


def _point(marking: "Marking", rate: int) -> dict[str, float]:
    points, _ = marking.at_rates(np.array([rate], np.uint64))
    return points[0]["parameters"]


def _marked(scenario: "Scenario") -> "list[tuple[Marking | str, Sequence[Algorithm]]]":
    """The markings of the network or of its classes, and the algorithms whose data each marks."""
    return list(algorithms_by_marking(scenario).values())


def _kind(marking: "Marking | str") -> str | None:
    return None if isinstance(marking, str) else marking.kind


def fluid_model(
    scenario: "Scenario", rate: int, rtt_ps: int, algorithm: "Algorithm | None" = None
) -> "Model | None":
    """The fluid model of an algorithm at a port of `rate` bit/s, over a base round trip in ps.

    algorithm: by default the scenario's first one that has a model. None if there is no model, or the
    libraries of the fluid world are not installed.
    """
    from shallows.algorithms.defaults import most_switches
    from shallows.base import extras
    from shallows.worlds.fluid_models import MODELS, ModelInputs

    groups = [(scenario.network.marking, [algorithm])] if algorithm else _marked(scenario)
    rows = [
        (used, marking, MODELS.get((used.name, _kind(marking))) or MODELS.get((used.name, None)))
        for marking, algorithms in groups
        for used in algorithms
    ]
    used, marking, row = next((one for one in rows if one[2]), (None, "none", None))
    if used is None or row is None or not extras.has("fluid"):
        return None
    from shallows import fluid

    at = "" if isinstance(marking, str) else marking.at
    packet_s = 8 * scenario.mtu / rate
    levels = {} if isinstance(marking, str) else _point(marking, rate)
    frame, switches = scenario.frame, most_switches(scenario.graph)
    given = ModelInputs(used.parameters, levels, at, scenario.mtu, frame.payload, packet_s, switches)
    parameters = {name: given.get(source) for name, source in row.parameters.items()}
    delay_s = rtt_ps * 1e-12 - (packet_s if row.sends_apart else 0.0)
    model, mtu = fluid.MODELS[row.model](), float(scenario.mtu)
    return replace(model, rate=float(rate), delay=delay_s, mtu=mtu, **parameters)


def _margin(scenario: "Scenario", rate: int, base_rtt_ps: int) -> Margin | None:
    """The margin of the first algorithm's fluid model; None without a model or any fixed point."""
    model = fluid_model(scenario, rate, base_rtt_ps)
    if model is None:
        return None
    from shallows.fluid.maps import margin_map

    found = margin_map(model, {"flows": FLOWS})
    degrees: F64 = np.where(found.exists, found.phase_margin_deg, -np.inf)
    if not found.exists.any() or np.isnan(degrees).all():
        return None
    worst = int(np.nanargmin(degrees))
    at_worst = float(degrees[worst]) if found.exists[worst] else np.nan
    return Margin(at_worst, FLOWS[worst], float(np.nanmax(found.queue_bytes)))


def _order(scenario: "Scenario", ports: Sequence[PortExplanation]) -> list[str]:
    """Whether marking acts before pauses at every port, if a setting says where pauses begin."""
    remarks: list[str] = [
        f"{queue.key}.pfc.threshold = {SIZE.text(queue.pauses_begin()[1])} is a default, no setting: whether "
        "PFC acts before ECN is not known"
        for queue in paused(scenario)
        if not _has_threshold(scenario, queue) and queue.marks
    ]
    for port in ports:
        by_key = {level.key: level.bytes for level in port.levels}
        for queue in paused(scenario):
            where, _ = queue.pauses_begin()
            marking = f"{queue.key}.marking"
            pause = by_key.get(where)
            full = by_key.get(f"{marking}.kmax") or by_key.get(f"{marking}.threshold")
            if pause is None or full is None or full <= pause or not _has_threshold(scenario, queue):
                continue
            remarks.append(
                f"{RATE.text(port.rate_bps)}: a lone link is paused from {SIZE.text(round(pause))} on, "
                f"before every packet is marked ({SIZE.text(round(full))}): PFC acts before ECN has its full "
                "effect"
            )
    return remarks


def _has_threshold(scenario: "Scenario", queue: "Queue") -> bool:
    """Whether the scenario gives the threshold of pauses, itself or through its memory."""
    if queue.memory:
        return True
    tables = [scenario.tables.get("network", {})]
    if queue.name:
        tables = [one for one in scenario.tables["classes"] if one["name"] == queue.name] + tables
    pfc = next((table["pfc"] for table in tables if "pfc" in table), None)
    return is_table(pfc) and bool({"threshold", "static_th"} & pfc.keys())


def _stability(ports: Sequence[PortExplanation]) -> list[str]:
    remarks: list[str] = []
    for port in ports:
        if port.margin is None:
            continue
        rate, flows = RATE.text(port.rate_bps), port.margin.flows
        if np.isnan(port.margin.degrees):
            remarks.append(
                f"{rate}: with {flows} flows the fluid model has no fixed point: the queue does not settle"
            )
        elif port.margin.degrees <= 0:
            remarks.append(
                f"{rate}: with {flows} flows the fluid model oscillates ({port.margin.degrees:.1f} degrees)"
            )
    return remarks


def _tuned_elsewhere(scenario: "Scenario", ports: Sequence[PortExplanation]) -> list[str]:
    """Steps of an algorithm that are another share of the rate than in its paper."""
    remarks: list[str] = []
    for used in dict.fromkeys(one.name for one in scenario.algorithms):
        algorithm: Algorithm = next(one for one in scenario.algorithms if one.name == used)
        published = algorithm.published_step
        if published is None:
            continue
        for port in ports:
            factor = algorithm.parameters[published.key] / port.rate_bps / (published.step / published.rate)
            if 1 / TUNED <= factor <= TUNED:
                continue
            times = f"{factor:.3g} times" if factor > 1 else f"1/{1 / factor:.3g} of"
            step, rate = (RATE.text(round(one)) for one in (published.step, published.rate))
            remarks.append(
                f"{RATE.text(port.rate_bps)}: cc.{published.key} = "
                f"{algorithm.table(None)[published.key]} is {times} the share of the rate in "
                f"{published.source} ({step} at {rate}): it is tuned for another rate"
            )
    return remarks
