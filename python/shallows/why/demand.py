"""Memory that the record of some flows needs, estimated from the tables of the run.

The record has rows for the packets of the flows, for their hops, and for every frame on their links while
they last. It exists in the core, as columns, and as an index to walk back.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shallows.core.contract import F64, U64
from shallows.memory import bounds
from shallows.scenario import faults, needs

if TYPE_CHECKING:
    from shallows.results.run import RunData
    from shallows.scenario import Scenario

PACKET_BYTES, HOP_BYTES, FRAME_BYTES = 1000, 350, 400
"""Memory of a packet of a watched flow with its cause, of its hop, and of a frame on its links."""
INDEX_BYTES = {"packets": 1000, "hops": 310, "frames": 200}
"""Memory of the index by row of the record's tables, which was seen to need 0.75 to 1 times as much."""
PATH_BYTES = 500
"""Memory of the path of a watched flow."""
LEAST_FRAME = 84
"""Bytes of the shortest frame on the wire."""


def of_flows(
    run: "RunData",
    scenario: "Scenario",
    flows: Sequence[int],
    spans: tuple[U64, U64],
    ways: Sequence[Collection[int]],
) -> list[float]:
    """Bytes to record the first flow, the first two, and so on.

    `spans` are their begins and ends, and `ways` the links that their packets and answers may take.
    """
    own, one_way = _packets(run, scenario, flows), scenario.network.balancing == "flow"
    fastest_bps, _ = faults.extremes(scenario, scenario.graph)
    sent, per_ps = _sent(run, scenario), fastest_bps.astype(float) / (8e12 * LEAST_FRAME)
    watched_ps = np.zeros(len(sent))
    total, found = PATH_BYTES * float(len(ways)), list[float]()
    for at, (way, lasts_ps) in enumerate(zip(ways, (spans[1] - spans[0]).tolist(), strict=True)):
        links = np.array([*way], int)
        before = np.minimum(sent[links], watched_ps[links] * per_ps[links]).sum()
        watched_ps[links] += lasts_ps
        after = np.minimum(sent[links], watched_ps[links] * per_ps[links]).sum()
        hops = (len(way) + 1) // 2 if one_way else _most_hops(scenario)
        total += FRAME_BYTES * float(after - before) + own[at] * (PACKET_BYTES + HOP_BYTES * hops)
        found.append(total)
    return found


def of_index(tables: Mapping[str, Mapping[str, NDArray[np.generic]]]) -> float:
    """Bytes of the index of a record with these tables, which may have more rows than were estimated.

    Pulls of credit before it is asked for, for example, stand in no table of the run.
    """
    return sum(one * float(len(next(iter(tables[name].values())))) for name, one in INDEX_BYTES.items())


def fitting(scenario: "Scenario", each: Sequence[float]) -> int:
    """How many of the flows fit into memory, given the bytes of the first, the first two, and so on."""
    left = bounds.free()
    if left is None:
        return len(each)
    return int(np.searchsorted(np.asarray(each), left.amount - needs.of_run(scenario), side="right"))


def _packets(run: "RunData", scenario: "Scenario", flows: Sequence[int]) -> F64:
    """The packets of each flow in both directions."""
    table, chosen = run.columns("flows"), np.asarray(flows, int)
    size, again, credits = (
        np.nan_to_num(np.asarray(table[name], float)[chosen]) for name in ("bytes", "retransmits", "credits")
    )
    return 2 * (np.ceil(size / scenario.frame.payload) + again) + credits


def _sent(run: "RunData", scenario: "Scenario") -> F64:
    """The frames that each port sent, with full frames at its rate in the warm-up, which is not counted."""
    network = scenario.graph
    early = scenario.warmup * 1e-12 * network.rate_bps.astype(float) / (8 * scenario.mtu)
    return np.asarray(run.columns("ports")["sent"], float) + early


def _most_hops(scenario: "Scenario") -> int:
    """Hops of a path where switches choose by packet: up and down the tiers of the largest fabrics."""
    return 8 if scenario.graph.nodes - scenario.graph.hosts > 1 else 2
