"""The request of a scenario to the core (docs/crossing.md)."""

from typing import TYPE_CHECKING, cast

import numpy as np

from shallows.core import contract
from shallows.core.contract import Request
from shallows.scenario import addends, faults, host_costs, needs, port_request
from shallows.scenario.tables import FLOWLET_GAP, HostTable
from shallows.traffic import Driven, settings
from shallows.units import NEVER

if TYPE_CHECKING:
    from shallows.scenario import Scenario
    from shallows.traffic.computations import Computations, Waits
    from shallows.traffic.flows import Application
    from shallows.traffic.predecessors import Predecessors


def request(scenario: "Scenario") -> Request:
    """The request to the core: integers in picoseconds, bytes and bits per second.

    Raises `TooLargeError` if it does not fit into memory.
    """
    needs.check_request(scenario)
    network, options = scenario.graph, scenario.network
    of_ports = port_request.to_core(scenario, network)
    fastest_bps, shortest_ps = faults.extremes(scenario, network)
    return {
        "hosts": network.hosts,
        "nodes": network.nodes,
        "links": {
            "from": network.link_from,
            "to": network.link_to,
            "rate_bps": host_costs.limited(scenario, network, fastest_bps),
            "delay_ps": shortest_ps,
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
        "faults": faults.to_core(scenario, network, of_ports.markings),
        "changing": np.array(faults.changing_links(scenario, network), np.uint32),
        "convergence_ps": options.convergence,
        "flows": _flows(scenario),
        "path_hashes": {"flow": scenario.flows.paths.flow, "hash": scenario.flows.paths.hash},
        "routes": {"flow": scenario.flows.paths.routed, "link": scenario.flows.paths.link},
        "computations": _computations(scenario.flows.computations),
        "ccs": [
            {**cc.to_core(), "acks_every": scenario.hosts.acks_every or cc.acks_every}
            for cc in scenario.flows.ccs
        ],
        "sender_settings": settings.to_core(
            table.settings for table in scenario.traffic if isinstance(table, Driven) and table.settings
        ),
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


def _flows(scenario: "Scenario") -> contract.Flows:
    """Columns of the flows; dependencies and pauses only where there are some."""
    flows = scenario.flows
    return {
        "src": flows.src,
        "dst": flows.dst,
        "bytes": np.where(flows.bytes == 0, np.uint64(NEVER), flows.bytes),
        "start_ps": addends.to_core(scenario),
        "stop_ps": flows.stop_ps,
        "after": _pairs(flows.after),
        "behind": _pairs(flows.behind),
        "application": _application(flows.application),
        "wait": _wait(flows.wait),
        "class": port_request.class_of_flows(scenario),
        "cc": flows.cc,
    }


def _pairs(all_: "Predecessors") -> contract.Predecessors | None:
    return {"flow": all_.flow, "predecessor": all_.predecessor} if len(all_) else None


def _application(all_: "Application | None") -> contract.Applications | None:
    if all_ is None:
        return None
    return {
        "first_bytes": all_.first_bytes,
        "resume_ps": all_.resume_ps,
        "on_ps": all_.on_ps,
        "off_ps": all_.off_ps,
        "every_ps": all_.every_ps,
    }


def _computations(all_: "Computations") -> contract.Computations:
    return {
        "host": all_.host,
        "duration_ps": all_.duration_ps,
        "start_ps": all_.start_ps,
        "processor": all_.processor,
        "after": _pairs(all_.after),
        "behind": _pairs(all_.behind),
        "wait": _wait(all_.wait),
    }


def _wait(wait: "Waits | None") -> contract.Waits | None:
    return {"needs": wait.needs, "global": wait.everywhere} if wait and wait.used() else None


def _host(hosts: "HostTable") -> contract.Host:
    stamps = hosts.timestamps and cast(contract.Timestamps, hosts.timestamps.to_core(contract.Timestamps))
    return {**cast(contract.Host, hosts.to_core(contract.Host)), "timestamps": stamps}
