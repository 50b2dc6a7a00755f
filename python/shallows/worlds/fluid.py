"""The fluid world: the scenario as delay-differential equations, and their solution.

It has one queue, at the port that all flows cross, and flows without an end. Everything else is a
`ScenarioError`. `fluid_models` maps algorithms to models.
"""

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shallows.algorithms.algorithm import choose
from shallows.algorithms.defaults import Scale
from shallows.errors import ScenarioError
from shallows.scenario.resolve import of_network
from shallows.scenario.supported_keys import ALWAYS, World
from shallows.units import NEVER, RATE, SIZE, TIME, did_you_mean
from shallows.worlds.fluid_answer import FluidAnswer
from shallows.worlds.fluid_models import MARKING_ONLY, MODELS, ModelInputs
from shallows.worlds.fluid_path import shared_path

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.core.progress import OnProgress
    from shallows.fluid.model import Model
    from shallows.fluid.trajectory import Flows
    from shallows.results.run import RunData
    from shallows.scenario import Scenario
    from shallows.worlds.fluid_models import Row
    from shallows.worlds.fluid_path import Path


WORLD = World(
    "fluid",
    supported_keys=ALWAYS
    | {"topology.dumbbell", "topology.star", "traffic.long-lived", "traffic.staircase"}
    | {f"network.{key}" for key in ("mtu", "header", "buffer", "marking", "pfc")},
    why={
        "topology": "a fluid has one queue",
        "network": "a fluid has one port, with a buffer of its own",
        "hosts": "a fluid has no packets, acks or timers in its hosts, only rates and one queue",
        "traffic": "a fluid has no flows that end",
        "faults": "a fluid's one port is always up and loses nothing except in its buffer",
        **dict.fromkeys(
            ("traffic.priority", "traffic.class", "classes", "pools"),
            "a fluid has one queue, first in, first out",
        ),
        "ports": "a fluid has one port",
        "traffic.route": "a fluid has one queue",
        "traffic.queue_pairs": "a fluid has one queue",
        "traffic.exchange": "a fluid's flows do not pause",
        "traffic.off": "a fluid's flows do not pause",
        "traffic.rate": "a fluid's flows do not pause",
        "cc.receiver": "a fluid model has the receiver of its own algorithm",
    },
    limits={
        "duration": "a time",
        "topology": "all flows cross one port, over equal round trips",
        "cc": "one algorithm, with a model",
        "network.marking": "the kind of its model",
        "network.pfc": "no pauses: an unlimited buffer",
        "record.ports": "the one port",
    },
    partial={
        "network.pfc": "a fluid pauses nobody: its queue has no limit, and senders alone keep it short",
    },
)
MOST_VALUES = 16_000_000
"""The most numbers of a trajectory that are kept, 128 MB: longer ones are sampled."""


def run(scenario: "Scenario", on_progress: "OnProgress | None" = None) -> "RunData":
    """Integrate the model of `scenario`'s algorithm and return its `Run`.

    `on_progress` is called as in the packet world, without packets or finished flows; a `KeyboardInterrupt`
    ends the run early. Raises `ScenarioError`, like `check`.
    """
    from shallows.fluid.trajectory import trajectory
    from shallows.results.answer import Answer
    from shallows.results.run import RunData

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
    answer = FluidAnswer(scenario, path, fluid, class_of).columns()
    wall_s = time.perf_counter() - started
    results = Answer(scenario, path.network, scenario.flows, answer)
    return RunData.from_answer(results, wall_s, "fluid")


def check(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for a scenario that a fluid cannot express."""
    translate(scenario)


def translate(scenario: "Scenario") -> "tuple[Path, Model, list[Flows], NDArray[np.intp]]":
    """(path, model, classes of flows, the class of every flow) of a scenario.

    Flows that start and stop together are one class. Raises `ScenarioError`.
    """
    from shallows import fluid

    try:
        WORLD.refuse(scenario)
        row, given = _algorithm(scenario)
        path = shared_path(scenario)
        _check_duration(scenario, path)
        given = replace(
            given,
            packet_s=8 * scenario.mtu / path.rate_bps,
            marking=_marking(scenario, path),
            switches=path.switches,
        )
        _check_parameters(scenario, row, given)
        _check_start_rate(scenario, given, path)
        _check_drops(scenario)
        buffer = scenario.buffer
        model = replace(
            fluid.MODELS[row.model](),
            flows=len(scenario.flows),
            rate=float(path.rate_bps),
            delay=path.base_rtt_s - (given.packet_s if row.sends_apart else 0.0),
            mtu=float(scenario.mtu),
            buffer=np.inf if buffer == NEVER else float(buffer),
            **{name: given.get(source) for name, source in row.parameters.items()},
        )
    except ScenarioError as error:
        raise scenario.origin.locate(error) from None
    return path, model, *_classes(scenario, row, given)


def _check_duration(scenario: "Scenario", path: "Path") -> None:
    """Raise `ScenarioError` if a run ends before the first feedback arrives."""
    trip_ps = round(path.base_rtt_s * 1e12)
    if scenario.duration < trip_ps:
        expected = f"at least {TIME.text(trip_ps)}, a round trip: before that there is no feedback"
        raise ScenarioError("duration", TIME.text(scenario.duration), expected)


def _algorithm(scenario: "Scenario") -> "tuple[Row, ModelInputs]":
    """(row, its inputs) of the one algorithm that all flows have."""
    _check_traffic(scenario)
    used, key = scenario.flows.ccs[0], _cc_key(scenario)
    marking = scenario.marking
    kind = marking and marking.kind
    row = MODELS.get((used.name, kind)) or MODELS.get((used.name, None))
    if row is None:
        kinds = [kind for name, kind in MODELS if name == used.name and kind]
        if kinds:
            expected = f"{' or '.join(kinds)}, the markings of the fluid models of {used.name}"
            raise ScenarioError("network.marking.kind", kind, expected)
        names = list(dict.fromkeys(name for name, _ in MODELS))
        expected = f"an algorithm with a fluid model ({', '.join(names)}){did_you_mean(used.name, names)}"
        raise ScenarioError(f"{key}.name", used.label, expected)
    at = marking.at if marking else ""
    if row.at not in (None, at):
        expected = f'"{row.at}", as in the fluid model of {used.name}'
        raise ScenarioError("network.marking.at", at, expected)
    return row, ModelInputs(used.parameters, {}, at, scenario.mtu, scenario.frame.payload, 0.0, 0)


def _cc_key(scenario: "Scenario") -> str:
    return "cc" if scenario.traffic[0].cc is None else "traffic[0].cc"


def _check_traffic(scenario: "Scenario") -> None:
    first = scenario.algorithms[0]
    for i, used in enumerate(scenario.algorithms):
        if used != first:
            expected = f"the algorithm and parameters of traffic[0], {first.label}: a fluid has one model"
            raise ScenarioError(f"traffic[{i}].cc", used.label, expected)


def _check_parameters(scenario: "Scenario", row: "Row", given: ModelInputs) -> None:
    """Refuse values that the model does not cover, and parameters that are set and that it does not have."""
    used, key, reads = scenario.flows.ccs[0], _cc_key(scenario), row.reads(given)
    printed, table = choose(used.label, scenario.frame), used.table(scenario.mtu)
    default = of_network(printed, Scale.of(scenario.graph, scenario.mtu))
    for name, value in row.only.items():
        if used.parameters[name] != value:
            wanted = replace(used, parameters=used.parameters | {name: value}).table(scenario.mtu)[name]
            expected = f"{json.dumps(wanted)}: the fluid model of {used.name} supports only that"
            raise ScenarioError(f"{key}.{name}", table[name], expected)
    for name in used.parameters.keys() - reads - row.only.keys():
        accepted = (default.parameters[name], printed.parameters[name], row.same.get(name))
        if name in used.chosen and used.parameters[name] not in accepted:
            instead = json.dumps(default.table(scenario.mtu)[name])
            expected = f"{instead}, the default: it is not part of the fluid model of {used.name}"
            raise ScenarioError(f"{key}.{name}", table[name], expected)


def _marking(scenario: "Scenario", path: "Path") -> dict[str, float]:
    """The parameters of the marking at the bottleneck."""
    marking = scenario.marking
    if marking is None:
        return {}
    points, _ = marking.at_rates(np.array([path.rate_bps], np.uint64))
    return points[0]["parameters"]


def _classes(scenario: "Scenario", row: "Row", given: ModelInputs) -> "tuple[list[Flows], NDArray[np.intp]]":
    """(classes, the class of every flow): flows that start and stop together share a class."""
    from shallows.fluid.trajectory import Flows

    flows = scenario.flows
    alike = np.column_stack([flows.start_ps, flows.stop_ps])
    kinds, class_of, counts = np.unique(alike, axis=0, return_inverse=True, return_counts=True)
    state = {symbol: float(given.get(source)) for symbol, source in row.states.items()}
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


def _check_start_rate(scenario: "Scenario", given: ModelInputs, path: "Path") -> None:
    """At twice the capacity the queue's delay grows as fast as time, so no feedback arrives (eq. 24)."""
    start_rate, most = given.cc.get("start_rate", 0.0), 2 * path.rate_bps / len(scenario.flows)
    if start_rate >= most:
        expected = f"less than {RATE.text(round(most))}: at twice the link's rate no feedback arrives"
        raise ScenarioError(f"{_cc_key(scenario)}.start_rate", RATE.text(round(start_rate)), expected)


def _check_drops(scenario: "Scenario") -> None:
    """Refuse ports that drop what they would mark, and what the models of RED leave out.

    A fluid loses nothing except in its buffer, and its RED looks at the queue of the moment.
    """
    used, marking = scenario.flows.ccs[0], scenario.marking
    if marking is None:
        return
    for name, value in MARKING_ONLY.items():
        if marking.parameters.get(name, value) != value:
            instead = json.dumps(replace(marking, parameters={name: value}).table(scenario.mtu)[name])
            expected = f"{instead}: the fluid model supports only that"
            raise ScenarioError(f"network.marking.{name}", marking.table(scenario.mtu)[name], expected)
    if marking.cells:
        expected = "no cell: the fluid model compares the queue in bytes"
        raise ScenarioError("network.marking.cell", SIZE.text(marking.cells.size), expected)
    if marking.drops and not used.needs_marking and not scenario.network.pfc:
        why = f"ports would drop data of {used.name}, which is not ECN-capable, instead of marking it"
        raise ScenarioError("network.marking.nodrop", None, f'true, or marking = "none": {why}')
