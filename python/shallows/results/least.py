"""The least time of a job on an idle network: that of its schedule, or a lower bound of it.

The longest chain of messages is the time of the schedule if no two messages of the chain's earliest times
share a port of a host. Otherwise it is a lower bound, and so is the time that the busiest link needs for its
part of the frames, plus the way before and behind it.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shallows import _core
from shallows.scenario import host_costs
from shallows.traffic import offered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.core.contract import F64, U64
    from shallows.scenario import Scenario

    Numbers = NDArray[np.int64]

SHORT_PS = 1.0
"""Ports are shared by messages that overlap for longer than this, the rounding of times."""


class Least(NamedTuple):
    """The least time of a job in picoseconds, and whether only a lower bound of it is known."""

    ps: float
    is_bound: bool


class Ports(NamedTuple):
    """The ports of hosts that flows use, and how long an idle port sends them, in picoseconds.

    `port` is the number of the host, or that number beyond all hosts for its ports inside a server. `single`
    is true where it is one port. Where a host has several, times are those of the fastest.
    """

    port: "Numbers"
    single: "NDArray[np.bool_]"
    sending_ps: "F64"
    last_frame_ps: "F64"

    @classmethod
    def of_senders(cls, scenario: "Scenario") -> "Ports":
        """The ports from which hosts send flows."""
        network = scenario.graph
        return cls._of(scenario, network.is_nic, network.link_from, scenario.flows.src)

    @classmethod
    def of_receivers(cls, scenario: "Scenario") -> "Ports":
        """The ports of switches from which flows reach their hosts."""
        network = scenario.graph
        return cls._of(scenario, network.link_to < network.hosts, network.link_to, scenario.flows.dst)

    @classmethod
    def _of(
        cls,
        scenario: "Scenario",
        at_host: "NDArray[np.bool_]",
        host_of: "NDArray[np.integer]",
        host: "NDArray[np.integer]",
    ) -> "Ports":
        network, flows = scenario.graph, scenario.flows
        rates = host_costs.limited(scenario, network, network.rate_bps)
        inside, rate = network.in_server, rates.astype(float)
        fastest, count = np.zeros(2 * network.hosts), np.zeros(2 * network.hosts, np.int64)
        place = host_of[at_host].astype(np.int64) + network.hosts * inside[at_host]
        np.maximum.at(fastest, place, rate[at_host])
        np.add.at(count, place, 1)
        server = np.full(network.hosts, -1, np.int64)
        own = network.is_nic & inside
        server[network.link_from[own]] = network.link_to[own]
        together = (server[flows.src] >= 0) & (server[flows.src] == server[flows.dst])
        port = host.astype(np.int64) + network.hosts * together
        port = np.where(count[port] > 0, port, host)
        payload = scenario.frame.payload
        size = flows.bytes.astype(float)
        frames = -(-size // payload)
        header = scenario.mtu - payload
        last = size - np.maximum(frames - 1, 0) * payload + header
        # A host may have no port of this kind.
        per_byte_ps: F64 = np.divide(8e12, fastest[port], out=np.zeros(len(port)), where=fastest[port] > 0)
        return cls(
            port,
            count[port] == 1,
            (size + frames * header) * per_byte_ps,
            np.maximum(last, 0) * per_byte_ps,
        )


def chain(
    scenario: "Scenario",
    members: "Numbers",
    lasts_ps: "F64",
    delay_ps: "F64",
    ports: Ports | None = None,
) -> tuple[float, "F64"]:
    """The longest chain of tasks from the first start to the last end, and the start of each task.

    `lasts_ps` and `delay_ps` have a value for each task of the scenario, flows first. A flow that is sent
    behind another starts when that one's last frame leaves its port, and shares this port with that frame;
    without `ports` it starts with it.
    """
    flows = scenario.flows
    chosen = np.zeros(len(lasts_ps), bool)
    chosen[members] = True
    after, behind = (_pairs(scenario, how, chosen) for how in ("after", "behind"))
    sent_ps = np.zeros(len(behind[0]))
    if ports is not None and len(sent_ps):
        waiting, needed = behind
        sent_ps = (ports.sending_ps - ports.last_frame_ps)[needed]
        # Computations have no port.
        same = waiting < len(flows)
        same[same] = (ports.port[waiting[same]] == ports.port[needed[same]]) & ports.single[needed[same]]
        free_ps = ports.sending_ps[needed] - delay_ps[waiting]
        sent_ps = np.where(same, np.maximum(sent_ps, free_ps), sent_ps)
    waiting, needed = (np.concatenate(sides) for sides in zip(after, behind, strict=True))
    needs = {
        "waiting": waiting.astype(np.uint32),
        "needed": needed.astype(np.uint32),
        "lag": np.concatenate([lasts_ps[after[1]], sent_ps]),
    }
    return _core.longest_chain(members.astype(np.uint32), needs, lasts_ps, delay_ps)


def _pairs(scenario: "Scenario", how: str, chosen: "NDArray[np.bool_]") -> tuple["Numbers", "Numbers"]:
    """The chosen tasks that wait, and what each needs."""
    flows = scenario.flows
    own, other = getattr(flows, how), getattr(flows.computations, how)
    waiting = np.concatenate([own.flow.astype(np.int64), other.flow.astype(np.int64) + len(flows)])
    needed = np.concatenate([own.predecessor, other.predecessor]).astype(np.int64)
    kept = chosen[waiting]
    return waiting[kept], needed[kept]


def share_ports(scenario: "Scenario", members: "Numbers", start_ps: "F64", ideal_ps: "U64") -> bool:
    """Whether flows that begin at these times and take their ideal times meet at a port of a host."""
    flows = members[members < len(scenario.flows)]
    senders, receivers = Ports.of_senders(scenario), Ports.of_receivers(scenario)
    ends = start_ps[flows] + ideal_ps[flows]
    sending = senders.port[flows], start_ps[flows], start_ps[flows] + senders.sending_ps[flows]
    receiving = receivers.port[flows], ends - receivers.sending_ps[flows], ends
    return _overlap(*sending) or _overlap(*receiving)


def _overlap(port: "Numbers", begin: "F64", end: "F64") -> bool:
    """Whether two spans of a port overlap."""
    order = np.lexsort((begin, port))
    same = port[order][1:] == port[order][:-1]
    return bool((same & (begin[order][1:] < end[order][:-1] - SHORT_PS)).any())


def sending_ps(scenario: "Scenario", members: "Numbers", ideal_ps: "U64") -> float:
    """A lower bound: the frames of a group over the busiest link, and the shortest way beside it.

    Equal paths share frames equally. In networks that are too large for that, the ports of a host together.
    """
    network, flows = scenario.graph, scenario.flows
    payload = scenario.frame.payload
    size = flows.bytes[members]
    frames = (size + np.uint64(payload - 1)) // np.uint64(payload)
    bits = 8.0 * (size + frames * np.uint64(scenario.mtu - payload)).astype(np.float64)
    ends = flows.src[members], flows.dst[members]
    needed_s = offered.load(network, [offered.Offered(*ends, bits)])
    if np.isnan(needed_s).any():
        nics = network.is_nic
        rate = np.bincount(network.link_from[nics], network.rate_bps[nics].astype(float), network.hosts)
        needed_s = np.array([np.bincount(host, bits, network.hosts) / rate for host in ends])
    beside_ps = ideal_ps[members] - bits * 1e12 / float(network.rate_bps.min())
    return float(np.max(needed_s)) * 1e12 + max(float(beside_ps.min()), 0.0)
