"""The memory that a link needs behind a pause, so that nothing is dropped.

A switch decides to pause a link when a frame arrives that exceeds the threshold. Until the other end stops,
five parts arrive, each at most:

| part | bytes |
|---|---|
| the frame that exceeds the threshold | mtu |
| while the pause waits for the frame in transmission on the way back | mtu |
| while the pause itself is sent | 64 |
| the frame that the other end has just begun | mtu |
| what the link carries in both directions' propagation delay | 2 * delay * rate |

The other end acts on a pause at once, unless `response_ps` says after which time: IEEE 802.1Qbb allows
several microseconds. Until then the link carries rate * time more.
"""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shallows.topology import Network

PAUSE = 64
"""Bytes of a pause frame, the minimum Ethernet frame."""
PS = 10**12


def headroom(rate_bps: int, delay_ps: int, mtu: int, response_ps: int = 0) -> int:
    """Bytes that can arrive on a link after a switch decided to pause it, at most.

    rate_bps: of the link, in bit/s. delay_ps: propagation in one direction, in ps. mtu: bytes of a full
    frame. response_ps: until the other end acts on a pause.
    """
    in_flight = -(-(2 * delay_ps + response_ps) * rate_bps // (8 * PS))
    return in_flight + 3 * mtu + PAUSE


def of_any_link(network: "Network", mtu: int, response_ps: int = 0) -> int:
    """The largest `headroom` of the links that end at a switch."""
    paused = np.flatnonzero(network.link_to >= network.hosts)
    kinds = np.unique(np.column_stack([network.rate_bps, network.delay_ps])[paused], axis=0).tolist()
    return max(headroom(rate, delay, mtu, response_ps) for rate, delay in kinds)
