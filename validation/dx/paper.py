"""The paper, and the settings that several of its figures share."""

from typing import Any

from validation.claim import Paper

DX = Paper(
    "dx",
    "DX",
    "DX: Latency-Based Congestion Control for Datacenters",
    "Lee, Park, Jang, Moon and Han, IEEE/ACM ToN 25(1), 2017",
)

FRAME_US = 1.2
LINK = {"topology.rtt": "200us", "network.buffer": "100pkt"}
"""Of every simulation of one link: "The RTT between nodes is 200 us ... the queue capacity on the bottleneck link is set to 100
packets" (§II-A; the 200 us again in §IV-C and §VI-C3). The paper prints no others."""
SIMULATED = "dx@ns-2"
"""The variant of DX in all simulations of §VI-C on one link: a headroom of two packets, as in the authors' ns-2 scripts."""


def flows(count: int) -> dict[str, Any]:
    """One link with this many pairs of hosts and flows."""
    return LINK | {"topology.hosts": count, "traffic.0.flows": count}


DCTCP = "dctcp@ns-2"
"""The variant of DCTCP in all simulations of §VI-C but Fig. 20: that of the ns-2 patch."""
