"""One flow between two machines: its request to the core, and what each end reports."""

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address
from typing import TYPE_CHECKING, cast

import numpy as np

from shallows.algorithms.algorithm import traits_of
from shallows.base import names
from shallows.errors import ScenarioError
from shallows.units import NEVER, Frame
from shallows.worlds import packet, wire
from shallows.worlds.wire_session import LONGEST, PORT, Address, Door, Opening, Refusal, Terms, greet, knock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from shallows.algorithms.algorithm import Algorithm
    from shallows.core.contract import Control, Flows, Request
    from shallows.core.progress import OnProgress

ACCEPTS = 3
"""How often an opening is accepted, because the answer may be lost."""
PATIENCE_S = 0.5
LINES_PER_S = 5
"""The most lines of a receiver's log about peers."""
FRAME = Frame(1500, 1460)
RTT = "10ms"
"""The round trip from which timeouts follow before the real one is measured."""


def request(terms: Terms, used: "Algorithm | None" = None) -> "Request":
    """The request for one flow from host 0 to host 1, over one cable, under `used` or the terms' control.

    The name in the terms is the peer's: it is looked up in the catalog, and is never a file. Raises
    `ScenarioError` for any other name.
    """
    from shallows.algorithms.algorithm import in_catalog
    from shallows.scenario import Scenario

    mbps = terms.rate_bps / 1e6
    scenario = Scenario.made(
        {
            "duration": f"{terms.seconds}s",
            "warmup": "0s",
            "topology": {"kind": "star", "hosts": 2, "rate": f"{mbps}Mbps", "rtt": RTT},
            "cc": {"name": in_catalog(terms.control["name"])},
            "traffic": [{"kind": "incast", "senders": 1, "size": f"{terms.size or 1}B"}],
        }
    )
    asked = packet.request(scenario)
    control = used.to_core() if used else cast("Control", {**terms.control, "user_algorithm": None})
    ends = {"src": np.array([0], np.uint32), "dst": np.array([1], np.uint32)}
    size = {"bytes": np.array([terms.size or NEVER], np.uint64)}
    flows = cast("Flows", {**asked["flows"], **ends, **size})
    return {**asked, **_without_switch(asked), "ccs": [control], "flows": flows}


def _without_switch(asked: "Request") -> "Request":
    """The parts of a request that join the ports of both hosts by a cable."""
    starts = asked["links"]["from"]
    nics = np.flatnonzero(starts < asked["hosts"])
    nics = nics[np.argsort(starts[nics])]
    columns = cast("Mapping[str, NDArray[np.generic] | None]", asked["links"])
    links = {key: None if column is None else column[nics].copy() for key, column in columns.items()}
    links["to"] = starts[nics][::-1].copy()
    record = {**asked["record"], "queue_links": np.empty(0, np.uint32)}
    return cast("Request", {"links": links, "nodes": asked["hosts"], "record": record})


def for_path(used: "Algorithm", rate_bps: int, round_trip_s: float) -> "Algorithm":
    """The same algorithm with defaults for a path of this rate and round trip."""
    from shallows.algorithms.defaults import Scale
    from shallows.scenario.resolve import of_network

    rates = np.array([rate_bps], np.uint64)
    return of_network(used, Scale(round(1e12 * round_trip_s), FRAME.wire, rates, rate_bps))


def control(used: "Algorithm") -> dict[str, object]:
    """The algorithm as the receiver needs it."""
    return {key: value for key, value in used.to_core().items() if key != "user_algorithm"}


def check_algorithm(key: str, name: str, label: str, parameters: "Mapping[str, object]") -> None:
    """Raise `ScenarioError` for an algorithm that needs something of switches that real ones do not have."""
    wire.check_algorithm(key, name, label, parameters)
    if traits_of(name)["reads_switches"]:
        expected = "an algorithm without rates or records of switches; `--world wire` emulates them"
        raise ScenarioError(key, label, expected)


def address(text: str, default: int = PORT) -> Address:
    """The IPv4 address and port of `HOST` or `HOST:PORT`."""
    host, _, port = text.partition(":")
    if port and not (port.isdecimal() and 0 < int(port) < 65_536):
        raise ScenarioError("HOST", text, "an address, and a port from 1 to 65535")
    try:
        found = socket.getaddrinfo(host, int(port or default), socket.AF_INET, socket.SOCK_DGRAM)
    except OSError as error:
        raise ScenarioError("HOST", text, f"a name or an IPv4 address ({error})") from None
    where = found[0][4]
    return str(where[0]), int(where[1])


def check_token(host: str, token: str) -> None:
    """Raise `ScenarioError` for an address beyond this machine without a token."""
    ours = ip_address(host)
    if isinstance(ours, IPv4Address) and not ours.is_loopback and not token:
        expected = "a word that both ends know: other machines can reach this address"
        raise ScenarioError("--token", None, expected)


class Log:
    """Lines about peers, whose texts are escaped. Anybody can cause one, so there are few each second."""

    def __init__(self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._tell, self._clock = tell, clock
        self._second, self._lines, self._left_out = 0, 0, 0

    def __call__(self, peer: Address, said: str) -> None:
        """Tell what happened with a peer, or count it if there were many lines in this second."""
        if (second := int(self._clock())) != self._second:
            self._second, self._lines = second, 0
        if self._lines == LINES_PER_S:
            self._left_out += 1
            return
        self._lines += 1
        more = f" ({self._left_out} lines were left out before)" if self._left_out else ""
        self._left_out = 0
        self._tell(names.line(f"{peer[0]}:{peer[1]} {said}{more}"))


@dataclass
class Receiver:
    """Receives one flow after the other at an address. A wrong peer costs a line of `tell`, and no more."""

    listen: Address
    token: str = ""
    tell: Callable[[str], None] = lambda _: None

    def __enter__(self) -> "Receiver":
        wire.need_linux("--listen", f"{self.listen[0]}:{self.listen[1]}")
        check_token(self.listen[0], self.token)
        self._door = Door(self.token)
        self._log = Log(self.tell)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind(self.listen)
        except OSError as error:
            self._socket.close()
            text = f"{self.listen[0]}:{self.listen[1]}"
            raise ScenarioError("--listen", text, f"a free address of this machine ({error})") from None
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def next(self, on_progress: "OnProgress | None" = None) -> dict[str, object]:
        """Receive the flow of the next session that begins, and return what was seen."""
        while True:
            opening, asked = self._opened()
            self._log(opening.peer, f"sends under {opening.terms.control['name']}")
            try:
                return self._received(opening, asked, on_progress)
            except Exception as error:  # whatever this peer has caused, the next one is received
                self._log(opening.peer, f"is dropped: {error or type(error).__name__}")

    def _opened(self) -> "tuple[Opening, Request]":
        """Wait for an opening that the core accepts; with its request."""
        self._socket.settimeout(PATIENCE_S)
        while True:
            try:
                data, peer = self._socket.recvfrom(LONGEST)
            except (TimeoutError, ConnectionRefusedError):
                continue
            answer = self._door.answer(data, peer)
            if isinstance(answer, Opening):
                accepted = _accepted(answer.terms)
                if not isinstance(accepted, Refusal):
                    for _ in range(ACCEPTS):
                        self._answer(answer.answer, peer)
                    return answer, accepted
                answer = accepted
            if isinstance(answer, Refusal):
                self._log(peer, f"is refused: {answer.why}")
                answer = answer.answer
            if answer:
                self._answer(answer, peer)

    def _answer(self, data: bytes, peer: Address) -> None:
        """Send, if the kernel does: a source may be an address to which nothing can be sent."""
        try:
            self._socket.sendto(data, peer)
        except OSError as error:
            self._log(peer, f"gets no answer: {error.strerror}")

    def _received(
        self, opening: Opening, asked: "Request", on_progress: "OnProgress | None"
    ) -> dict[str, object]:
        from shallows import _core

        return _core.endpoint(
            asked,
            descriptor=self._socket.fileno(),
            peer=opening.peer,
            key=list(opening.key),
            sends=False,
            on_progress=on_progress,
        )


def _accepted(terms: Terms) -> "Request | Refusal":
    """The request for the flow of these terms, or why there is none."""
    from shallows import _core

    try:
        asked, name = request(terms), str(terms.control["name"])
        check_algorithm("cc.name", name, name, cast("Mapping[str, object]", terms.control["parameters"]))
        mistake = _core.check(asked)
    except Exception as error:  # the terms are a stranger's: whatever they cause, others are received
        return Refusal(str(error) or type(error).__name__)
    return Refusal("{} = {}: expected {}".format(*mistake)) if mistake else asked


def send(
    peer: Address,
    used: "Algorithm",
    *,
    size: int,
    rate_bps: int,
    seconds: float,
    token: str = "",
    on_progress: "OnProgress | None" = None,
) -> dict[str, object]:
    """Send one flow of `size` bytes (0: without an end) to a receiver, and return what both ends have seen.

    Parameters that nobody chose follow the rate and the round trip, as in a scenario.
    """
    from shallows import _core

    wire.need_linux("HOST", f"{peer[0]}:{peer[1]}")
    check_algorithm("--cc", used.name, used.label, used.parameters)
    check_token(peer[0], token)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("0.0.0.0", 0))
        greeted = greet(sock, peer)
        used = for_path(used, rate_bps, greeted.round_trip_s)
        terms = Terms(control(used), size, rate_bps, seconds)
        asked = request(terms, used)  # before the session is open: the receiver waits for probes then
        key = knock(sock, greeted, terms, token)
        return _core.endpoint(
            asked,
            descriptor=sock.fileno(),
            peer=peer,
            key=list(key),
            sends=True,
            on_progress=on_progress,
        )
