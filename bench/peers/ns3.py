"""Runs a scenario in ns-3: the same network, flows, paths and timers, by network.cc.

This module makes the differences of the simulators equal. Connections are open from the start in Shallows, so
in ns-3 a flow connects earlier by the round trip of its handshake. ns-3's queues do not count the packet in
transmission, so limits and thresholds are smaller by it (`_queue`), and measured queues include it.
"""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from shallows import _core
from shallows.units import NEVER
from shallows.worlds import packet

SOURCE = Path(__file__).parent / "network.cc"
FOLDER = Path(__file__).parents[2] / "target" / "peers"
LIBRARIES = ("internet", "point-to-point", "traffic-control", "network", "core")
SENDERS = {
    "reno": "ns3::TcpLinuxReno",
    "cubic": "ns3::TcpCubic",
    "vegas": "ns3::TcpVegas",
    "dctcp": "ns3::TcpDctcp",
}
LOSS_BASED = ("reno", "cubic")  # after whose data hosts leave random gaps
HEADER = 42  # point-to-point protocol 2, IPv4 20, TCP 20: required for equal frames
SOCKET_BUFFER = 1 << 24  # B, more than any window of the cases
UNLIMITED = 10_000_000  # packets in a host's own queue


class MissingError(Exception):
    """ns-3 is not installed; the text says what to install."""


@dataclass
class Result:
    """Results of ns-3: arrays by flow, and the observed port. Queues in bytes, times in picoseconds."""

    seconds: float
    hops: int
    memory_mb: float
    measured_s: float
    start: np.ndarray
    finish: np.ndarray
    goodput: np.ndarray
    sent: int
    dropped: int
    marked: int
    utilization: float
    queue_mean: float
    queue_max: float


@cache
def program():
    """The compiled network.cc."""
    compiler = shutil.which("g++")
    include = "#include <ns3/core-module.h>\n"
    probe = [compiler, "-std=c++17", "-fsyntax-only", "-x", "c++", "-"]
    if not compiler or subprocess.run(probe, input=include, text=True, capture_output=True).returncode != 0:
        raise MissingError("there is no ns-3 to compare with (Debian: apt-get install g++ libns3-dev)")
    binary = FOLDER / "network"
    if not binary.exists() or binary.stat().st_mtime < SOURCE.stat().st_mtime:
        FOLDER.mkdir(parents=True, exist_ok=True)
        libraries = [f"-lns3-{library}" for library in LIBRARIES]
        part = binary.with_suffix(f".{os.getpid()}")  # several may compile at once
        subprocess.run([compiler, "-std=c++17", "-O2", SOURCE, "-o", part, *libraries], check=True)
        part.replace(binary)
    return binary


def run(scenario, watch=0, attributes=None):
    """Run a scenario in ns-3 with these further attributes, and measure the port of the link `watch`."""
    binary = program()
    file = FOLDER / f"{scenario.name}.net"
    file.write_text("\n".join([*describe(scenario, attributes), f"watch {watch}"]) + "\n")
    printed = subprocess.run([binary, file], check=True, capture_output=True, text=True).stdout
    answer = json.loads(printed)
    opening = _opening(scenario)
    ended = answer.pop("ended_ps") - opening
    start, finish, goodput = np.array(answer.pop("flows"), float).T
    return Result(
        **answer,
        measured_s=(ended - scenario.warmup_ps) / 1e12,
        start=start - opening,
        finish=np.where(finish > 0, finish - opening, np.nan),
        goodput=goodput,
    )


def paths(scenario):
    """By flow, the links of its path and of the reverse path."""
    return _core.paths(packet.request(scenario))


def describe(scenario, attributes=None):
    """The lines that network.cc reads."""
    if scenario.frame.header != HEADER:
        raise ValueError(f"{scenario.name}: network.header = {scenario.frame.header} B, expected {HEADER} B")
    request, opening = packet.request(scenario), _opening(scenario)
    end = 0 if request["until_done"] else request["duration_ps"] + opening
    yield f"run {request['nodes']} {request['warmup_ps'] + opening} {end} {request['seed']}"
    for attribute in [*_attributes(scenario), *(" ".join(pair) for pair in (attributes or {}).items())]:
        yield f"attribute {attribute}"
    yield from _links(scenario, request)
    yield from _flows(scenario, request, opening)


def _attributes(scenario):
    """Defaults of ns-3 that correspond to the hosts of the scenario."""
    hosts = scenario.hosts
    payload = scenario.frame.wire - scenario.frame.header
    seconds = {
        "TcpSocketBase::MinRto": hosts.rto_min,
        "TcpSocket::ConnTimeout": hosts.rto_initial,
        "TcpSocket::DelAckTimeout": hosts.ack_delay,
        "RttEstimator::InitialEstimation": hosts.rto_initial,
    }
    yield from (f"ns3::{key} {ps}ps" for key, ps in seconds.items())
    yield f"ns3::TcpSocket::SegmentSize {payload}"
    yield f"ns3::TcpSocket::InitialCwnd {hosts.initial_window // payload}"
    yield f"ns3::TcpSocket::DelAckCount {_acks_every(scenario)}"
    yield f"ns3::TcpSocket::SndBufSize {SOCKET_BUFFER}"
    yield f"ns3::TcpSocket::RcvBufSize {SOCKET_BUFFER}"
    yield "ns3::TcpSocketBase::Timestamp false"
    yield "ns3::TcpSocketBase::ClockGranularity 1us"


def _acks_every(scenario):
    """Data packets that an acknowledgement covers: one value in ns-3."""
    (value,) = {scenario.hosts.acks_every or cc.acks_every for cc in scenario.flows.ccs}
    return value


def _links(scenario, request):
    links = request["links"]
    gap = scenario.hosts.gap * request["mtu_bytes"] * 8e12
    fills_queues = {
        int(src) for src, cc in zip(*_senders(scenario, request), strict=True) if cc.name in LOSS_BASED
    }
    for at in range(len(links["from"])):
        number = int(links["marking"][at])
        marking = request["markings"][number - 1] if number else None
        rate = int(links["rate_bps"][at])
        limit, discipline = _queue(int(links["buffer_bytes"][at]), marking, request["mtu_bytes"], rate)
        yield " ".join(
            [
                "link",
                *(str(links[key][at]) for key in ("from", "to", "rate_bps", "delay_ps")),
                limit,
                str(round(gap / rate) if links["from"][at] in fills_queues else 0),
                discipline,
            ]
        )


def _senders(scenario, request):
    """By flow, the host that sends and its algorithm."""
    flows = request["flows"]
    return flows["src"], [scenario.flows.ccs[cc] for cc in flows["cc"]]


def _queue(buffer, marking, mtu, rate):
    """The limit of the queue in packets, and its discipline.

    In Shallows the buffer includes the packet in transmission: with a buffer of B packets one more fits if at
    most B - 2 wait. It is marked beyond a threshold of K packets, including itself: if K - 1 wait, one of
    them in ns-3's device, below the discipline. On a ramp the packet in transmission counts half on average.
    CoDel of ns-3 measures the delay up to the device, where a packet waits for the one in transmission.
    """
    limit = UNLIMITED if buffer == NEVER else buffer // mtu - 1
    if marking is None:
        return str(limit), ""
    values = marking["parameters"]
    ecn = f"{values['ecn']:g}"
    match marking["kind"]:
        case "step":
            threshold = values["threshold"] / mtu - 2
            return str(limit), f"red {threshold:g} {threshold:g} 1 1 0 1 {ecn}"
        case "red":
            kmin, kmax = values["kmin"] / mtu - 2.5, values["kmax"] / mtu - 2.5
            # uniform is Floyd's and Jacobson's method without ns-3's wait of 1/p packets
            wait = 1 - values["uniform"]
            ramp = f"{values['pmax']:g} {values['weight']:g} {values['gentle']:g} {wait:g}"
            return str(limit), f"red {kmin:g} {kmax:g} {ramp} {ecn}"
        case "codel":
            target = round(values["target"] * 1e12) - mtu * 8 * 10**12 // rate
            interval = round(values["interval"] * 1e12)
            return str(limit), f"codel {target} {interval} {ecn}"
    raise ValueError(f"ns-3 has no {marking['kind']} marking")


def _flows(scenario, request, opening):
    flows, handshakes = request["flows"], _handshakes(scenario)
    _, ccs = _senders(scenario, request)
    for at, (there, back) in enumerate(paths(scenario)):
        connect = int(flows["start_ps"][at]) + opening - handshakes[at]
        size = 0 if flows["bytes"][at] == NEVER else flows["bytes"][at]
        sender = SENDERS[ccs[at].name], int(ccs[at].needs_marking)
        ends = (flows["src"][at], flows["dst"][at], size, connect, *sender)
        yield " ".join(map(str, ("flow", *ends, *there, "|", *back)))


def _opening(scenario):
    """The time of ns-3 at the scenario's time 0: the first connections open before it."""
    return max(_handshakes(scenario))


def _handshakes(scenario):
    """By flow, the time that its handshake takes on an idle network."""
    network = scenario.graph
    cable = network.delay_ps + (HEADER * 8 * 10**12) // network.rate_bps
    return [int(sum(cable[way].sum() for way in ways)) for ways in paths(scenario)]
