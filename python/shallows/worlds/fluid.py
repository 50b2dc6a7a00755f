"""The fluid world: the scenario as delay-differential equations, and the run they give.

It has one queue, at the port that all flows cross, and flows without an end. What it cannot express is a
`ScenarioError`. `fluid_models` says which algorithm is which model.
"""

import hashlib
import json
import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shallows import contract
from shallows.algorithm import choose
from shallows.errors import ScenarioError
from shallows.routing import Routes
from shallows.supported_keys import ALWAYS, World
from shallows.units import NEVER, RATE, TIME, did_you_mean
from shallows.worlds.fluid_models import MODELS, PROBES, ModelInputs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.contract import F64
    from shallows.fluid.trajectory import Trajectory
    from shallows.results.run import Run
    from shallows.runner import OnProgress
    from shallows.scenario import Scenario
    from shallows.topology import Network
    from shallows.worlds.fluid_models import Row


WORLD = World(
    "fluid",
    supported_keys=ALWAYS
    | {"topology.dumbbell", "topology.star", "traffic.long-lived", "traffic.staircase"}
    | {f"network.{key}" for key in ("mtu", "header", "buffer", "marking")},
    why={
        "topology": "a fluid has one queue",
        "network": "a fluid has one port, with a buffer of its own",
        "hosts": "a fluid has no packets, acks or timers in its hosts, only rates and one queue",
        "traffic": "a fluid has no flows that end",
        "faults": "a fluid's one port is always up and loses nothing but by its buffer",
        "traffic.priority": "a fluid has one queue, first in, first out",
        "traffic.exchange": "a fluid's flows do not pause",
        "traffic.off": "a fluid's flows do not pause",
        "cc.receiver": "a fluid model has the receiver of its own algorithm",
    },
    limits={
        "duration": "a time",
        "topology": "all flows cross one port, over equal round trips",
        "cc": "one algorithm, with a model",
        "network.marking": "the kind of its model",
        "record.ports": "the one port",
    },
)
MOST_VALUES = 16_000_000
"""Numbers of a trajectory that are kept, 128 MB: of a longer one only every so many steps."""
HISTOGRAM_BINS = 400
LOST_SHARE = 1e-3
"""Of what arrived: a larger gap between arrivals and departures is a problem of the books."""


def run(scenario: "Scenario", on_progress: "OnProgress | None" = None) -> "Run":
    """Integrate the model of `scenario`'s algorithm and return its `Run`.

    `on_progress` is called as the packet world calls it, without packets or finished flows; a
    `KeyboardInterrupt` ends the run early with what there is. Raises `ScenarioError`, as `check` does.
    """
    from shallows.fluid.trajectory import trajectory
    from shallows.results import Run

    path, model, classes, class_of = translate(scenario)

    def progress(time_s: float) -> None:
        if on_progress is not None:
            on_progress(round(time_s * 1e12), 0, 0)

    started = time.perf_counter()
    duration_s = scenario.duration * 1e-12
    fluid = trajectory(
        model, duration_s, flows=classes, on_progress=progress,
        sample_s=duration_s * len(classes) * (1 + len(model.system.flow)) / MOST_VALUES,
    )  # fmt: skip
    answer = _Answer(scenario, path, fluid, class_of).columns()
    wall_s = time.perf_counter() - started
    return Run.from_answer(scenario, path.network, scenario.flows, answer, wall_s, world="fluid")


def check(scenario: "Scenario") -> None:
    """Raises `ScenarioError` for what a fluid cannot express."""
    translate(scenario)


def translate(scenario: "Scenario") -> Any:
    """(path, model, classes of flows, the class of every flow) of a scenario.

    Flows that start and stop together are one class. Raises `ScenarioError`.
    """
    from shallows import fluid

    try:
        WORLD.refuse(scenario)
        row, given = _algorithm(scenario)
        path = _path(scenario)
        _check_duration(scenario, path)
        given = replace(given, packet_s=8 * scenario.mtu / path.rate_bps, marking=_marking(scenario, path))
        _check_parameters(scenario, row, given)
        _check_start_rate(scenario, given, path)
        buffer = scenario.network_options.buffer
        model = fluid.MODELS[row.model](
            flows=len(scenario.flows),
            rate=float(path.rate_bps),
            delay=path.base_rtt_s - (given.packet_s if row.sends_apart else 0.0),
            mtu=float(scenario.mtu),
            buffer=np.inf if buffer == NEVER else float(buffer),
            **{name: given.get(source) for name, source in row.parameters.items()},
        )
    except ScenarioError as error:
        raise error.in_file(scenario.file) from None
    return path, model, *_classes(scenario, row, given)


def _check_duration(scenario: "Scenario", path: Any) -> None:
    """Raise `ScenarioError` where a run ends before anything has come back: it would be a step or two."""
    trip_ps = round(path.base_rtt_s * 1e12)
    if scenario.duration < trip_ps:
        expected = f"at least {TIME.text(trip_ps)}, a round trip: before that a fluid has heard nothing"
        raise ScenarioError("duration", TIME.text(scenario.duration), expected)


def _algorithm(scenario: "Scenario") -> "tuple[Row, ModelInputs]":
    """(row, what it reads) of the one algorithm that all flows have."""
    _check_traffic(scenario)
    used, key = scenario.flows.ccs[0], _cc_key(scenario)
    marking: Any = scenario.network_options.marking
    kind = None if marking == "none" else marking.kind
    row = MODELS.get((used.name, kind)) or MODELS.get((used.name, None))
    if row is None:
        kinds = [kind for name, kind in MODELS if name == used.name and kind]
        if kinds:
            expected = f"{' or '.join(kinds)}, by which the fluid models of {used.name} mark"
            raise ScenarioError("network.marking.kind", kind, expected)
        names = list(dict.fromkeys(name for name, _ in MODELS))
        expected = f"an algorithm with a fluid model ({', '.join(names)}){did_you_mean(used.name, names)}"
        raise ScenarioError(f"{key}.name", used.label, expected)
    at = getattr(marking, "at", "")
    if row.at not in (None, at):
        expected = f'"{row.at}", as in the fluid model of {used.name}'
        raise ScenarioError("network.marking.at", at, expected)
    return row, ModelInputs(used.parameters, {}, at, scenario.mtu, 0.0)


def _cc_key(scenario: "Scenario") -> str:
    return "cc" if scenario.traffic[0].cc is None else "traffic[0].cc"


def _check_traffic(scenario: "Scenario") -> None:
    for i, table in enumerate(scenario.traffic):
        used, first = (one.cc or scenario.cc for one in (table, scenario.traffic[0]))
        if used != first:
            expected = f"the algorithm and parameters of traffic[0], {first.label}: a fluid has one model"
            raise ScenarioError(f"traffic[{i}].cc", used.label, expected)


def _check_parameters(scenario: "Scenario", row: "Row", given: ModelInputs) -> None:
    """The model stands for some values only, and leaves some parameters out."""
    used, key, reads = scenario.flows.ccs[0], _cc_key(scenario), row.reads(given)
    default, table = choose(used.label, scenario.frame), used.table(scenario.mtu)
    for name, value in row.only.items():
        if used.parameters[name] != value:
            wanted = replace(used, parameters=used.parameters | {name: value}).table(scenario.mtu)[name]
            expected = f"{json.dumps(wanted)}: the fluid model of {used.name} has nothing else"
            raise ScenarioError(f"{key}.{name}", table[name], expected)
    for name in used.parameters.keys() - reads - row.only.keys():
        if used.parameters[name] not in (default.parameters[name], row.same.get(name)):
            instead = json.dumps(default.table(scenario.mtu)[name])
            expected = f"{instead}, the default: it is not part of the fluid model of {used.name}"
            raise ScenarioError(f"{key}.{name}", table[name], expected)


def _marking(scenario: "Scenario", path: "Path") -> dict[str, float]:
    """The parameters of the marking at the bottleneck."""
    if scenario.network_options.marking == "none":
        return {}
    points, _ = scenario.network_options.marking.at_rates(np.array([path.rate_bps]), scenario.mtu)
    return points[0]["parameters"]


@dataclass(frozen=True)
class Path:
    """What all flows share. `link` is the bottleneck's number, `network` one of this link alone."""

    link: int
    rate_bps: int
    base_rtt_s: float
    network: object


def _path(scenario: "Scenario") -> Path:
    """The `Path` of the flows. Raises `ScenarioError` where a fluid of one queue would not be like it."""
    network, flows = scenario.network, scenario.flows
    ends = np.unique(np.column_stack([flows.src, flows.dst]), axis=0)
    routes = Routes(network)
    ways = [routes.path(*pair)[::-1].tolist() for pair in ends]
    shared = [link for link in ways[0] if all(link in way for way in ways) and not network.is_nic[link]]
    if not shared:
        raise ScenarioError("traffic", None, "flows that all cross one switch port: a fluid has one queue")
    link = min(shared, key=lambda link: network.rate_bps[link])
    _check_other_ports(
        scenario, link, {tuple(pair): way for pair, way in zip(ends.tolist(), ways, strict=True)}
    )
    rtts = {_base_rtt_ps(scenario, way) for way in ways}
    if len(rtts) > 1:
        times = " and ".join(TIME.text(round(rtt)) for rtt in sorted(rtts))
        raise ScenarioError("traffic", None, f"paths with one round trip, not {times}")
    ports: Any = scenario.record.ports
    if isinstance(ports, list) and link not in network.recorded_ports:
        expected = f"{network.port_names[link]}, the only queue of a fluid"
        raise ScenarioError("record.ports", ", ".join(scenario.record.ports), expected)
    return Path(link, int(network.rate_bps[link]), rtts.pop() * 1e-12, _only(network, link))


def _check_other_ports(scenario: "Scenario", link: int, ways: dict[tuple[int, int], list[int]]) -> None:
    """No other port may fill: not one before the bottleneck even at equal rates, for it would queue first."""
    network, flows = scenario.network, scenario.flows
    capacity = int(network.rate_bps[link])
    crossing: dict[int, int] = {}
    before: dict[int, bool] = {}
    for pair in zip(flows.src.tolist(), flows.dst.tolist(), strict=True):
        way = ways[pair]
        for place, other in enumerate(way):
            crossing[other] = crossing.get(other, 0) + 1
            before[other] = place < way.index(link)
    for other, count in crossing.items():
        share_bps, rate_bps = capacity * count / len(flows), int(network.rate_bps[other])
        if other == link or share_bps < rate_bps or (share_bps == rate_bps and not before[other]):
            continue
        name = network.port_names[other]
        expected = f"a queue at {network.port_names[link]} alone: {name}, with {count} of {len(flows)} flows"
        if scenario.topology.kind == "dumbbell" and rate_bps <= capacity:
            expected += ", would fill too; give it a higher rate, or the flows more hosts"
            raise ScenarioError("topology.edge_rate", RATE.text(rate_bps), expected)
        raise ScenarioError("traffic", None, f"{expected}, would fill too; give the flows more hosts")


def _base_rtt_ps(scenario: "Scenario", way: list[int]) -> float:
    """A full frame there and an acknowledgement back over empty links, stored and forwarded at each."""
    network, frame = scenario.network, scenario.frame
    delay = 2 * int(network.delay_ps[way].sum())
    return delay + float((8e12 * (frame.wire + frame.header) / network.rate_bps[way]).sum())


def _only(network: "Network", link: int) -> "Network":
    """The network with this link alone, recorded."""
    one = slice(link, link + 1)
    columns = {name: getattr(network, name)[one] for name in ("link_from", "link_to", "rate_bps", "delay_ps")}
    return replace(
        network, **columns, bottlenecks=np.zeros(1, np.uint32), recorded_ports=np.zeros(1, np.uint32)
    )


def _classes(scenario: "Scenario", row: "Row", given: ModelInputs) -> "tuple[list[Any], NDArray[Any]]":
    """(classes, the class of every flow): flows that start and stop together are alike."""
    from shallows.fluid.trajectory import Flows

    flows = scenario.flows
    alike = np.column_stack([flows.start_ps, flows.stop_ps])
    kinds, class_of, counts = np.unique(alike, axis=0, return_inverse=True, return_counts=True)
    state = {symbol: given.get(source) for symbol, source in row.states.items()}
    classes = [
        Flows(
            count=float(count),
            rate_bps=given.cc.get("start_rate") or None,
            start_s=start * 1e-12,
            stop_s=np.inf if stop == NEVER else stop * 1e-12,
            state=state,
        )
        for (start, stop), count in zip(kinds.tolist(), counts.tolist(), strict=True)
    ]
    return classes, class_of.reshape(-1)


def _check_start_rate(scenario: "Scenario", given: ModelInputs, path: Path) -> None:
    """At twice the capacity the queue's delay grows as fast as time, so no flow ever hears of it (eq. 24)."""
    start_rate, most = given.cc.get("start_rate", 0.0), 2 * path.rate_bps / len(scenario.flows)
    if start_rate >= most:
        expected = f"less than {RATE.text(round(most))}: at twice the link's rate the feedback stands still"
        raise ScenarioError(f"{_cc_key(scenario)}.start_rate", RATE.text(round(start_rate)), expected)


class _Answer:
    """A trajectory as the answer that every world gives (docs/crossing.md)."""

    def __init__(
        self, scenario: "Scenario", path: Path, fluid: "Trajectory", class_of: "NDArray[Any]"
    ) -> None:
        self.scenario, self.path, self.fluid, self.class_of = scenario, path, fluid, class_of
        self.time_s, self.queue = fluid.time_s, fluid.queue_bytes
        self.ended_s = float(self.time_s[-1]) if fluid.interrupted else scenario.duration * 1e-12
        self.counted = self.time_s >= min(scenario.warmup * 1e-12, self.time_s[-1])
        self.measured_s = self.ended_s - min(scenario.warmup * 1e-12, self.ended_s)
        self.capacity = float(path.rate_bps)

    @cached_property
    def arriving(self) -> "F64":
        """[T] bit/s into the port."""
        return self.fluid.total_bps

    @cached_property
    def leaving(self) -> "F64":
        """[T] bit/s out of it: all it can while there is a queue."""
        return np.where(self.queue > 0, self.capacity, np.minimum(self.arriving, self.capacity))

    @cached_property
    def dropping(self) -> "F64":
        """[T] bit/s that a full buffer has no room for."""
        full = self.queue >= self.fluid.model.buffer
        return np.where(full, np.maximum(self.arriving - self.capacity, 0.0), 0.0)

    @cached_property
    def payload_bps(self) -> "F64":
        """[F, T] what of each class arrives at its receivers: its share of what leaves, without headers."""
        share = np.divide(self.leaving, self.arriving, out=np.zeros_like(self.queue), where=self.arriving > 0)
        return self.fluid.rates_bps * share * (self.scenario.frame.payload / self.scenario.mtu)

    def columns(self) -> contract.Answer:
        """The answer; a fluid has no packets, no credits, no classes and no pauses."""
        mean = self.payload_bps[:, self.counted].mean(axis=1)[self.class_of] / 8
        whole = self.payload_bps.mean(axis=1)[self.class_of] / 8
        flows = contract.zeros(contract.FlowColumns, len(self.class_of))
        goodput = np.rint(mean * self.measured_s).astype(np.uint64)
        probes, names = self._probes()
        return {
            "fingerprint": self._fingerprint(),
            "events": round(self.ended_s / self.fluid.step_s),
            "packet_hops": 0,
            "ended_ps": round(self.ended_s * 1e12),
            "measured_ps": round(self.measured_s * 1e12),
            "interrupted": self.fluid.interrupted,
            "flows": {
                **flows,
                "start_ps": self.scenario.flows.start_ps,
                "finish_ps": flows["finish_ps"] + np.uint64(NEVER),
                "delivered_bytes": np.rint(whole * self.ended_s).astype(np.uint64),
                "goodput_bytes": goodput,
                "goodput_by_stop_bytes": goodput,
            },
            "ports": self._port(),
            "classes": contract.zeros(contract.ClassColumns, 0),
            "deadlock": {"links": np.empty(0, np.uint32), "time_ps": 0},
            "queues": self._queue(),
            "queue_histograms": [self._histogram()],
            "probes": probes,
            "probe_names": names,
            "books": self._books(),
            "threads": None,
            "lateness": None,
        }

    def _fingerprint(self) -> str:
        seen = self.queue.tobytes() + np.ascontiguousarray(self.fluid.rates_bps).tobytes()
        return hashlib.blake2b(seen, digest_size=8).hexdigest()

    def _bytes(self, bps: "F64") -> Any:
        """How many bytes a rate [T] carried after the warm-up."""
        return bps[self.counted].mean() * self.measured_s / 8

    def _packets(self, bps: "F64") -> Any:
        """And how many packets: [1]."""
        return np.array([round(self._bytes(bps) / self.scenario.mtu)], np.uint64)

    def _port(self) -> contract.PortColumns:
        queue, frame = self.queue[self.counted], self.scenario.mtu
        median, nearly_all = np.quantile(queue, (0.50, 0.99))
        ps_per_byte = 8e12 / self.capacity
        arriving = self.arriving[self.counted]
        seen = np.average(queue, weights=arriving) if arriving.any() else 0.0
        p = self.fluid.internals.get("p", np.zeros(1))
        marking = np.zeros_like(self.queue) if p.shape != self.queue.shape else p * self.leaving
        busy_s = 8 * self._bytes(self.leaving) / self.capacity
        return {
            **contract.zeros(contract.PortColumns, 1),
            "sent": self._packets(self.leaving),
            "sent_bytes": np.array([round(self._bytes(self.leaving))], np.uint64),
            "marked": self._packets(marking),
            "dropped": self._packets(self.dropping),
            "busy_ps": np.array([round(busy_s * 1e12)], np.uint64),
            "queue_mean_bytes": np.array([queue.mean()]),
            "queue_p50_bytes": np.array([median]),
            "queue_p99_bytes": np.array([nearly_all]),
            "queue_max_bytes": np.array([queue.max()]),
            "delay_mean_ps": np.array([(seen + frame) * ps_per_byte]),
            "delay_p99_ps": np.array([(nearly_all + frame) * ps_per_byte]),
        }

    def _sampled(self, interval_ps: int) -> Any:
        """The places in the trajectory nearest to the times of samples; none where the interval is 0."""
        if not interval_ps:
            return np.empty(0, np.int64)
        times = np.arange(0, self.ended_s + 1e-15, interval_ps * 1e-12)
        return np.unique(np.clip(np.searchsorted(self.time_s, times), 0, len(self.time_s) - 1))

    def _times_ps(self, places: "NDArray[Any]") -> Any:
        return np.rint(self.time_s[places] * 1e12).astype(np.uint64)

    def _queue(self) -> Any:
        places = self._sampled(self.scenario.record.queues)
        queue = np.rint(self.queue[places]).astype(np.uint32)
        return {"time_ps": self._times_ps(places), "bytes": queue[np.newaxis]}

    def _histogram(self) -> Any:
        """Bins of one width; a queue that is empty is a bin of its own."""
        queue = self.queue[self.counted]
        most = max(float(queue.max()), 1.0) * (1 + 1e-9)
        edges: NDArray[Any] = np.linspace(0.0, most, HISTOGRAM_BINS + 1)
        counts, _ = np.histogram(queue, edges)
        time_ps = counts * (self.measured_s * 1e12 / max(len(queue), 1))
        return {"edges_bytes": edges, "time_ps": np.rint(time_ps).astype(np.uint64)}

    def _probes(self) -> Any:
        """(samples of the flows that are there, what they are of)."""
        places = self._sampled(self.scenario.record.probes)
        series = self._series()
        present = self.fluid.rates_bps[:, places] > 0
        keys = ("time_ps", "flow", "name", "value")
        columns: dict[str, list[NDArray[Any]]] = {key: [] for key in keys}
        for flow in self.scenario.probed_flows:
            one = self.class_of[flow]
            chosen = places[present[one]]
            for code, values in enumerate(series.values()):
                columns["time_ps"].append(self._times_ps(chosen))
                columns["flow"].append(np.full(len(chosen), flow, np.uint32))
                columns["name"].append(np.full(len(chosen), code, np.uint16))
                columns["value"].append(values[one][chosen])
        return {key: np.concatenate(of) for key, of in columns.items()}, list(series)

    def _series(self) -> Any:
        """Name of a probe -> [F, T]."""
        rtt_us = (self.path.base_rtt_s + 8 * self.queue / self.capacity) * 1e6
        series = {
            "rate_gbps": self.payload_bps / 1e9,
            "rtt_us": np.broadcast_to(rtt_us, self.fluid.rates_bps.shape),
        }
        for column, (name, scale) in PROBES.items():
            values = self.fluid.internals.get(column)
            if values is not None and values.ndim == 2:
                series[name] = values * scale
        return series

    def _unresolved(self) -> Any:
        """Bits that samples cannot tell: what a step carries, whenever the queue empties or fills."""
        edges = np.diff(self.queue > 0), np.diff(self.queue >= self.fluid.model.buffer)
        changes = 1 + sum(int(np.count_nonzero(edge)) for edge in edges)
        step_s = float(np.max(np.diff(self.time_s), initial=0.0))
        return changes * step_s * max(self.capacity, float(self.arriving.max()))

    def _books(self) -> Any:
        """What arrived is what left, was dropped, or is queued."""
        span_s, bits = self.ended_s, 8 * (self.queue[-1] - self.queue[0])
        came, went, lost = (
            float(rate.mean()) * span_s for rate in (self.arriving, self.leaving, self.dropping)
        )
        gap = abs(came - went - lost - bits)
        problems = []
        if gap > LOST_SHARE * came + self._unresolved():
            problems = [f"{gap / 8:.0f} bytes of the fluid are neither sent, nor dropped, nor queued"]
        return {"closed": not problems, "problems": problems}
