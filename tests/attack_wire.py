"""A peer that speaks every message of the wire world, for attacks on `wire receive` and `wire send`.

It knows the header and the control datagrams (`crates/wire`), and gives each its code: SipHash-2-4 under the
key of the session.
"""

import random
import socket
import struct
import time

from shallows.worlds import wire_session

MASK = 2**64 - 1


def siphash(key: bytes, data: bytes) -> int:
    """SipHash-2-4 (Aumasson, Bernstein, INDOCRYPT 2012)."""
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def turn(x: int, by: int) -> int:
        return (x << by | x >> (64 - by)) & MASK

    def rounds(count: int) -> None:
        for _ in range(count):
            v[0] = (v[0] + v[1]) & MASK
            v[2] = (v[2] + v[3]) & MASK
            v[1], v[3] = turn(v[1], 13) ^ v[0], turn(v[3], 16) ^ v[2]
            v[0] = turn(v[0], 32)
            v[2] = (v[2] + v[1]) & MASK
            v[0] = (v[0] + v[3]) & MASK
            v[1], v[3] = turn(v[1], 17) ^ v[2], turn(v[3], 21) ^ v[0]
            v[2] = turn(v[2], 32)

    last = len(data) - len(data) % 8
    for (word,) in struct.iter_unpack("<Q", data[:last]):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    word = int.from_bytes(data[last:], "little") | (len(data) & 0xFF) << 56
    v[3] ^= word
    rounds(2)
    v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def signed(key: bytes, data: bytes) -> bytes:
    """A datagram with its code at bytes 20 to 27."""
    data = data[:20] + bytes(8) + data[28:]
    return data[:20] + struct.pack("<Q", siphash(key, data)) + data[28:]


def control(key: bytes, kind: int, *numbers: int) -> bytes:
    """A control datagram: 1 a probe, 2 its echo, 3 the start, 4 ready, 5 alive, 6 the end, 7 totals."""
    data = bytes([0x53, 0x81, kind]).ljust(36, b"\0") + b"".join(
        struct.pack("<Q", one & MASK) for one in numbers
    )
    return signed(key, data)


NUMBERS = (0, 1, 2**31, 2**32, 2**53, 2**63, 2**64 - 1, 18_446_744_073_709_552)


def any_number(draws: random.Random) -> int:
    """An extreme, a time near the present, or any other number."""
    near = time.monotonic_ns() + draws.randrange(-(10**9), 10**9)
    return draws.choice([*NUMBERS, near, near, draws.getrandbits(64)])


def datagram(draws: random.Random, key: bytes) -> bytes:
    """A datagram, mostly with a right code: control with any numbers, a header with any bytes, or noise."""
    kind = draws.random()
    if kind < 0.4:
        return control(key, draws.randrange(9), *(any_number(draws) for _ in range(draws.randrange(10))))
    data = draws.randbytes(draws.choice([0, 10, 36, 40, 56, 80, 98, 1472, 1500]))
    if kind < 0.9 and len(data) >= 36:
        return signed(key, bytes([0x53, draws.choice([2, 0x81]), draws.randrange(30)]) + data[3:])
    return data


def value(draws: random.Random, depth: int = 0) -> object:
    """Any value of JSON."""
    simple = [
        *(
            None,
            True,
            0,
            -1,
            0.5,
            1e308,
            float("nan"),
            float("inf"),
            10**30,
            10**400,
            "",
            "dctcp",
            "\x1b]0;owned\x07",
        ),
        *("evil.py:Evil", "\ud800" * 32, "0" * 32, "../../x", [], {}, "x" * 500),
    ]
    if depth < 2 and draws.random() < 0.2:
        return {
            draws.choice(["name", "kind", "g", "parameters", "x"]): value(draws, depth + 1) for _ in range(2)
        }
    return draws.choice(simple)


def terms(draws: random.Random, names: list[str], evil: str) -> object:
    """Terms of an opening: right ones, with one or more values replaced."""
    control = {"name": draws.choice([*names, evil]), "parameters": {}, "receiver": None}
    table = {"control": control, "size": 10**6, "rate_bps": 10**7, "seconds": 0.2}
    for _ in range(draws.randrange(3)):
        place = draws.choice([table, control])
        place[draws.choice([*place, "other"])] = value(draws)
    return value(draws) if draws.random() < 0.05 else table


class Stranger:
    """A socket at an address of this machine, with the token or without."""

    def __init__(self, to: tuple[str, int], host: str, token: str) -> None:
        self.to, self.secret = to, wire_session.token_key(token)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((host, 0))
        self.socket.settimeout(0.05)
        self.cookie = ""

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()

    def say(self, data: bytes) -> dict[str, object] | None:
        """The answer to a datagram, if one comes soon."""
        self.socket.sendto(data, self.to)
        try:
            return wire_session._read(self.socket.recv(4096))
        except OSError:
            return None

    def greet(self) -> bool:
        """Whether the receiver has given a cookie."""
        greeting = wire_session._message(kind="greeting", nonce="0" * 32).ljust(wire_session.GREETING_BYTES)
        answer = self.say(greeting)
        self.cookie = str((answer or {}).get("cookie", ""))
        return bool(self.cookie)

    def open(self, table: object) -> bytes | None:
        """Open a session with these terms; the key, if the receiver accepts them."""
        code = wire_session._code(self.secret, table, "0" * 32, self.cookie)
        named = {"nonce": "0" * 32, "cookie": self.cookie, "terms": table, "code": code}
        answer = self.say(wire_session._message(kind="opening", **named))
        if (answer or {}).get("kind") != "accepted":
            return None
        return wire_session._session_key(self.secret, "0" * 32, self.cookie)
