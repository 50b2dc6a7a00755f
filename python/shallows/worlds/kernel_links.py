"""Networks that the kernel world refuses: it lacks a path, or cannot emulate a link well."""

from typing import TYPE_CHECKING

import numpy as np

from shallows.errors import ScenarioError
from shallows.topology.routing import Routes, path_counts
from shallows.units import RATE
from shallows.worlds.kernel_programs import PROGRAMS

if TYPE_CHECKING:
    from shallows.core.contract import F64
    from shallows.scenario import Scenario
    from shallows.topology import Network

MOST_RATE = 10**9

Paths = list[list[int]]


def check_links(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for a network or flows that would differ from the packet world."""
    network, flows = scenario.graph, scenario.flows
    _one_port_a_host(network)
    pairs = list(zip(flows.src.tolist(), flows.dst.tolist(), strict=True))
    _one_path(network, set(pairs))
    routes = Routes(network)
    paths = [routes.path(a, b)[::-1].tolist() for a, b in pairs]
    _slow_enough(network, paths)
    shares_bps, limits = fair_shares(paths, network.rate_bps.astype(float))
    if sum(shares_bps) > MOST_RATE * (1 + 1e-9):
        expected = (
            f"flows that carry at most {RATE.text(MOST_RATE)} together, which one processor can emulate"
        )
        carried = RATE.text(round(sum(shares_bps)))
        raise ScenarioError("traffic", None, f"{expected}, not {carried}: write fewer hosts or lower rates")
    _own_links_not_full(scenario, paths, limits)


def _one_port_a_host(network: "Network") -> None:
    ports = np.bincount(network.link_from, minlength=network.hosts)[: network.hosts]
    if (ports > 1).any():
        host = int(ports.argmax())
        expected = (
            f"one cable to {network.host_names[host]}, not {ports[host]}: its hosts have one device each"
        )
        raise ScenarioError("topology", None, f"{expected}. Use --world packet, or remove the other cables")


def _one_path(network: "Network", pairs: set[tuple[int, int]]) -> None:
    """Packets of a flow and their acks have one shortest path."""
    pairs = pairs | {(b, a) for a, b in pairs}
    for target in {b for _, b in pairs}:
        paths = path_counts(network, target)
        for source in (a for a, b in pairs if b == target and paths[a] > 1):
            names = f"{network.host_names[source]} to {network.host_names[target]}"
            expected = f"one shortest path from {names}, not {paths[source]}: the kernel world has no ECMP"
            raise ScenarioError("topology", None, expected)


def _slow_enough(network: "Network", paths: Paths) -> None:
    """The slowest link of each path."""
    rate = max((int(network.rate_bps[path].min()) for path in paths), default=0)
    if rate > MOST_RATE:
        expected = f"at most {RATE.text(MOST_RATE)} at the bottleneck, which one processor can emulate"
        raise ScenarioError("topology.rate", RATE.text(rate), expected)


def _own_links_not_full(scenario: "Scenario", paths: Paths, limits: list[set[int]]) -> None:
    """No flow of an algorithm that measures delays is limited by its host's own link, where it waits too.

    Flows share links fairly, except those of programs that favour short paths where there are several
    bottlenecks.
    """
    network, flows = scenario.graph, scenario.flows
    several = len(set[int]().union(*limits)) > 1
    for path, number, limited in zip(paths, flows.cc.tolist(), limits, strict=True):
        used, rates_bps = flows.ccs[int(number)], network.rate_bps[path]
        unfair = PROGRAMS[used.name].favours_short_paths and several
        unfair = unfair and rates_bps[0] <= rates_bps[1:].min(initial=rates_bps[0])
        if used.traits["reacts_to_delay"] and (path[0] in limited or unfair):
            link, rate = network.port_names[path[0]], RATE.text(int(rates_bps[0]))
            expected = (
                f"hosts whose own link is faster than the bottleneck: {link} ({rate}) limits a flow"
                f" of {used.name}, which takes its wait in the host for a queue. Write a kind with a higher"
                " topology.edge_rate (dumbbell, multi-bottleneck), more senders, or an algorithm without"
                " delays"
            )
            raise ScenarioError("topology", None, expected)


def fair_shares(paths: Paths, left: "F64") -> tuple[list[float], list[set[int]]]:
    """For each flow, its rate in the max-min fair allocation, and the links that limit it."""
    limits: list[set[int]] = [set() for _ in paths]
    shares = [0.0] * len(paths)
    waiting = list(range(len(paths)))
    while waiting:
        users = np.bincount([link for flow in waiting for link in paths[flow]], minlength=len(left))
        share = np.where(users > 0, left / np.maximum(users, 1), np.inf)
        full = set(np.flatnonzero(share <= share.min() * (1 + 1e-9)).tolist())
        for flow in (flow for flow in waiting if full & set(paths[flow])):
            limits[flow], shares[flow] = full & set(paths[flow]), float(share.min())
            left[paths[flow]] -= share.min()
        waiting = [flow for flow in waiting if not limits[flow]]
    return shares, limits
