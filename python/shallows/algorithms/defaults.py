"""Defaults that follow the network: its rates, its longest round trip and its frames.

Every rule is here, in bytes, times or shares of a rate, with its source. At the rates for which a paper
prints a value the rule gives that value: 1 and 10 Gbps for DCTCP, 10 to 40 Gbps for DCQCN and its ramp, 10
Gbps for TIMELY. data/defaults.toml has the rules in words.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shallows.algorithms.algorithm import row_of
from shallows.base import limits
from shallows.units import ACK_BYTES, NEVER

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from shallows.core.rows import AlgorithmRow, MarkingRow, Parameter, Row
    from shallows.topology import Network

GBPS = 10**9
DCTCP_1G, DCTCP_10G = 20 * 1500, 65 * 1500
"""Step thresholds in bytes: 20 packets at 1 Gbps and 65 at 10 Gbps (SIGCOMM 2010 §3.5 and §4)."""
DCTCP_SHARE = 7
"""A threshold below this part of the bandwidth-delay product leaves the link idle (SIGCOMM 2010 eq. 13)."""
LEAST_FRAMES = 5
"""Two flows keep two packets each in flight at least (RFC 8257 §3.3), and one packet is being sent."""
BUFFER = 250 * 1500
"""Bytes of a port's buffer: 250 packets, as in the ns-2 and ns-3 simulations of DCTCP."""
LEAST_BUFFER_FRAMES = 20
"""Frames in the least default buffer, for frames of more than 18 KB."""
MEMORY, MEMORY_RATE = 12_000_000, 40 * GBPS
"""Memory of a switch with ports of 40 Gbps (Trident II, SIGCOMM 2015 §4). HPCC's run.py scales it with the
rate.
"""
PAUSE = 100_000
"""Bytes from one link above which it is paused, at up to 40 Gbps."""
RTO_MIN_PS = 10**9
"""1 ms, the least timeout in a datacenter (Vasudevan et al., SIGCOMM 2009)."""
RTO_INITIAL_PS = 10**10
"""10 ms, a choice: the first timeout of transports without a sample of the round trip."""


@dataclass(frozen=True)
class Scale:
    """The properties of a network that the rules use.

    rtt_ps: round trip of a full frame and its acknowledgement over the longest empty path. frame: bytes of a
    full frame. port_bps: the rates of its switch ports. host_bps: the fastest link of a host that
    leaves the server.
    """

    rtt_ps: int
    frame: int
    port_bps: "NDArray[np.uint64]"
    host_bps: int

    @classmethod
    def of(cls, network: "Network", frame: int) -> "Scale":
        """The scale of `network` with full frames of `frame` bytes."""
        ports = distinct(network.rate_bps[~network.is_nic])
        outside = network.is_nic & ~network.in_server
        hosts = network.rate_bps[outside if outside.any() else network.is_nic]
        return cls(longest_round_trip(network, frame), frame, ports, int(hosts.max()) if len(hosts) else 0)

    def in_flight(self, rate_bps: int) -> int:
        """The bandwidth-delay product in bytes of the longest path at `rate_bps`."""
        return rate_bps * self.rtt_ps // (8 * 10**12)

    def whole_frames(self, size: float) -> int:
        """`size` rounded up to whole frames, in bytes."""
        return -int(-size // self.frame) * self.frame

    @property
    def fastest(self) -> int:
        """The rate of the fastest switch port."""
        return int(self.port_bps.max()) if len(self.port_bps) else self.host_bps

    @property
    def slowest(self) -> int:
        """The rate of the slowest switch port."""
        return int(self.port_bps.min()) if len(self.port_bps) else self.host_bps


def distinct(rates: "NDArray[Any]", dtype: "DTypeLike" = np.uint64) -> "NDArray[Any]":
    """The sorted distinct rates; `np.unique` would import numpy.ma, which takes a third of a start."""
    return np.array(sorted(set(rates.tolist())), dtype)


def distinct_rows(*columns: "NDArray[Any]") -> "tuple[NDArray[np.intp], NDArray[np.intp]]":
    """An index of each distinct row of columns, in lexicographic order, and the place of each row there.

    `np.unique` sorts the rows, which takes more than half of the set-up of 100,000 links.
    """
    place = np.zeros(len(columns[0]), np.intp)
    for column in columns:
        values = distinct(column, column.dtype)
        keys = place * len(values) + np.searchsorted(values, column)
        place = np.searchsorted(distinct(keys, keys.dtype), keys)
    index = np.zeros(place.max(initial=-1) + 1, np.intp)
    index[place] = np.arange(len(place))
    return index, place


def longest_round_trip(network: "Network", frame: int) -> int:
    """Picoseconds of a full frame and its acknowledgement over the longest of the quickest empty paths.

    It is searched from a first host to the host farthest from it, and from that one again.
    """
    if not network.hosts or not len(network.link_from):
        return 0
    bits = 8.0 * 10**12 * (frame + ACK_BYTES)
    took = 2.0 * network.delay_ps.astype(float) + bits / network.rate_bps.astype(float)
    return _longest(network, took)


def most_switches(network: "Network") -> int:
    """Switches on the longest of the paths of fewest links, searched as `longest_round_trip`."""
    if not network.hosts or not len(network.link_from):
        return 0
    return max(0, _longest(network, np.ones(len(network.link_from))) - 1)


def _longest(network: "Network", took: "NDArray[np.float64]") -> int:
    farthest = longest = 0
    for _ in range(2):
        times = _times_from(network, farthest, took)[: network.hosts]
        times[~np.isfinite(times)] = 0.0
        farthest, longest = int(np.argmax(times)), max(longest, int(times.max()))
    return longest


def _times_from(network: "Network", host: int, took: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """The shortest time from `host` to every node. Hosts do not forward."""
    times = np.full(network.nodes, np.inf)
    times[host] = 0.0
    forwards = ~network.is_nic | (network.link_from == host)
    source, target, took = network.link_from[forwards], network.link_to[forwards], took[forwards]
    while True:
        sooner = times.copy()
        np.minimum.at(sooner, target, times[source] + took)
        if np.array_equal(sooner, times):
            return times
        times = sooner


def step_threshold(rate_bps: int, scale: Scale) -> int:
    """Bytes of queue above which a port marks every packet.

    Up to 10 Gbps it is DCTCP's, above that as long a queue as at 10 Gbps (78 us), but at most one
    bandwidth-delay product. Equation 13 bounds it from below.
    """
    paper = max(DCTCP_1G * min(1.0, rate_bps / GBPS), DCTCP_10G * rate_bps / (10 * GBPS))
    if rate_bps > 10 * GBPS:
        paper = min(paper, max(DCTCP_10G, scale.in_flight(rate_bps)))
    least = max(scale.in_flight(rate_bps) / DCTCP_SHARE, LEAST_FRAMES * scale.frame)
    return scale.whole_frames(max(paper, least))


def ratio(rate_bps: int) -> float:
    """How far DCQCN's quantities follow the rate: 1 from 10 to 40 Gbps, the rates of its paper.

    HPCC's authors scale them in proportion to the rate (run.py of their repository).
    """
    return min(rate_bps / (10 * GBPS), max(1.0, rate_bps / (40 * GBPS)))


def ramp(of_40g: float, frames: int) -> Callable[[int, Scale], int]:
    """An end of the RED ramp in bytes, from its value at 10 to 40 Gbps; not below so many frames."""

    def scaled(rate_bps: int, scale: Scale) -> int:
        return max(round(of_40g * ratio(rate_bps)), frames * scale.frame if ratio(rate_bps) < 1 else 0)

    return scaled


SPRAYED_KMIN_PER_BPS, SPRAYED_FRAMES, SPRAYED_KMAX = 4000 / GBPS, 20, 4
"""HPCC's ramp for DCQCN begins at 400 KB and ends at 1600 KB at 100 Gbps (mix/ of its repository)."""


def sprayed_kmin(rate_bps: int, frame: int) -> int:
    """Bytes at which a ramp should begin where packets of a DCQCN flow are sprayed.

    HPCC's, in proportion to the rate, but at least 20 frames, DCTCP's threshold on slow links (SIGCOMM 2010
    §3.5).
    """
    return round(max(SPRAYED_KMIN_PER_BPS * rate_bps, SPRAYED_FRAMES * frame))


def phantom_threshold(rate_bps: int, scale: Scale) -> int:
    """Bytes of a virtual queue: 15 KB at 10 Gbps, 6 KB at 1 Gbps (NSDI 2012), in proportion above 10 Gbps."""
    paper = max(6000.0, 15_000 * rate_bps / (10 * GBPS))
    if rate_bps > 10 * GBPS:
        paper = min(paper, max(15_000, scale.in_flight(rate_bps)))
    return round(max(paper, 2 * scale.frame if scale.frame > 1500 else 0))


CODEL_INTERVAL_S, CODEL_TARGETS = 0.1, 20
"""100 ms, and intervals of 20 targets: 5 % (RFC 8289 §4.3 and §4.4)."""


def codel_target(rate_bps: int, scale: Scale) -> float:
    """Seconds: a twentieth of the interval, but not less than two frames take (RFC 8289 §4.4)."""
    two_frames_s = 2 * 8 * scale.frame / rate_bps
    return max(codel_interval(rate_bps, scale) / CODEL_TARGETS, two_frames_s)


def codel_interval(rate_bps: int, scale: Scale) -> float:
    """Seconds: the longest round trip on empty paths (RFC 8289 §4.3: about the longest one through the port).

    It need not be exact: 100 ms serve round trips of 10 to 300 ms (Nichols and Jacobson, CACM 55(7), 2012).
    """
    del rate_bps
    return max(scale.rtt_ps / 1e12, 1e-6)


@dataclass(frozen=True)
class PortRule:
    """The default of a marking's parameter: what it follows, its value, and where it is the catalog's."""

    follows: str
    value: Callable[[int, Scale], float]
    at: str | None = None


_THRESHOLD = "the port's rate, the longest round trip and the frame"
PORT_RULES = {
    "step_threshold": PortRule(_THRESHOLD, step_threshold, "10 Gbps"),
    "ramp_kmin": PortRule("the port's rate", ramp(5_000, 1), "40 Gbps"),
    "ramp_kmax": PortRule("the port's rate", ramp(200_000, 20), "40 Gbps"),
    "phantom_threshold": PortRule(_THRESHOLD, phantom_threshold, "10 Gbps"),
    "codel_target": PortRule("the longest round trip, the port's rate and the frame", codel_target),
    "codel_interval": PortRule("the longest round trip", codel_interval),
}
"""The rules that parameters of markings name in the core's catalog: value = "recommended", the default."""


def port_rules(row: "MarkingRow") -> dict[str, PortRule]:
    """The rules of the parameters of a marking that follow the port."""
    return {one["name"]: PORT_RULES[rule] for one in row["parameters"] if (rule := one.get("rule"))}


def buffer(scale: Scale, largest_threshold: int, allowed: float = 0) -> int:
    """Bytes of each switch port: 250 packets, or the bandwidth-delay product (Villamizar and Song 1994).

    The product is that of the slowest port, where queues form. Twice the largest marking threshold is the
    least, and so are the bytes of queue that the target delay of an algorithm has `allowed`.
    """
    needed = scale.whole_frames(max(scale.in_flight(scale.slowest), allowed))
    least = max(BUFFER, needed, 2 * largest_threshold, LEAST_BUFFER_FRAMES * scale.frame)
    return min(least, limits.SIZE.most)


SWIFT_BASE_S, SWIFT_SHARE = 25e-6, 4
"""The least default target of Swift, and the part of the empty round trip that it adds (swift.rs)."""


def swift_queue(given: Mapping[str, float], scale: Scale, switches: int, *, sprayed: bool) -> float:
    """Bytes of queue at the slowest port that the largest target delay of Swift allows.

    given: its parameters. switches: those on the longest path. By default the target exceeds the empty round
    trip r by max(25 us - r, r / 4, 5 or 20 frames at the slowest link), and r lies between 0 and R. A target
    that is stated counts in full, because a path may be short. Flow scaling adds `fs_range` at most (SIGCOMM
    2020 §3.5).
    """
    frames_s = 8 * scale.frame * (SPRAYED_FRAMES if sprayed else LEAST_FRAMES) / max(scale.slowest, 1)
    own = max(SWIFT_BASE_S, scale.rtt_ps / 1e12 / SWIFT_SHARE, frames_s)
    target_s = (given["base_target"] or own) + switches * given["per_hop"] + given["fs_range"]
    return scale.slowest / 8 * target_s


def memory(scale: Scale) -> int:
    """Bytes of shared memory of a switch: 12 MB up to 40 Gbps, in proportion to the fastest port above."""
    return max(MEMORY, round(MEMORY * scale.fastest / MEMORY_RATE))


def pause_threshold(scale: Scale) -> int:
    """Bytes from one link above which it is paused: 100 KB up to 40 Gbps, in proportion above."""
    return max(round(PAUSE * scale.fastest / MEMORY_RATE), PAUSE, 5 * scale.frame)


UET_RAMP = 0.2, 0.8
"""Ends of the ramp for NSCC in bandwidth-delay products; packets are trimmed at one (UE 1.0.3)."""
UET_LAST_HOP = 1.5
"""Bandwidth-delay products at which ports to hosts trim (UE 1.0.3)."""


def uet_ramp(scale: Scale) -> dict[str, object]:
    """The `marking` table of ports for NSCC: a ramp that begins after a frame at least."""
    kmin, kmax = (max(round(share * uet_product(scale)), scale.frame) for share in UET_RAMP)
    return {"kind": "red", "kmin": f"{kmin}B", "kmax": f"{kmax}B", "pmax": 1.0, "at": "dequeue"}


def uet_product(scale: Scale) -> int:
    """Bytes of the bandwidth-delay product of the longest path at the slowest port, eight frames at least."""
    return max(scale.in_flight(scale.slowest), TRIMMING_QUEUE * scale.frame)


TRIMMING_QUEUE = 8
"""Data packets that a port holds which trims further ones (Handley et al., SIGCOMM 2017 §3.1)."""


def trimming_queue(largest_threshold: int, frame: int) -> int:
    """Data packets of a port that trims: eight, or twice the largest marking threshold of flows that mark."""
    return min(max(TRIMMING_QUEUE, -(-2 * largest_threshold // frame)), limits.COUNT.most)


def rto_min(scale: Scale, queue_bytes: int) -> int:
    """Picoseconds of the least retransmission timeout: 1 ms, or longer than full queues delay an answer.

    A path may have two full queues of `queue_bytes`, one in each direction; unlimited queues count for none,
    because no timeout covers them. Rounded up to two digits.
    """
    limited = queue_bytes < NEVER // 16 and scale.slowest
    needed = scale.rtt_ps + (2 * queue_bytes * 8 * 10**12 // scale.slowest if limited else 0)
    digits = 10 ** max(0, len(str(needed)) - 2)
    return min(max(RTO_MIN_PS, -(-needed // digits) * digits), limits.TIME.most)


@dataclass(frozen=True)
class Rule:
    """The default of an algorithm's parameter: what it follows, and how.

    value: from the value in the paper, the ratio of rates, and the network.
    """

    follows: str
    value: Callable[[float, float, Scale], float]


def rto_initial(rto_min_ps: int, *, of_tcp: bool) -> int:
    """Picoseconds of the timeout before the first sample of the round trip.

    Connections are open, so a TCP has the sample R of a handshake: RFC 6298 gives the larger of `rto_min` and
    3 R, and the core sees to 3 R. Other transports take no such sample.
    """
    return rto_min_ps if of_tcp else max(RTO_INITIAL_PS, rto_min_ps)


def _longer_s(scale: Scale) -> float:
    """Seconds by which the longest round trip exceeds that of TIMELY's paper."""
    return max(0.0, scale.rtt_ps / 1e12 - TIMELY_RTT_S)


MOST_RTT_S = 10.0
"""The longest base round trip that NSCC takes."""
TIMELY_RTT_S = 20e-6
"""D_minRTT, the least round trip in TIMELY's network (CoNEXT 2016, footnote 4)."""
RULES = {
    "host_rate": Rule("the host's rate", lambda value, ratio, _: value * ratio),
    "host_time": Rule("the host's rate, inversely", lambda value, ratio, _: value / ratio),
    # at 100 Mbps a frame takes as long as 100 frames at 10 Gbps
    "slow_host_time": Rule(
        "the host's rate below 10 Gbps, inversely", lambda value, ratio, _: value / min(1.0, ratio)
    ),
    # bytes that are sent in a time, which stays the same on faster links
    "fast_host": Rule("the host's rate above 40 Gbps", lambda value, ratio, _: value * max(1.0, ratio)),
    # longer by what the network's round trip exceeds the 20 us of TIMELY's paper
    "round_trip": Rule(
        "the longest round trip, and the host's rate below 10 Gbps, inversely",
        lambda value, ratio, scale: value / min(1.0, ratio) + _longer_s(scale),
    ),
    # bytes, fewer on slow links, where a burst would take as long as many round trips
    "burst": Rule(
        "the host's rate below 10 Gbps",
        lambda value, ratio, scale: max(value * min(1.0, ratio), min(value, scale.frame)),
    ),
    # bytes that a delay which follows "round_trip" is at the rate of the host
    "delay_as_queue": Rule(
        "the longest round trip, and the host's rate above 10 Gbps",
        lambda value, ratio, scale: value * max(1.0, ratio) + scale.host_bps / 8 * _longer_s(scale),
    ),
    "longest_round_trip": Rule(
        "the longest round trip", lambda _value, _ratio, scale: min(scale.rtt_ps / 1e12, MOST_RTT_S)
    ),
    # per bit of "delay_as_queue"
    "gain": Rule("the host's rate above 10 Gbps, inversely", lambda value, ratio, _: value / max(1.0, ratio)),
    # per bit and second, smaller on slow links, whose round trips are longer
    "gain_per_second": Rule(
        "the host's rate", lambda value, ratio, _: value / max(1.0, ratio) * min(1.0, ratio)
    ),
}
"""The rules that rows of the catalog name, for parameters whose defaults follow the network."""


def of_10g(rate_bps: int) -> float:
    """The ratio for quantities of 10 Gbps: HULL's, and TIMELY's (scaled in HPCC's run.py)."""
    return rate_bps / (10 * GBPS)


RATIOS = {40 * GBPS: ratio, 10 * GBPS: of_10g}
"""How far quantities follow the host's rate, by the rate at which they are those of the paper."""


def follows(row: "Row", parameter: "Parameter") -> tuple[str, str | None] | None:
    """What the default of an algorithm's or marking's parameter follows, and where it is the catalog's value.

    None where it follows nothing.
    """
    rule = parameter.get("rule")
    if rule is None:
        return None
    if of_port := PORT_RULES.get(rule):
        return of_port.follows, of_port.at
    reference = _reference(row)
    return RULES[rule].follows, f"{reference // GBPS} Gbps" if reference else None


def parameter(algorithm: str, name: str, value: float, scale: Scale) -> float:
    """The default of an algorithm's parameter in a network, from `value`, that of its paper."""
    row = row_of(algorithm)
    rule = next(one.get("rule") for one in row["parameters"] if one["name"] == name)
    if not rule or not scale.host_bps:
        return value
    of_rate = RATIOS.get(_reference(row) or 0, of_10g)
    return float(f"{RULES[rule].value(value, of_rate(scale.host_bps), scale):.6g}")


def _reference(row: "Row") -> int | None:
    return cast("AlgorithmRow", row)["traits"]["reference_bps"]
