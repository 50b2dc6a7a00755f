"""The wire world: the hosts and switches of the packet world in real time, whose packets are UDP datagrams.

All hosts are in one thread, all switches in another, and the datagrams cross loopback. It needs no root. A
busy machine makes packets late: late runs are rejected and repeated as in the kernel world.
"""

import platform
from functools import cache
from typing import TYPE_CHECKING

from shallows.algorithms.algorithm import traits_of
from shallows.base.garbage import uncollected
from shallows.errors import ScenarioError
from shallows.scenario.supported_keys import ALWAYS, World
from shallows.scenario.tables import HostTable, NetworkTable
from shallows.topology import KINDS as TOPOLOGIES
from shallows.topology.routing import Routes
from shallows.traffic import KINDS as TRAFFICS
from shallows.units import NEVER, RATE, TIME
from shallows.worlds import machine, packet, real_time
from shallows.worlds.kernel_links import fair_shares

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shallows.core.contract import Answer
    from shallows.core.progress import OnProgress
    from shallows.results.run import RunData
    from shallows.scenario import Scenario


WHY_NOT = {
    "network.pfc": "switches and hosts are in two threads, and a pause would come too late",
    "network.shared": "its ports have a buffer each",
    **dict.fromkeys(
        (f"network.{key}" for key in ("balancing", "entropies", "flowlet_gap")),
        "every flow has one path, so that a datagram is checked against it",
    ),
    "network.convergence": "its links never fail",
    "hosts.piggyback": "acks that ride on data are beside the packets, and only packets become datagrams",
    "pools": "its ports have a buffer each",
    "faults": "its links never fail",
}
WORLD = World(
    "wire",
    supported_keys=ALWAYS
    | {f"topology.{kind}" for kind in TOPOLOGIES}
    | {f"traffic.{kind}" for kind in TRAFFICS}
    | {f"network.{key}" for key in NetworkTable.key_names()} - set(WHY_NOT)
    | {f"hosts.{key}" for key in HostTable.key_names()} - set(WHY_NOT)
    | {f"traffic.{key}" for key in ("priority", "class", "route", "queue_pairs", "exchange", "off", "rate")}
    | {"cc.receiver"}
    | {"classes", "ports"},
    why=WHY_NOT,
    limits={"duration": "a time", "classes": "without `pfc` and `pool`"},
)
RUNS = 3
ATTEMPTS = 5
SHORTEST_RTT = 500_000_000
"""The shortest round trip of a delay-based algorithm, in picoseconds: lateness of some 10 us is 2 % of it."""
CALIBRATION_S = 1.0
MOST_LOAD = 0.5
"""The largest share of the datagrams that the machine carries: the rest is for ports and transports."""


def need_linux(key: str, value: str) -> None:
    """Raise `ScenarioError` on other systems, whose core is built without the wire world."""
    if platform.system() != "Linux":
        raise ScenarioError(key, value, "Linux, which passes many datagrams in one system call")


def check(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for a scenario that hosts in user space on one machine cannot run."""
    need_linux("world", "wire")
    WORLD.refuse(scenario)
    packet.check(scenario)
    for used in scenario.flows.ccs:
        check_algorithm("cc.name", used.name, used.label, used.parameters)
    if scenario.duration == NEVER:
        expected = 'a time, such as "2s": the wire world runs in real time'
        raise ScenarioError("duration", "until-done", expected)
    for number, given in enumerate(scenario.classes):
        for key in ("pfc", "pool"):
            if getattr(given, key):
                raise ScenarioError(f"classes[{number}].{key}", None, f"none: {WHY_NOT['network.pfc']}")
    wait = scenario.flows.wait
    if wait and wait.everywhere.any():
        expected = "traffic whose hosts learn by packets that others have finished"
        raise ScenarioError("traffic", None, expected)
    _check_round_trips(scenario)


def check_algorithm(key: str, name: str, label: str, parameters: "Mapping[str, object]") -> None:
    """Raise `ScenarioError` for an algorithm that sends one flow over many paths, or probes."""
    probes = traits_of(name)["probes"]
    if probes and parameters.get(probes[0]) and parameters.get(probes[1], True):
        expected = f"an algorithm without probes, such as {name}: datagrams carry data and its answers"
        raise ScenarioError(key, label, expected)
    if traits_of(name)["chooses_paths"]:
        expected = f"an algorithm with one path for a flow, such as nscc: {WHY_NOT['network.balancing']}"
        raise ScenarioError(key, label, expected)


def _check_round_trips(scenario: "Scenario") -> None:
    """Refuse delay-based algorithms where the machine's own delays are a large part of a round trip."""
    delays, routes = scenario.graph.delay_ps, Routes(scenario.graph)
    flows = scenario.flows
    for src, dst, number in zip(flows.src.tolist(), flows.dst.tolist(), flows.cc.tolist(), strict=True):
        used = flows.ccs[int(number)]
        if not used.traits["reacts_to_delay"]:
            continue
        rtt = int(delays[routes.path(src, dst)].sum() + delays[routes.path(dst, src)].sum())
        if rtt < SHORTEST_RTT:
            expected = (
                f"at least {TIME.text(SHORTEST_RTT)} for {used.label}, which may measure delays: this machine"
                " adds some 10 us to them"
            )
            raise ScenarioError("topology.rtt", TIME.text(rtt), expected)


def run(
    scenario: "Scenario", on_progress: "OnProgress | None" = None, repeats: int | None = None
) -> "RunData":
    """Run `scenario` in real time `repeats` times (`RUNS`) and return the median `Run`.

    The median is that of the mean queue at the bottleneck; `spread` in the summary has the differences. A run
    in which the machine was late is rejected and repeated, up to `ATTEMPTS` times; if none is accepted, the
    last one is returned with books that do not close. Runs in real time wait for each other (`machine`).
    """
    from shallows import _core

    check(scenario)
    request = packet.request(scenario)

    def ask(attempt: int) -> "Answer":
        return _core.emulate(request, on_progress)

    # No collection stops an algorithm that is written in Python.
    with machine.alone(on_progress), uncollected():
        check_load(scenario, capacity())
        return real_time.median_run(scenario, ask, "wire", repeats=repeats or RUNS, attempts=ATTEMPTS)


@cache
def capacity() -> float:
    """Datagrams that each of two threads of this machine receives and sends per second."""
    from shallows import _core

    return _core.datagrams_per_s(CALIBRATION_S)


def check_load(scenario: "Scenario", capacity_per_s: float) -> None:
    """Raise `ScenarioError` if the flows of `scenario` need more datagrams than a machine may carry."""
    needed = datagrams_per_s(scenario)
    if needed > MOST_LOAD * capacity_per_s:
        rate = RATE.text(round(MOST_LOAD * capacity_per_s / 2 * scenario.frame.wire * 8e-6) * 10**6)
        expected = (
            f"flows that carry at most {rate} together: they need {needed:,.0f} datagrams per second each"
            f" way, and this machine carries {capacity_per_s:,.0f}, of which half may be used"
        )
        raise ScenarioError("topology.rate", None, expected)


def datagrams_per_s(scenario: "Scenario") -> float:
    """Data packets and as many answers, per second, where flows share their links fairly."""
    network, flows, routes = scenario.graph, scenario.flows, Routes(scenario.graph)
    pairs = zip(flows.src.tolist(), flows.dst.tolist(), strict=True)
    paths = [routes.path(src, dst)[::-1].tolist() for src, dst in pairs]
    shares_bps, _ = fair_shares(paths, network.rate_bps.astype(float))
    return 2 * sum(shares_bps) / (8 * scenario.frame.wire)
