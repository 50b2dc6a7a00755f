"""Markings that begin within the queues of sprayed packets, known before a run.

Packets that are sprayed without a view of queues queue by chance, and a mark on any path cuts the whole flow.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from shallows.algorithms import defaults
from shallows.scenario.ports import algorithms_by_marking
from shallows.units import RATE, SIZE

if TYPE_CHECKING:
    from shallows.algorithms.algorithm import Algorithm
    from shallows.algorithms.marking import Marking
    from shallows.core.contract import U64
    from shallows.scenario import Scenario

FAST = 40 * 10**9
"""The fastest host of DCQCN's paper, in bit/s."""
SHARE = 0.9
"""A marking that begins below this share of the wanted queue is short."""


def short_ramps(scenario: "Scenario") -> list[str]:
    """Ramps for rates that return by timer, as DCQCN's, at hosts above 40 Gbps, the rate of its paper.

    There so many packets leave between two increases by timer that hardly any may be marked.
    """
    network = scenario.graph
    if not _by_chance(scenario) or defaults.Scale.of(network, scenario.mtu).host_bps <= FAST:
        return []
    found: list[str] = []
    for key, marking, algorithms in _markings(scenario, 2):
        names = _names(one for one in algorithms if one.traits["returns_by_timer"])
        if not names:
            continue
        kmin, kmax = (f"{key}.{name}" for name in marking.thresholds)
        begins = _begins(marking, network.rate_bps[~network.is_nic])
        wanted = {rate: defaults.sprayed_kmin(rate, scenario.mtu) for rate in begins}
        short = [rate for rate in begins if begins[rate] < SHARE * wanted[rate]]
        if short:
            instead = f"{kmin} = {_value(wanted)} and {kmax} = {_value(wanted, defaults.SPRAYED_KMAX)}"
            found.append(_is_short(scenario, kmin, short[0], names, instead))
    return found


def short_steps(scenario: "Scenario") -> list[str]:
    """Steps at slow ports between switches, where the default is a few frames, whoever reacts to them."""
    network = scenario.graph
    if not _by_chance(scenario):
        return []
    is_host = np.arange(network.nodes) < network.hosts
    inner = ~network.is_nic & ~is_host[network.link_to]
    between = set(network.rate_bps[inner].tolist())
    least = defaults.SPRAYED_FRAMES * scenario.mtu
    found: list[str] = []
    for key, marking, algorithms in _markings(scenario, 1):
        threshold = f"{key}.{marking.thresholds[0]}"
        begins = _begins(marking, network.rate_bps[~network.is_nic])
        short = [rate for rate in begins if rate in between and begins[rate] < SHARE * least]
        if short:
            wanted = {rate: max(size, least) for rate, size in begins.items()}
            instead = f"{threshold} = {_value(wanted)}"
            found.append(_is_short(scenario, threshold, short[0], _names(algorithms), instead))
    return found


def _by_chance(scenario: "Scenario") -> bool:
    """Whether packets are sprayed without a view of queues, in a network with several paths."""
    network = scenario.graph
    has_cycle = len(network.link_from) // 2 >= network.nodes
    return scenario.network.sprays_by_chance and has_cycle


def _names(algorithms: "Iterable[Algorithm]") -> str:
    return ", ".join(dict.fromkeys(one.name for one in algorithms))


def _markings(scenario: "Scenario", thresholds: int) -> "Iterable[tuple[str, Marking, list[Algorithm]]]":
    """The markings with one threshold (a step) or two (a ramp), by key, with the algorithms they are for."""
    for key, (marking, algorithms) in algorithms_by_marking(scenario).items():
        if isinstance(marking, str) or len(marking.thresholds) != thresholds:
            continue
        if marked := [one for one in algorithms if one.congestion_point == marking.kind]:
            yield key, marking, marked


def _begins(marking: "Marking", rates: "U64") -> dict[int, int]:
    """Bytes at which marks begin at ports of these rates."""

    def at(rate: int) -> int:
        points, _ = marking.at_rates(np.array([rate], np.uint64))
        return int(points[0]["parameters"][marking.thresholds[0]])

    return {rate: at(rate) for rate in defaults.distinct(rates).tolist()}


def _is_short(scenario: "Scenario", key: str, rate: int, algorithm: str, instead: str) -> str:
    return (
        f'{key} is short for network.balancing = "{scenario.network.balancing}" at ports of '
        f"{RATE.text(rate)}: sprayed packets queue by chance, and a mark on any path cuts the whole flow of "
        f"{algorithm}; write {instead}"
    )


def _value(sizes: dict[int, int], times: int = 1) -> str:
    """The value of a key: one size, or a table of sizes by rate."""
    texts = {RATE.text(rate): f'"{SIZE.text(times * size)}"' for rate, size in sizes.items()}
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return "{ " + ", ".join(f'"{rate}" = {text}' for rate, text in texts.items()) + " }"
