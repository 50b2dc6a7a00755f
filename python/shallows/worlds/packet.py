"""The packet world: the request of a scenario (docs/crossing.md), and its run."""

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shallows import faults
from shallows.core import contract
from shallows.core.contract import Request
from shallows.errors import ScenarioError
from shallows.faults import goodput
from shallows.memory import needs
from shallows.results import settling
from shallows.scenario import port_request
from shallows.scenario.supported_keys import ALWAYS, World
from shallows.scenario.tables import FLOWLET_GAP, HostTable, NetworkTable
from shallows.topology import KINDS as TOPOLOGIES
from shallows.traffic import KINDS as TRAFFICS
from shallows.traffic import costs
from shallows.units import NEVER

if TYPE_CHECKING:
    from shallows.results.run import Run
    from shallows.scenario import Scenario
    from shallows.traffic.computations import Computations, Waits
    from shallows.worlds.runner import OnProgress


WORLD = World(
    "packet",
    supported_keys=ALWAYS
    | {f"topology.{kind}" for kind in TOPOLOGIES}
    | {f"traffic.{kind}" for kind in TRAFFICS}
    | {f"network.{key}" for key in NetworkTable.key_names()}
    | {f"hosts.{key}" for key in HostTable.key_names()}
    | {"traffic.priority", "traffic.class", "traffic.exchange", "traffic.off", "cc.receiver", "faults"}
    | {"classes", "pools", "ports"},
)


def check(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for an algorithm of a kernel, or one that needs a single path per flow."""
    WORLD.refuse(scenario)
    if scenario.network_options.balancing != "flow":
        _check_one_way(scenario)
    for used in scenario.flows.ccs:
        if used.native:
            raise ScenarioError(
                "cc.name", used.label, "an algorithm of the catalog: only --world kernel has this one"
            )


def _check_one_way(scenario: "Scenario") -> None:
    why = None
    if scenario.credits:
        why = "credits and the data they request need one path in both directions"
    elif any(queue.marks and queue.marks.tells == "records" for queue in scenario.queues):
        why = "records are compared between packets, which needs one path"
    if why:
        raise ScenarioError("network.balancing", scenario.network_options.balancing, f'"flow": {why}')


def run(scenario: "Scenario", on_progress: "OnProgress | None" = None, threads: int | None = 1) -> "Run":
    """Simulate every packet of `scenario` and return its `Run`.

    `on_progress(now_ps, packet_hops, flows_finished)` is called a few times a second; a `KeyboardInterrupt`
    that it raises ends the run early. The run is the same for any number of `threads`; by default there are
    as many as speed it up.
    """
    from shallows import _core
    from shallows.results.answer import Answer
    from shallows.results.run import Run

    needs.check_run(scenario)
    started = time.perf_counter()
    asked = request(scenario)
    record = goodput.record(scenario, asked)
    asked["record"]["goodput"] = record or settling.record(scenario)
    answer = _core.simulate(asked, on_progress, threads)
    _count_from_request(scenario, answer["flows"]["start_ps"])
    wall_s = time.perf_counter() - started
    return Run.from_answer(Answer(scenario, scenario.network, scenario.flows, answer, record), wall_s)


def _count_from_request(scenario: "Scenario", start_ps: Any) -> None:
    """Let flows start when their host asks for them, before its costs."""
    if scenario.hosts.costs:
        start_ps -= np.where(start_ps == NEVER, np.uint64(0), costs.of_flows(scenario))


def request(scenario: "Scenario") -> Request:
    """The request to the core: integers in picoseconds, bytes and bits per second."""
    network, options = scenario.network, scenario.network_options
    of_ports = port_request.to_core(scenario, network)
    asked: dict[str, Any] = {
        "hosts": network.hosts,
        "nodes": network.nodes,
        "links": {
            "from": network.link_from,
            "to": network.link_to,
            "rate_bps": costs.limited(scenario, network),
            "delay_ps": network.delay_ps,
            "buffer_bytes": of_ports.buffer_bytes,
            "marking": of_ports.marking,
            "discipline": of_ports.schedule.of_link,
        },
        "markings": of_ports.markings,
        "disciplines": of_ports.schedule.disciplines,
        "classes": of_ports.classes,
        "pools": of_ports.pools,
        "balancing": options.balancing,
        "entropies": options.entropies or 0,
        "flowlet_gap_ps": FLOWLET_GAP if options.flowlet_gap is None else options.flowlet_gap,
        "faults": faults.to_core(scenario, network),
        "convergence_ps": options.convergence,
        "flows": _flows(scenario),
        "computations": _computations(scenario.flows.computations),
        "ccs": [cc.to_core() for cc in scenario.flows.ccs],
        "host": _host(scenario.hosts),
        "mtu_bytes": scenario.frame.wire,
        "header_bytes": scenario.frame.header,
        "duration_ps": scenario.duration,
        "until_done": scenario.duration == NEVER,
        "warmup_ps": scenario.warmup,
        "seed": scenario.seed,
        "record": {
            "queue_interval_ps": scenario.record.queues,
            "queue_links": network.recorded_ports,
            "probe_interval_ps": scenario.record.probes,
            "probe_flows": scenario.probed_flows,
        },
        "max_packets": needs.packets(scenario),
    }
    return cast(Request, asked)


def _flows(scenario: "Scenario") -> dict[str, Any]:
    """Columns of the flows; dependencies and pauses only where there are some."""
    flows = scenario.flows
    return {
        "src": flows.src,
        "dst": flows.dst,
        "bytes": np.where(flows.bytes == 0, np.uint64(NEVER), flows.bytes),
        "start_ps": flows.start_ps + costs.of_flows(scenario),
        "stop_ps": flows.stop_ps,
        "after": asdict(flows.after) if len(flows.after) else None,
        "behind": asdict(flows.behind) if len(flows.behind) else None,
        "application": asdict(flows.application) if flows.application else None,
        "wait": _wait(flows.wait),
        "class": port_request.class_of_flows(scenario),
        "cc": flows.cc,
    }


def _computations(all_: "Computations") -> dict[str, Any]:
    return {
        **{key: getattr(all_, key) for key in ("host", "duration_ps", "start_ps", "processor")},
        "after": asdict(all_.after) if len(all_.after) else None,
        "behind": asdict(all_.behind) if len(all_.behind) else None,
        "wait": _wait(all_.wait),
    }


def _wait(wait: "Waits | None") -> dict[str, Any] | None:
    return {"needs": wait.needs, "global": wait.everywhere} if wait and wait.used() else None


def _host(hosts: "HostTable") -> dict[str, Any]:
    stamps = hosts.timestamps and hosts.timestamps.to_core(contract.Timestamps)
    return {**hosts.to_core(contract.Host), "timestamps": stamps}
