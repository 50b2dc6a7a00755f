"""Bytes of frames as a tap would see them: IPv4 with TCP, RoCE or UDP, and pauses of 802.1Qbb.

Frames have the length that the scenario gives, headers included. Fields of the packet world become header
fields of the protocols that it models; nothing else is invented. Zeros follow up to the length of the frame:
padding of short frames, and the part of `network.header` beyond these headers.
"""

import struct
from typing import TYPE_CHECKING, Any

import dpkt

from shallows.errors import ScenarioError
from shallows.why.record import DATA_LIKE

if TYPE_CHECKING:
    from shallows.algorithms.algorithm import Algorithm
    from shallows.scenario import Scenario

DATA_PORT, ROCE_PORT, CREDIT_PORT = 5201, 4791, 61440
"""Destination ports: TCP data; RoCE; credits, pulls and rate requests, which have no well-known port."""
FIRST_PORT, PORTS = 1024, 40_000
"""The first source port of flows and the number of source ports; then the destination port increments."""
QUEUE_PAIR = 16
"""The first queue pair of a RoCE flow; each flow has its own."""
LOSSLESS = 3
"""The class of 802.1Qbb that stands for data, the only one that is paused."""
WINDOW_SHIFT = 7
"""Windows are advertised in units of 128 B, as after a window scale option of 7."""
CONTROL = (
    "credit_request",
    "credit",
    "credit_stop",
    "rate_request",
    "rate_answer",
)
"""Kinds with a datagram of their own, whatever transport carries the flow."""
DATAGRAMS = (*CONTROL, "data", "ack", "nack", "trimmed", "returned", "pull", "probe", "port_status")
"""All kinds of flows over neither TCP nor RoCE: a byte (place in this list plus 1) and two numbers."""
FORWARD = (*DATA_LIKE, "trimmed", "probe")
"""Kinds from a flow's sender to its receiver. So is a port status whose first number is 0."""
PAUSES = ("pause", "resume")
"""Kinds that belong to no flow: Ethernet frames."""
SNAPPED = 64
"""Bytes captured of a frame. RoCE frames are captured whole: Wireshark calls a part malformed."""

Row = dict[str, Any]
"""A row of the table of frames: kind and bits by name, and numbers."""

_TCP_LEAST = 40
_ACK, _ECE, _CWR = dpkt.tcp.TH_ACK, dpkt.tcp.TH_ECE, dpkt.tcp.TH_CWR
_SEND = {(True, True): 4, (True, False): 0, (False, False): 1, (False, True): 2}
"""Opcodes of reliable connections by (first, last): SEND only, first, middle, last."""
_ACKNOWLEDGE, _CNP = 0x11, 0x81
_ACK_SYNDROME, _NAK_SYNDROME = 0x1F, 0x60
"""Syndromes of an acknowledgement without credits, and of one for a PSN out of sequence."""


class Headers:
    """Generator of frame bytes for a scenario."""

    def __init__(self, scenario: "Scenario") -> None:
        self.scenario, self.flows = scenario, scenario.flows
        self.mss = scenario.frame.payload
        self.transports = [_transport(used) for used in self.flows.ccs]
        if "tcp" in self.transports and scenario.network.header < _TCP_LEAST:
            expected = f"at least {_TCP_LEAST} B, the headers of IPv4 and TCP, for a capture"
            raise ScenarioError("network.header", f"{scenario.network.header}B", expected)

    def frame(self, row: Row) -> bytes:
        """The captured bytes of a frame, given as a dict of a row of `frames`."""
        if row["kind"] in PAUSES:
            return self._pause(row)
        transport = self._transport_of(row)
        made = {"tcp": self._tcp, "roce": self._roce, "credit": self._datagram}[transport](row)
        padded = made.ljust(row["length"], b"\0")
        return padded if transport == "roce" else padded[:SNAPPED]

    def _transport_of(self, row: Row) -> str:
        transport = self.transports[self.flows.cc[row["flow"]]]
        return "credit" if transport == "tcp" and row["kind"] in CONTROL else transport

    def _end(self, number: int, flow: int) -> int:
        """Payload bytes of a flow before its packet `number`."""
        whole = int(self.flows.bytes[flow])
        return min(number * self.mss, whole) if whole else number * self.mss

    def _payload(self, row: Row) -> int:
        number, flow = row["number"], row["flow"]
        return self._end(number + 1, flow) - self._end(number, flow) if row["kind"] == "data" else 0

    def _ends(self, row: Row) -> tuple[int, int, bool, int, int]:
        """(source, destination, source port, offset of the destination port), reversed for answers."""
        flow = row["flow"]
        src, dst = int(self.flows.src[flow]), int(self.flows.dst[flow])
        forward = row["kind"] in FORWARD or (row["kind"] == "port_status" and not row["number"])
        return (src, dst, forward, FIRST_PORT + flow % PORTS, flow // PORTS)

    def _tcp(self, row: Row) -> bytes:
        _, _, forward, port, more = self._ends(row)
        flow, flags = row["flow"], _ACK
        ports = (port, DATA_PORT + more) if forward else (DATA_PORT + more, port)
        options = b""
        if forward:
            seq, ack, window = 1 + self._end(row["number"], flow), 1, 0xFFFF
            flags |= _CWR if row["cwr"] else 0
        else:
            seq, ack, window = 1, 1 + self._end(row["speaks_of"], flow), self._window(row)
            flags |= _ECE if row["ece"] else 0
            options = self._sack(row)
        segment = dpkt.tcp.TCP(
            sport=ports[0],
            dport=ports[1],
            seq=seq % 2**32,
            ack=ack % 2**32,
            flags=flags,
            win=window,
            off=5 + len(options) // 4,
            opts=options,
            data=bytes(self._payload(row)),
        )
        return self._ip(row, segment, dpkt.ip.IP_PROTO_TCP)

    def _window(self, row: Row) -> int:
        if not row["window"]:
            return 0xFFFF
        return min(-(-(row["window"] * self.mss // 16) >> WINDOW_SHIFT), 0xFFFF)

    def _sack(self, row: Row) -> bytes:
        if not row["block"]:
            return b""
        edges = [1 + self._end(row["number"] + more, row["flow"]) for more in (0, row["block"])]
        nop, kind, length = dpkt.tcp.TCP_OPT_NOP, dpkt.tcp.TCP_OPT_SACK, 10
        return struct.pack(">BBBBII", nop, nop, kind, length, *(edge % 2**32 for edge in edges))

    def _roce(self, row: Row) -> bytes:
        """BTH, then payload with padding, an AETH, or the reserved bytes of a CNP; the ICRC is empty."""
        flow, room = row["flow"], row["length"] - 20 - 8 - 12 - 4
        psn, flags, rest, padding = row["number"], 0, b"", 0
        if row["kind"] == "data":
            whole = int(self.flows.bytes[flow])
            last = bool(whole) and self._end(row["number"] + 1, flow) == whole
            opcode = _SEND[row["number"] == 0, last]
            flags = 1 << 31 if row["asks"] else 0
            payload = min(self._payload(row), room // 4 * 4)
            padding = -payload % 4
            rest = bytes(payload + padding)
        elif row["kind"] == "notification":
            opcode, psn, rest = _CNP, 0, bytes(16)
        else:
            opcode, nack = _ACKNOWLEDGE, row["kind"] == "nack"
            psn = row["speaks_of"] - (not nack)
            whole = int(self.flows.bytes[flow])
            done = bool(whole) and self._end(row["speaks_of"], flow) == whole
            rest = struct.pack(">I", (_NAK_SYNDROME if nack else _ACK_SYNDROME) << 24 | done)
        pair = QUEUE_PAIR + flow | (1 << 30 if opcode == _CNP else 0)
        base = struct.pack(">BBHII", opcode, padding << 4, 0xFFFF, pair, flags | psn % 2**24)
        return self._udp(row, base + rest + bytes(4), ROCE_PORT)

    def _datagram(self, row: Row) -> bytes:
        """A datagram for credits, pulls, credit and rate requests, called data, and trimmed packets."""
        head = struct.pack(">BxxxII", 1 + DATAGRAMS.index(row["kind"]), row["number"], row["speaks_of"])
        payload = max(min(self._payload(row), row["length"] - 20 - 8 - len(head)), 0)
        return self._udp(row, head + bytes(payload), CREDIT_PORT)

    def _udp(self, row: Row, data: bytes, service: int) -> bytes:
        _, _, forward, port, more = self._ends(row)
        roce = service == ROCE_PORT
        source, target = (port, service if roce else service + more)
        datagram = dpkt.udp.UDP(
            sport=source if forward or roce else target,
            dport=target if forward or roce else source,
            data=data,
        )
        datagram.ulen = len(datagram)
        return self._ip(row, datagram, dpkt.ip.IP_PROTO_UDP)

    def _ip(self, row: Row, inside: object, protocol: int) -> bytes:
        src, dst, forward, *_ = self._ends(row)
        ecn = 3 if row["ce"] else 1 if row["ect1"] else 2 if row["ect"] else 0
        ends = [struct.pack(">I", 10 << 24 | host + 1) for host in ((src, dst) if forward else (dst, src))]
        packet = dpkt.ip.IP(src=ends[0], dst=ends[1], p=protocol, tos=ecn, df=1, data=inside)
        return bytes(packet)

    def _pause(self, row: Row) -> bytes:
        """A class-based pause, with the longest duration, or with 0, which resumes."""
        times = [0] * 8
        times[LOSSLESS] = 0xFFFF if row["kind"] == "pause" else 0
        control = struct.pack(">HH8H", 0x0101, 1 << LOSSLESS, *times)
        node = int(self.scenario.graph.link_from[row["link"]])
        frame = dpkt.ethernet.Ethernet(
            dst=bytes.fromhex("0180c2000001"), src=struct.pack(">HI", 0x0200, node), type=0x8808, data=control
        )
        return bytes(frame)


def _transport(used: "Algorithm") -> str:
    """The headers of a catalog row: rate feedback has those of TCP, "credit" those of no standard."""
    standard = {"tcp": "tcp", "rated": "tcp", "roce": "roce"}
    return standard.get(used.transport, "credit")
