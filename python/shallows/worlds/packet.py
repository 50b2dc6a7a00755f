"""The packet world: the request of a scenario (docs/crossing.md), and its run."""

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shallows import faults, switch
from shallows.contract import Request
from shallows.errors import ScenarioError
from shallows.supported_keys import ALWAYS, World
from shallows.topology import KINDS as TOPOLOGIES
from shallows.traffic import KINDS as TRAFFICS
from shallows.units import NEVER

if TYPE_CHECKING:
    from shallows.contract import U32, Flags
    from shallows.results.run import Run
    from shallows.runner import OnProgress
    from shallows.scenario import HostTable, Scenario
    from shallows.topology import Network


WORLD = World(
    "packet",
    supported_keys=ALWAYS
    | {f"topology.{kind}" for kind in TOPOLOGIES}
    | {f"traffic.{kind}" for kind in TRAFFICS}
    | {
        f"network.{key}"
        for key in (
            "mtu",
            "header",
            "buffer",
            "shared",
            "pfc",
            "trimming",
            "marking",
            "balancing",
            "convergence",
        )
    }
    | {f"hosts.{key}" for key in ("nic", "initial_window", "rto", "rto_min", "rto_initial", "rto_max")}
    | {f"hosts.{key}" for key in ("acks_every", "ack_delay", "segment", "timestamps")}
    | {"traffic.priority", "traffic.exchange", "traffic.off", "cc.receiver", "faults"},
)


def check(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for an algorithm of a kernel, or one that needs a single path per flow."""
    WORLD.refuse(scenario)
    if scenario.network_options.balancing != "flow":
        _check_one_way(scenario)
    for used in scenario.flows.ccs:
        if used.native:
            raise ScenarioError("cc.name", used.label, "one of the catalog: only --world kernel has it")


def _check_one_way(scenario: "Scenario") -> None:
    why = None
    if scenario.credits:
        why = "credits and what they call need one way there and back"
    elif getattr(scenario.network_options.marking, "tells", None) == "records":
        why = "records are compared from packet to packet, and need one way"
    if why:
        raise ScenarioError("network.balancing", scenario.network_options.balancing, f'"flow": {why}')


def run(scenario: "Scenario", on_progress: "OnProgress | None" = None, threads: int | None = 1) -> "Run":
    """Simulate every packet of `scenario` and return its `Run`.

    `on_progress(now_ps, packet_hops, flows_finished)` is called a few times a second; a `KeyboardInterrupt`
    that it raises ends the run early. The run is the same for any number of `threads`; by default there are
    as many as speed it up.
    """
    from shallows import _core
    from shallows.results import Run

    started = time.perf_counter()
    answer = _core.simulate(request(scenario), on_progress, threads)
    wall_s = time.perf_counter() - started
    return Run.from_answer(scenario, scenario.network, scenario.flows, answer, wall_s)


def request(scenario: "Scenario") -> Request:
    """The request to the core: integers in picoseconds, bytes and bits per second."""
    network, flows = scenario.network, scenario.flows
    asked: dict[str, Any] = {
        "hosts": network.hosts,
        "nodes": network.nodes,
        "balancing": scenario.network_options.balancing,
        "convergence_ps": scenario.network_options.convergence,
        **_links(scenario, network),
        "flows": {
            "src": flows.src,
            "dst": flows.dst,
            "bytes": flows.bytes,
            "start_ps": flows.start_ps,
            "stop_ps": flows.stop_ps,
            "after": flows.after,
            "priority": flows.priority,
            "cc": flows.cc,
            **({"application": asdict(flows.application)} if flows.application else {}),
        },
        "ccs": [cc.crossing for cc in flows.ccs],
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
    }
    return cast(Request, asked)


def _host(hosts: "HostTable") -> dict[str, Any]:
    stamps = {"timestamps": hosts.timestamps.crossing} if hosts.timestamps else {}
    return {
        **stamps,
        "nic": hosts.nic,
        "initial_window_bytes": hosts.initial_window,
        "rto_min_ps": hosts.rto_min,
        "rto_initial_ps": hosts.rto_initial,
        "rto_max_ps": hosts.rto_max,
        "acks_every": hosts.acks_every,
        "segment": hosts.segment,
        "ack_delay_ps": hosts.ack_delay,
    }


def _links(scenario: "Scenario", network: "Network") -> dict[str, Any]:
    """Columns of the links with their ports. Ports of hosts are unlimited, and mark only with a FIFO NIC."""
    buffer_bytes = np.where(network.is_nic, np.uint64(NEVER), np.uint64(scenario.network_options.buffer))
    marks = ~network.is_nic | (scenario.hosts.nic == "fifo")
    index, markings = _markings(scenario, network, marks)
    columns, schedule = faults.crossing(scenario, network, *switch.crossing(scenario, network))
    return {
        "links": {
            "from": network.link_from,
            "to": network.link_to,
            "rate_bps": network.rate_bps,
            "delay_ps": network.delay_ps,
            "buffer_bytes": buffer_bytes,
            "marking": index,
            **columns,
        },
        "markings": markings,
        **schedule,
    }


def _markings(scenario: "Scenario", network: "Network", marks: "Flags") -> "tuple[U32, list[Any]]":
    """(index of every link, the indexed markings), the first of which is none."""
    marking = scenario.network_options.marking
    index, none = np.zeros(len(marks), np.uint32), {"kind": "none"}
    if marking == "none":
        return index, [none]
    points, place = marking.at_rates(network.rate_bps[marks], scenario.mtu)
    index[marks] = 1 + place
    return index, [none, *points]
