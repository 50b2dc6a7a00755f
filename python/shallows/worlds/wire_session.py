"""Sessions between two machines: a cookie, a token, and the flow that both ends agree on.

The receiver stores nothing about a stranger. It answers a greeting with a cookie, a keyed hash of the address
and the time, and the answer is no longer than the greeting. An opening counts if it brings the cookie back
from the same address, and a code under the token that both ends know. There is one session at a time.

Everything in a message is text of a stranger: a word has a pattern, a number has a range.
"""

import hashlib
import hmac
import json
import math
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from shallows.base import names
from shallows.base.toml import is_table
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
LEAST_S, MOST_S = 1e-3, 86_400.0
"""Range of the duration of a session."""
LARGEST = 2**53
"""Parameters are smaller: a rate of 9 Pbps."""

_is_hexadecimal = re.compile("[0-9a-f]{32}").fullmatch
_is_word = re.compile("[a-z][a-z0-9_-]{0,49}").fullmatch


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
        size, rate, seconds = table["size"], table["rate_bps"], table["seconds"]
        if type(size) is not int or not 0 <= size < 2**50:
            raise ValueError(f"size = {size!r}: expected bytes below 1 PB")
        if type(rate) is not int or not 10**6 <= rate <= 10**12:
            raise ValueError(f"rate_bps = {rate!r}: expected 1 Mbps to 1 Tbps")
        if type(seconds) not in (int, float) or not LEAST_S <= seconds <= MOST_S:
            raise ValueError(f"seconds = {seconds!r}: expected 1 ms to a day")
        return cls(_control(table["control"]), size, rate, float(seconds))


def _control(table: object) -> dict[str, object]:
    """The algorithm in an opening, by its form; whether there is one, the core says. Raises `ValueError`."""
    if not is_table(table) or set(table) != {"name", "parameters", "receiver"}:
        raise ValueError("a control with name, parameters and receiver")
    receiver = table["receiver"]
    if receiver is not None and (not is_table(receiver) or set(receiver) != {"kind", "parameters"}):
        raise ValueError("a receiver with kind and parameters, or null")
    for key, part in (("name", table), ("kind", receiver)):
        if part is None:
            continue
        if not isinstance(name := part[key], str) or not _is_word(name):
            raise ValueError(f"{key} = {name!r}: expected the name of an algorithm, without a preset")
        if not is_table(part["parameters"]):
            raise ValueError(f"parameters = {part['parameters']!r}: expected a table")
        for word, value in part["parameters"].items():
            if not _is_word(word) or type(value) not in (int, float, bool):
                raise ValueError(f"{word!r} = {value!r}: expected a parameter and a number")
            if not -LARGEST < value < LARGEST or not math.isfinite(value):
                raise ValueError(f"{word} = {value!r}: expected a number between -2^53 and 2^53")
    return table


@dataclass(frozen=True)
class Opening:
    """A session that a sender has opened."""

    terms: Terms
    peer: Address
    key: bytes
    answer: bytes


@dataclass(frozen=True)
class Refusal:
    """An opening with the right code, whose terms are not accepted."""

    why: str

    @property
    def answer(self) -> bytes:
        """The message for the sender."""
        return _message(kind="refused", why=self.why[:200])


class Door:
    """The receiver's side: answers greetings without a memory of them, and checks openings."""

    def __init__(self, token: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self._secret = os.urandom(32)
        self._token = token_key(token)
        self._clock = clock

    def answer(self, data: bytes, peer: Address) -> bytes | Opening | Refusal | None:
        """A cookie, an opening, its refusal, or nothing for another datagram, or one without the code."""
        message = _read(data)
        if message is None or not (nonce := _hexadecimal(message.get("nonce"))):
            return None
        if message.get("kind") == "greeting":
            cookie = _message(kind="cookie", cookie=self._cookie(peer, 0))
            return cookie if len(cookie) <= len(data) else None
        cookie = _hexadecimal(message.get("cookie"))
        if message.get("kind") != "opening" or not cookie or not self._is_own(cookie, peer):
            return None
        code = _code(self._token, message.get("terms"), nonce, cookie)
        if not _same(code, message.get("code")):
            return None
        key = _session_key(self._token, nonce, cookie)
        try:
            return Opening(Terms.of(message["terms"]), peer, key, _message(kind="accepted"))
        except ValueError as error:
            return Refusal(names.line(str(error))[:200])

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
        why = names.line(str(answer.get("why"))[:200])
        raise ScenarioError("wire", why, "terms that the receiver accepts")
    return _session_key(secret, greeted.nonce, greeted.cookie)


def token_key(token: str) -> bytes:
    """The key that a token stands for."""
    return hashlib.blake2b(token.encode(), digest_size=32, person=b"shallows token").digest()


def _ask(sock: socket.socket, peer: Address, message: bytes, *kinds: str) -> tuple[dict[str, object], float]:
    """Send `message` until an answer of one of these kinds comes; with the seconds that it took."""
    refused = ""
    for _ in range(ATTEMPTS):
        sent = time.monotonic()
        try:
            sock.sendto(message, peer)
        except OSError as error:
            refused = f"; this machine does not send to it ({error})"
        for data in _heard(sock, peer):
            answer = _read(data)
            if answer and answer.get("kind") in kinds and _hexadecimal(answer.get("cookie", "0" * 32)):
                return answer, time.monotonic() - sent
    expected = "a machine that runs `shallows wire receive`, with the same token, and no firewall between"
    raise ScenarioError("HOST", f"{peer[0]}:{peer[1]}", f"{expected}{refused}")


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


def _hexadecimal(word: object) -> str | None:
    """`word`, if it consists of 32 hexadecimal digits."""
    return word if isinstance(word, str) and _is_hexadecimal(word) else None


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
