"""Sessions between two machines: a cookie, a token, and the flow that both ends agree on.

The receiver stores nothing about a stranger. It answers a greeting with a cookie, a keyed hash of the address
and the time, and the answer is no longer than the greeting. An opening counts if it brings the cookie back
from the same address, and a code under the token that both ends know. There is one session at a time.
"""

import hashlib
import hmac
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from shallows.base.literal import is_table
from shallows.errors import ScenarioError

Address = tuple[str, int]

MAGIC = b"shallows-wire 1\n"
GREETING_BYTES = 600
"""Length of a greeting, so that the cookie is shorter."""
LONGEST = 4096
COOKIE_S = 10
"""A cookie counts for this period and the next one."""
PORT = 4791
GREETINGS = 3
"""Greetings of a sender, of which the fastest is nearest to the round trip of the path."""
ANSWER_S = 0.25
ATTEMPTS = 8


@dataclass(frozen=True)
class Terms:
    """What the sender asks for.

    control: the algorithm for the core (name, parameters, receiver). size: payload, 0 without an end.
    """

    control: dict[str, object]
    size: int
    rate_bps: int
    seconds: float

    @classmethod
    def of(cls, table: object) -> "Terms":
        """The terms in an opening. Raises `ValueError` if they are none."""
        if not is_table(table) or set(table) != set(cls.__annotations__):
            raise ValueError("the terms of a session: control, size, rate_bps and seconds")
        control = table["control"]
        if not is_table(control) or set(control) != {"name", "parameters", "receiver"}:
            raise ValueError("a control with name, parameters and receiver")
        size, rate, seconds = table["size"], table["rate_bps"], table["seconds"]
        if type(size) is not int or not 0 <= size < 2**50:
            raise ValueError(f"size = {size!r}: expected bytes below 1 PB")
        if type(rate) is not int or not 10**6 <= rate <= 10**12:
            raise ValueError(f"rate_bps = {rate!r}: expected 1 Mbps to 1 Tbps")
        if type(seconds) not in (int, float) or not 0 < seconds <= 86_400:
            raise ValueError(f"seconds = {seconds!r}: expected at most a day")
        return cls(control, size, rate, float(seconds))


@dataclass(frozen=True)
class Opening:
    """A session that a sender has opened."""

    terms: Terms
    peer: Address
    key: bytes
    answer: bytes


class Door:
    """The receiver's side: answers greetings without a memory of them, and checks openings."""

    def __init__(self, token: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self._secret = os.urandom(32)
        self._token = token_key(token)
        self._clock = clock

    def answer(self, data: bytes, peer: Address) -> bytes | Opening | None:
        """A cookie, an opening, or nothing for a datagram that is neither a greeting nor a right opening."""
        message = _read(data)
        if message is None or not isinstance(nonce := message.get("nonce"), str) or len(nonce) != 32:
            return None
        if message.get("kind") == "greeting":
            cookie = _message(kind="cookie", cookie=self._cookie(peer, 0))
            return cookie if len(cookie) <= len(data) else None
        cookie = message.get("cookie")
        if message.get("kind") != "opening" or not isinstance(cookie, str) or not self._is_own(cookie, peer):
            return None
        code = _code(self._token, message.get("terms"), nonce, cookie)
        if not _same(code, message.get("code")):
            return None
        key = _session_key(self._token, nonce, cookie)
        try:
            return Opening(Terms.of(message["terms"]), peer, key, _message(kind="accepted"))
        except ValueError as error:
            return _message(kind="refused", why=str(error)[:200])

    def _is_own(self, cookie: str, peer: Address) -> bool:
        return any(_same(self._cookie(peer, age), cookie) for age in (0, 1))

    def _cookie(self, peer: Address, age: int) -> str:
        said = f"{peer[0]} {peer[1]} {int(self._clock() // COOKIE_S) - age}".encode()
        return hashlib.blake2b(said, key=self._secret, digest_size=16).hexdigest()


@dataclass(frozen=True)
class Greeted:
    """A peer that has answered greetings: its cookie for a nonce, and the seconds of the fastest answer."""

    peer: Address
    nonce: str
    cookie: str
    round_trip_s: float


def greet(sock: socket.socket, peer: Address) -> Greeted:
    """Greet a receiver. Raises `ScenarioError` if none answers."""
    nonce = os.urandom(16).hex()
    greeting = _message(kind="greeting", nonce=nonce).ljust(GREETING_BYTES)
    answers = [_ask(sock, peer, greeting, "cookie") for _ in range(GREETINGS)]
    return Greeted(peer, nonce, str(answers[-1][0]["cookie"]), min(took_s for _, took_s in answers))


def knock(sock: socket.socket, greeted: Greeted, terms: Terms, token: str = "") -> bytes:
    """Open a session, and return the key of its datagrams. Raises `ScenarioError` if the peer does not."""
    secret, table = token_key(token), asdict(terms)
    code = _code(secret, table, greeted.nonce, greeted.cookie)
    named = {"nonce": greeted.nonce, "cookie": greeted.cookie}
    opening = _message(kind="opening", **named, terms=table, code=code)
    answer, _ = _ask(sock, greeted.peer, opening, "accepted", "refused")
    if answer["kind"] == "refused":
        raise ScenarioError("wire", answer.get("why"), "terms that the receiver accepts")
    return _session_key(secret, greeted.nonce, greeted.cookie)


def token_key(token: str) -> bytes:
    """The key that a token stands for."""
    return hashlib.blake2b(token.encode(), digest_size=32, person=b"shallows token").digest()


def _ask(sock: socket.socket, peer: Address, message: bytes, *kinds: str) -> tuple[dict[str, object], float]:
    """Send `message` until an answer of one of these kinds comes; with the seconds that it took."""
    for _ in range(ATTEMPTS):
        sent = time.monotonic()
        sock.sendto(message, peer)
        for data in _heard(sock, peer):
            answer = _read(data)
            if answer and answer.get("kind") in kinds:
                return answer, time.monotonic() - sent
    expected = "a machine that runs `shallows wire receive`, with the same token, and no firewall between"
    raise ScenarioError("HOST", f"{peer[0]}:{peer[1]}", expected)


def _heard(sock: socket.socket, peer: Address) -> Iterator[bytes]:
    """Datagrams of the peer, for a while."""
    until = time.monotonic() + ANSWER_S
    while (left := until - time.monotonic()) > 0:
        sock.settimeout(left)
        try:
            data, source = sock.recvfrom(LONGEST)
        except (TimeoutError, ConnectionRefusedError):
            continue
        if source == peer:
            yield data


def _message(**parts: object) -> bytes:
    return MAGIC + json.dumps(parts, sort_keys=True).encode()


def _read(data: bytes) -> dict[str, object] | None:
    """The parts of a message; None if it is none."""
    if not data.startswith(MAGIC) or len(data) > LONGEST:
        return None
    try:
        parts = json.loads(data[len(MAGIC) :])
    except (ValueError, RecursionError):
        return None
    return parts if is_table(parts) else None


def _code(secret: bytes, terms: object, nonce: str, cookie: str) -> str:
    said = json.dumps([terms, nonce, cookie], sort_keys=True).encode()
    return hashlib.blake2b(said, key=secret, digest_size=16).hexdigest()


def _session_key(secret: bytes, nonce: str, cookie: str) -> bytes:
    return hashlib.blake2b(f"{nonce} {cookie}".encode(), key=secret, digest_size=16).digest()


def _same(code: str, given: object) -> bool:
    return isinstance(given, str) and hmac.compare_digest(code.encode(), given.encode("utf-8", "replace"))
