"""Puts a configuration of a simulator into the tables of a scenario."""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shallows.importers import hpcc_config
from shallows.importers.content import Fabric, Notes, Settings
from shallows.scenario.queues import MEMORY
from shallows.units import RATE, SIZE, TIME

if TYPE_CHECKING:
    from shallows.scenario import Scenario

EIGHTH = 0.125
"""The share of the free memory that a link at the hosts' rate may hold before it is paused."""
Links = dict[str, list[tuple[int, int]]]
"""(rate in bit/s, delay in ps) of the links at each switch."""


def configure(
    tables: dict[str, Any], settings: Settings, fabric: Fabric | None, notes: Notes, *, cc: str | None
) -> None:
    """Put `settings` into `tables`; `cc` is the algorithm that replaces theirs.

    Raises `ScenarioError` where there is none, and for a switch without memory beside its headroom.
    """
    network = {key: value for key, value in tables.get("network", {}).items() if key not in MEMORY}
    tables |= settings.tables | {"network": network | settings.tables["network"]}
    if settings.cc and not cc:
        tables["cc"] = settings.cc
    elif settings.mode and not cc and not tables.get("cc"):
        settings.source.refuse(settings.mode, "CC_MODE", hpcc_config.MODES_EXPECTED)
    elif settings.cc and settings.cc["name"] != cc:
        notes.left_out.append(f"cc of the configuration, {settings.cc['name']}: {cc} replaces it")
    if settings.buffer is not None:
        tables["network"]["shared"] = _shared(settings, fabric, notes)
    faults = [*_down(settings, fabric), *_lossy(settings, fabric)]
    if faults:
        tables["faults"] = [*tables.get("faults", []), *faults]
    if settings.down:
        tables["network"]["convergence"] = "1ns"


def _shared(settings: Settings, fabric: Fabric | None, notes: Notes) -> dict[str, Any]:
    """The memory that the ports of a switch share, beside headroom and what each port has of its own."""
    assert settings.buffer is not None
    links = _links_of_switches(fabric) if fabric else {}
    left = hpcc_config.remaining(settings.buffer, links)
    if left <= 0:
        expected = f"more than {SIZE.text(settings.buffer - left)}, the headroom and reserves of a switch"
        settings.source.refuse(settings.buffer_word, "BUFFER_SIZE", expected)
    whole = SIZE.text(settings.buffer)
    notes.assumed.append(
        f"ports share {SIZE.text(left)} of {whole}: the rest is the headroom of 3 x delay x rate a link, and "
        "4 KiB a port, of the switch with most of both"
    )
    rates = sorted({rate for ends in links.values() for rate, _ in ends})
    if len(rates) > 1:
        notes.left_out.append(
            f"links of {' and '.join(map(RATE.text, rates))}: the simulator pauses links faster than those "
            "of hosts at a larger share of the free memory, in proportion"
        )
    return {"size": SIZE.text(left), "alpha": EIGHTH}


def _links_of_switches(fabric: Fabric) -> Links:
    links: Links = {}
    for a, b, rate, delay in fabric.topology["edges"]:
        for end in (a, b):
            if not end.startswith("h"):
                links.setdefault(end, []).append((RATE.parse(rate), TIME.parse(delay)))
    return links


def _edge(settings: Settings, fabric: Fabric | None, nodes: tuple[int, int]) -> str:
    """The name of the link between two nodes by number."""
    for a, b, *_ in fabric.topology["edges"] if fabric else ():
        if {_number(a), _number(b)} == set(nodes):
            return f"{a}<->{b}"
    settings.source.refuse(settings.down_word, "LINK_DOWN", "TIME and the nodes at the ends of a link")


def _number(name: str) -> int:
    return int(re.sub("[a-z]", "", name))


def _down(settings: Settings, fabric: Fabric | None) -> list[dict[str, Any]]:
    return [
        {"link": _edge(settings, fabric, (a, b)), "kind": "down", "at": TIME.text(at)}
        for at, a, b in settings.down
    ]


def _lossy(settings: Settings, fabric: Fabric | None) -> list[dict[str, Any]]:
    """Losses of all links that have no error rate of their own."""
    if not settings.error_rate or not fabric:
        return []
    known = {fault["link"] for fault in fabric.faults}
    links = dict.fromkeys(f"{a}<->{b}" for a, b, *_ in fabric.topology["edges"])
    return [
        {"link": link, "kind": "loss", "value": settings.error_rate} for link in links if link not in known
    ]


def of_network(settings: Settings, scenario: "Scenario") -> Mapping[str, Any]:
    """Parameters of the algorithm that follow from the network: HPCC's step a round trip, and base RTT."""
    from shallows.algorithms.defaults import Scale

    name = scenario.algorithms[0].name
    steps = name == "hpcc-roce" and settings.rate_ai is not None
    has_window = name == "dcqcn" and bool((settings.cc or {}).get("has_win"))
    if not (steps or has_window):
        return {}
    rtt_ps = Scale.of(scenario.graph, scenario.mtu).rtt_ps
    found = {"base_rtt": TIME.text(rtt_ps)} if settings.one_rtt else {}
    if settings.rate_ai is None:
        return found
    step = Fraction(settings.rate_ai * rtt_ps, 8 * 10**12)
    return {"w_ai": SIZE.text(max(1, round(step))), **found}
