"""The packet world: the request of a scenario (docs/crossing.md), and its run."""

import time
from typing import TYPE_CHECKING

from shallows.errors import ScenarioError
from shallows.results import settling
from shallows.scenario import addends, needs
from shallows.scenario.faults import goodput
from shallows.scenario.request import request
from shallows.scenario.supported_keys import ALWAYS, World
from shallows.scenario.tables import HostTable, NetworkTable
from shallows.topology import KINDS as TOPOLOGIES
from shallows.traffic import KINDS as TRAFFICS

if TYPE_CHECKING:
    from shallows.core.contract import Answer as CoreAnswer
    from shallows.core.progress import OnProgress
    from shallows.results.run import RunData
    from shallows.scenario import Scenario
    from shallows.scenario.faults.goodput import Record


WORLD = World(
    "packet",
    supported_keys=ALWAYS
    | {f"topology.{kind}" for kind in TOPOLOGIES}
    | {f"traffic.{kind}" for kind in TRAFFICS}
    | {f"network.{key}" for key in NetworkTable.key_names()}
    | {f"hosts.{key}" for key in HostTable.key_names()}
    | {f"traffic.{key}" for key in ("priority", "class", "route", "queue_pairs", "exchange", "off", "rate")}
    | {"cc.receiver", "faults"}
    | {"classes", "pools", "ports"},
)


_KEYS = {"balancing": "network.balancing", "routes.flow": "traffic.route"}
"""Keys of a scenario by those of the request, where the core alone has a rule."""


def check(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for an algorithm of a kernel, or a request that the core refuses."""
    from shallows import _core

    WORLD.refuse(scenario)
    for used in scenario.flows.ccs:
        if used.native:
            raise ScenarioError(
                "cc.name", used.label, "an algorithm of the catalog: only --world kernel has this one"
            )
    if mistake := _core.check(request(scenario)):
        key, value, expected = mistake
        raise ScenarioError(_KEYS.get(key, key), value, expected)


def check_catalog(scenario: "Scenario", why: str) -> None:
    """Raise `ScenarioError` for an algorithm in Python, which another program cannot have: `why` says so."""
    for used in scenario.flows.ccs:
        if used.user_class:
            raise ScenarioError("cc.name", used.label, f"an algorithm of the catalog: {why}")


def run(scenario: "Scenario", on_progress: "OnProgress | None" = None, threads: int | None = 1) -> "RunData":
    """Simulate every packet of `scenario` and return its `Run`.

    `on_progress(now_ps, packet_hops, flows_finished)` is called a few times a second; a `KeyboardInterrupt`
    that it raises ends the run early. The run is the same for any number of `threads`; by default there are
    as many as speed it up.
    """
    from shallows import _core

    needs.check_run(scenario)
    started = time.perf_counter()
    asked = request(scenario)
    record = goodput.record(scenario, asked)
    asked["record"]["goodput"] = record or settling.record(scenario)
    answer = _core.simulate(asked, on_progress, threads)
    return of_answer(scenario, answer, time.perf_counter() - started, record)


def of_answer(
    scenario: "Scenario", answer: "CoreAnswer", wall_s: float, record: "Record | None" = None
) -> "RunData":
    """The run of `scenario`, of which `answer` is the core's, and `record` the samples that it has."""
    from shallows.results.answer import Answer
    from shallows.results.run import RunData

    answer["flows"]["start_ps"] = addends.from_core(scenario, answer["flows"]["start_ps"])
    return RunData.from_answer(Answer(scenario, scenario.graph, scenario.flows, answer, record), wall_s)
