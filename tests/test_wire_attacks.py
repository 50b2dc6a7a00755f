"""Attacks on `wire receive` and `wire send`: a peer that speaks every message, from several addresses.

The receiver lives, its memory stays, it writes no file but the one that its user named, runs no code, and
receives a good flow beside.
"""

import os
import random
import socket
import sys
import time
from pathlib import Path

import pytest

import attack_wire
import commands
from attack_wire import Stranger
from shallows.algorithms.algorithm import catalog, choose
from shallows.errors import ScenarioError
from shallows.worlds import wire_flow, wire_session

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the wire world needs Linux")

EVIL = "import pathlib\npathlib.Path(__file__).with_name('owned').touch()\nclass Evil: pass\n"
MOST_GROWTH_KB = 32_000
"""Buffers of a session, and pages of code that runs the first time."""
PORTS = {"": 47_921, "a long word": 47_922}
SENT = {"size": 100_000, "rate_bps": 10**7, "seconds": 10.0}


def test_the_code_is_that_of_the_paper():
    key = bytes(range(16))
    assert attack_wire.siphash(key, bytes(range(15))) == 0xA129CA6149BE45E5


def rss_kb(pid):
    """Resident memory of a process."""
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if "VmRSS" in line]
    return int(line.split()[1])


def tree(place):
    """Every file below a folder, with its bytes."""
    return {path: path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


def good_flow(where, token):
    """Send a flow to the receiver, which others keep busy; skips if this machine is too busy for a flow."""
    used, silent = choose({"name": "dctcp"}, wire_flow.FRAME), None
    for _ in range(8):
        try:
            seen = wire_flow.send(where, used, token=token, **SENT)
        except (ScenarioError, ConnectionError) as error:
            silent = error
            continue
        if not seen["lost_peer"]:
            return seen
    pytest.skip(f"load {os.getloadavg()[0]:.1f}: {silent}")


def attack(draws, where, token, count):
    """Send so many messages, of which some open sessions; how many did, and were refused or not answered."""
    names = [row["name"] for row in catalog()]
    hosts = ["127.0.0.1", "127.0.0.2", "127.0.1.7"]
    strangers = [Stranger(where, host, word) for host in hosts for word in (token, "another")]
    sent = opened = 0
    while sent < count:
        stranger = draws.choice(strangers)
        if draws.random() < 0.3:
            stranger.socket.sendto(attack_wire.datagram(draws, draws.randbytes(16)), where)
            sent += 1
        if not stranger.cookie or draws.random() < 0.1:
            stranger.greet()
        key = stranger.open(attack_wire.terms(draws, names, "evil.py:Evil"))
        sent += 1
        if key is None:
            stranger.cookie = stranger.cookie if draws.random() < 0.7 else ""
            continue
        opened += 1
        if draws.random() < 0.02:
            continue  # and falls silent
        if draws.random() < 0.8:
            near = time.monotonic_ns()
            stranger.socket.sendto(attack_wire.control(key, 3, draws.choice([10**6, near]), near), where)
        for _ in range(draws.randrange(150)):
            stranger.socket.sendto(attack_wire.datagram(draws, key), where)
            sent += 1
        stranger.socket.sendto(attack_wire.control(key, 3, 10**6, time.monotonic_ns()), where)
        stranger.socket.sendto(attack_wire.control(key, 6), where)
    for stranger in strangers:
        stranger.close()
    return opened


@pytest.mark.parametrize("token", PORTS)
@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_a_receiver_outlives_any_peer(count, token, tmp_path):
    """20,000 in all at night: openings and datagrams, random and structured, with the token and without."""
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    draws, where = random.Random(seed), ("127.0.0.1", PORTS[token])
    (tmp_path / "evil.py").write_text(EVIL)
    (tmp_path / "home").mkdir()
    before = tree(tmp_path)
    words = ["wire", "receive", "--listen", f"127.0.0.1:{where[1]}", "--token", token]
    homes = {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": str(tmp_path / "home")}
    receiver = commands.Process(*words, cwd=tmp_path, environment=homes)
    for line in receiver.error_lines():
        if "listening on" in line:
            break
    try:
        opened = attack(draws, where, token, count // 4)
        good_flow(where, token)
        held_kb = rss_kb(receiver.pid)
        opened += attack(draws, where, token, count - count // 4)
        seen = good_flow(where, token)
        grown_kb = rss_kb(receiver.pid) - held_kb
        assert receiver.poll() is None
    finally:
        receiver.send_signal(15)
        status, (_, stderr) = receiver.wait(60), receiver.communicate()
    print(f"{count} messages, {opened} sessions, {held_kb} KB and {grown_kb} more", stderr[-2000:])
    assert seen["delivered_bytes"] == SENT["size"]
    assert status == 130
    assert "Traceback" not in stderr
    assert all(line.isprintable() for line in stderr.splitlines())
    assert tree(tmp_path) == before
    assert opened > count / 500
    assert grown_kb < MOST_GROWTH_KB


def hostile_receiver(draws, sock, until):
    """Answers as a receiver may, and then with anything."""
    key, sock_token = None, wire_session.token_key("")
    while time.monotonic() < until:
        try:
            data, peer = sock.recvfrom(4096)
        except TimeoutError:
            continue
        message = wire_session._read(data) or {}
        if message.get("kind") == "greeting":
            parts = {"kind": "cookie", "cookie": draws.choice(["0" * 32, "0" * 32, attack_wire.value(draws)])}
            sock.sendto(wire_session._message(**parts), peer)
        elif message.get("kind") == "opening":
            kind = draws.choice(["accepted", "accepted", "accepted", "refused"])
            sock.sendto(wire_session._message(kind=kind, why=attack_wire.value(draws)), peer)
            key = wire_session._session_key(sock_token, message["nonce"], str(message["cookie"]))
        elif key and len(data) >= 36:
            if data[:2] == b"\x53\x81" and data[2] == 1 and draws.random() < 0.8:
                number = int.from_bytes(data[36:44], "little")
                now = time.monotonic_ns()
                times = draws.choice([(now, now), (now, now), (now, 0), (0, 2**64 - 1)])
                sock.sendto(attack_wire.control(key, 2, number, draws.getrandbits(64), *times), peer)
            elif data[:2] == b"\x53\x81" and data[2] == 3:
                sock.sendto(attack_wire.control(key, 4), peer)
            else:
                sock.sendto(attack_wire.datagram(draws, key), peer)


@pytest.mark.parametrize("count", [2, pytest.param(60, marks=pytest.mark.nightly)])
def test_a_sender_outlives_any_receiver(count, tmp_path):
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    draws = random.Random(seed)
    for _ in range(count):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.bind(("127.0.0.1", 0))
            sock.settimeout(0.1)
            host, port = sock.getsockname()
            cc = draws.choice(["dctcp", "dx", "expresspass", "dcqcn", "ndp", "cubic"])
            words = (
                "wire",
                "send",
                f"{host}:{port}",
                "--cc",
                cc,
                "--seconds",
                "0.3",
                "--rate-limit",
                "10Mbps",
            )
            sender = commands.Process(*words, cwd=tmp_path)
            until = time.monotonic() + 60
            while sender.poll() is None and time.monotonic() < until:
                hostile_receiver(draws, sock, time.monotonic() + 0.2)
            status, (stdout, stderr) = sender.wait(1), sender.communicate()
        assert status in (0, 1, 2), stderr
        assert "Traceback" not in stderr
        assert all(line.isprintable() for line in (stdout + stderr).splitlines())
    assert tree(tmp_path) == {}
