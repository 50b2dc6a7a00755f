"""Sessions between two ends: no answer to strangers beyond a cookie, and flows over loopback."""

import json
import math
import os
import random
import re
import signal
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import commands
from shallows.algorithms import trust
from shallows.algorithms.algorithm import choose
from shallows.errors import ScenarioError
from shallows.worlds import wire, wire_flow, wire_session
from shallows.worlds.wire_session import GREETING_BYTES, MAGIC, Door, Opening, Refusal, Terms

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the wire world needs Linux")

PEER = ("127.0.0.1", 40_000)


PATH = {"size": 300_000, "rate_bps": 10**8, "seconds": 20.0}


def algorithm(name):
    return choose({"name": name}, wire_flow.FRAME)


def terms(name="dctcp"):
    return Terms(wire_flow.control(algorithm(name)), **PATH)


def greeting(nonce="0" * 32):
    return wire_session._message(kind="greeting", nonce=nonce).ljust(GREETING_BYTES)


def cookie_of(door, peer=PEER):
    return wire_session._read(door.answer(greeting(), peer))["cookie"]


def opening(cookie, token="", **changes):
    table = {**vars(terms()), **changes}
    code = wire_session._code(wire_session.token_key(token), table, "0" * 32, cookie)
    return wire_session._message(kind="opening", nonce="0" * 32, cookie=cookie, terms=table, code=code)


def test_a_cookie_is_no_longer_than_the_greeting_and_opens_a_session():
    door = Door("word")
    answer = door.answer(greeting(), PEER)
    assert isinstance(answer, bytes)
    assert len(answer) < GREETING_BYTES
    opened = door.answer(opening(cookie_of(door), "word"), PEER)
    assert isinstance(opened, Opening)
    assert opened.terms == terms()
    assert len(opened.key) == 16


def test_an_opening_needs_the_token_the_cookie_and_the_address():
    now = [1000.0]
    door = Door("word", lambda: now[0])
    cookie = cookie_of(door)
    assert door.answer(opening(cookie, "another"), PEER) is None
    assert door.answer(opening(cookie, "word"), ("127.0.0.1", 40_001)) is None
    assert door.answer(opening("0" * 32, "word"), PEER) is None
    now[0] += 10
    assert isinstance(door.answer(opening(cookie, "word"), PEER), Opening)
    now[0] += 10
    assert door.answer(opening(cookie, "word"), PEER) is None


CONTROL = {"name": "dctcp", "parameters": {}, "receiver": None}
IMPOSSIBLE = [
    ({"size": -1}, "size"),
    ({"size": 1.5}, "size"),
    ({"size": 2**50}, "size"),
    ({"rate_bps": 0}, "rate_bps"),
    ({"rate_bps": 10**400}, "rate_bps"),
    ({"rate_bps": True}, "rate_bps"),
    ({"seconds": 1e9}, "seconds"),
    ({"seconds": 1e-300}, "seconds"),
    ({"seconds": math.nan}, "seconds"),
    ({"seconds": "long"}, "seconds"),
    ({"control": None}, "control"),
    ({"control": {**CONTROL, "user_algorithm": 0}}, "control"),
    ({"control": {**CONTROL, "name": 7}}, "name"),
    ({"control": {**CONTROL, "name": "\x1b]0;owned\x07"}}, "name"),
    ({"control": {**CONTROL, "name": "evil.py:Evil"}}, "name"),
    ({"control": {**CONTROL, "name": "../evil"}}, "name"),
    ({"control": {**CONTROL, "parameters": [1]}}, "parameters"),
    ({"control": {**CONTROL, "parameters": {"g": "1"}}}, "g"),
    ({"control": {**CONTROL, "parameters": {"g": math.inf}}}, "g"),
    ({"control": {**CONTROL, "parameters": {"g": 10**300}}}, "g"),
    ({"control": {**CONTROL, "parameters": {"g\n": 1}}}, "parameter"),
    ({"control": {**CONTROL, "receiver": "inigo"}}, "receiver"),
    ({"control": {**CONTROL, "receiver": {"kind": None, "parameters": {}}}}, "kind"),
]
UNACCEPTED = [
    ({"control": {**CONTROL, "name": "no-such"}}, "no-such"),
    ({"control": {**CONTROL, "name": "bbr"}}, "bbr"),
    ({"control": {**CONTROL, "name": "hpcc"}}, "records of switches"),
    ({"control": {**CONTROL, "name": "mrc"}}, "one path"),
    ({"control": {**CONTROL, "name": "gap", "parameters": {"channel": 1}}}, "without probes"),
    ({"control": {**CONTROL, "parameters": {"unknown": 1}}}, "unknown"),
    ({"control": {**CONTROL, "parameters": {"g": 1e15}}}, "g"),
    ({"control": {**CONTROL, "parameters": {"min_window": -5}}}, "min_window"),
    ({"control": {**CONTROL, "receiver": {"kind": "no-such", "parameters": {}}}}, "no-such"),
]
"""Terms with the right form that the core does not accept."""


@pytest.mark.parametrize(("change", "word"), IMPOSSIBLE)
def test_impossible_terms_are_refused_with_a_reason(change, word):
    door = Door()
    answer = door.answer(opening(cookie_of(door), **change), PEER)
    assert isinstance(answer, Refusal)
    assert word in answer.why
    assert answer.why.isprintable()
    assert wire_session._read(answer.answer) == {"kind": "refused", "why": answer.why}


@pytest.mark.parametrize(("change", "word"), UNACCEPTED)
def test_terms_that_the_core_does_not_accept_are_refused(change, word):
    refusal = wire_flow._accepted(Terms.of({**vars(terms()), **change}))
    assert isinstance(refusal, Refusal)
    assert word in refusal.why


@pytest.mark.parametrize("nonce", ["\ud800" * 32, "0" * 31, "A" * 32, "0" * 31 + "\n", 7, None])
def test_a_nonce_consists_of_hexadecimal_digits(nonce):
    door = Door()
    cookie = cookie_of(door)
    assert door.answer(greeting(nonce), PEER) is None
    opened = wire_session._message(kind="opening", nonce=nonce, cookie=cookie, terms={}, code="")
    assert door.answer(opened, PEER) is None
    assert door.answer(greeting().replace(b"0" * 32, b"1" * 32), PEER) is not None


class Stranger:
    """A socket of somebody who can write every message, and knows the token or not."""

    def __init__(self, receiver, host="127.0.0.1", token=""):
        self.to, self.token = receiver, token
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((host, 0))
        self.socket.settimeout(0.3)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def ask(self, data):
        """The answer to a datagram; None if there is none."""
        self.socket.sendto(data, self.to)
        try:
            return wire_session._read(self.socket.recv(4096))
        except (TimeoutError, ConnectionRefusedError):
            return None

    def open(self, **changes):
        """The answer to an opening with these terms."""
        cookie = None
        while cookie is None:
            answer = self.ask(greeting())
            cookie = answer.get("cookie") if answer else None
        return self.ask(opening(cookie, self.token, **changes))


def test_a_receiver_outlives_strangers_and_receives_the_next_flow():
    """Each ended it: an odd opening, a source to which nothing can be sent, a sender that falls silent."""
    said = []
    with (
        ThreadPoolExecutor(1) as pool,
        wire_flow.Receiver(("127.0.0.1", 0), tell=said.append) as receiver,
    ):
        seen = pool.submit(receiver.next)
        where = receiver._socket.getsockname()
        with Stranger(where) as stranger:
            for change, _ in [*IMPOSSIBLE[::4], *UNACCEPTED]:
                assert (stranger.open(**change) or {}).get("kind") in ("refused", None)
            for peer in (("127.0.0.1", 0), ("255.255.255.255", 7)):
                receiver._answer(b"an answer", peer)
            assert stranger.open()["kind"] == "accepted"  # and then nothing
        try:
            sent = wire_flow.send(where, algorithm("dctcp"), **PATH)
        except (ConnectionError, ScenarioError) as busy:
            pytest.skip(f"load {os.getloadavg()[0]:.1f}: {busy}")
        if sent["lost_peer"]:
            pytest.skip(f"load {os.getloadavg()[0]:.1f}: an end was silent")
        assert seen.result()["delivered_bytes"] == sent["delivered_bytes"] == 300_000
    text = "\n".join(said)
    print(text)
    assert re.search(r"127\.0\.0\.1:\d+ is refused: .*expected", text)
    assert re.search("is dropped: the other end: .*silent before the start", text)
    assert all(line.isprintable() for line in said)


def test_an_address_that_cannot_be_answered_is_a_line():
    said = []
    with wire_flow.Receiver(("127.0.0.1", 0), tell=said.append) as receiver:
        receiver._answer(b"an answer", ("127.0.0.1", 0))
        receiver._answer(b"an answer", ("255.255.255.255", 7))
    assert said == [
        "127.0.0.1:0 gets no answer: Invalid argument",
        "255.255.255.255:7 gets no answer: Permission denied",
    ]


def test_many_strangers_are_few_lines():
    said, now = [], [0.0]
    log = wire_flow.Log(said.append, lambda: now[0])
    for _ in range(1000):
        log(PEER, "is refused: \x1b[31m")
    assert len(said) == wire_flow.LINES_PER_S
    now[0] = 1.0
    log(PEER, "sends under dctcp")
    assert said[0] == "127.0.0.1:40000 is refused: \\x1b[31m"
    assert said[-1] == "127.0.0.1:40000 sends under dctcp (995 lines were left out before)"


def test_the_reason_of_a_receiver_is_escaped():
    """A hostile receiver: its text is printed by the sender."""

    def answers(sock):
        for _ in range(4):
            data, peer = sock.recvfrom(4096)
            kind = wire_session._read(data)["kind"]
            parts = {"kind": "cookie", "cookie": "0" * 32} if kind == "greeting" else None
            if parts:
                sock.sendto(wire_session._message(kind="cookie", cookie="\ud800" * 32), peer)  # is ignored
            sock.sendto(
                wire_session._message(**(parts or {"kind": "refused", "why": "\x1b[2J\n" * 99})), peer
            )

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as hostile, ThreadPoolExecutor(1) as pool:
        hostile.bind(("127.0.0.1", 0))
        done = pool.submit(answers, hostile)
        with pytest.raises(ScenarioError, match="terms that the receiver accepts") as refused:
            wire_flow.send(hostile.getsockname(), algorithm("dctcp"), **PATH)
        done.result()
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 1200


def mutated(draws, data):
    changed = bytearray(data)
    for _ in range(draws.randint(1, 4)):
        changed[draws.randrange(len(changed))] = draws.randrange(256)
    return bytes(changed[: draws.randint(1, len(changed))]) if draws.random() < 0.2 else bytes(changed)


def test_random_and_mutated_datagrams_open_nothing_and_get_no_longer_answer():
    door, draws = Door("word"), random.Random(1)
    cookie, before = cookie_of(door), dict(vars(door))
    samples = [greeting(), greeting().rstrip(), opening(cookie, "word"), opening(cookie, "another")]
    for number in range(50_000):
        kind = number % 4
        data = MAGIC * (kind % 2) + draws.randbytes(draws.randrange(300)) if kind < 2 else b""
        data = data or mutated(draws, samples[number // 4 % len(samples)])
        answer = door.answer(data, PEER)
        # Some changes are none to JSON: a space, or 1e0 for 1.0. The code is over values, not over text.
        assert not isinstance(answer, Opening) or answer.terms == terms()
        if isinstance(answer, bytes):
            assert len(answer) <= len(data)
    assert vars(door) == before


def test_other_systems_are_refused_before_anything_is_opened(monkeypatch):
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    with pytest.raises(ScenarioError, match=r"world = .?wire.?: expected Linux"):
        wire.check(None)
    with pytest.raises(ScenarioError, match=r"--listen = .?127\.0\.0\.1:7.?: expected Linux"):
        wire_flow.Receiver(("127.0.0.1", 7)).__enter__()
    with pytest.raises(ScenarioError, match=r"HOST = .?127\.0\.0\.1:7.?: expected Linux"):
        wire_flow.send(("127.0.0.1", 7), algorithm("dctcp"), **PATH)


def test_other_machines_need_a_token():
    with pytest.raises(ScenarioError, match="a word that both ends know"):
        wire_flow.check_token("192.0.2.1", "")
    wire_flow.check_token("192.0.2.1", "word")
    wire_flow.check_token("127.0.0.1", "")


@pytest.mark.parametrize("cc", ["rcp", "hpcc", "hpcc-roce"])
def test_algorithms_that_read_what_switches_write_are_refused(cc):
    with pytest.raises(ScenarioError, match="without rates or records of switches"):
        wire_flow.check_algorithm("--cc", cc, cc, {})


def over_loopback(name, size=300_000, token=""):
    """What the sender and the receiver of a flow have seen. Skips if the machine stands still for 2.5 s."""
    with ThreadPoolExecutor(1) as pool, wire_flow.Receiver(("127.0.0.1", 0), token) as receiver:
        seen = pool.submit(receiver.next)
        try:
            path = PATH | {"size": size, "token": token}
            sent = wire_flow.send(receiver._socket.getsockname(), algorithm(name), **path)
            ends = sent, seen.result()
        except ConnectionError as silent:
            pytest.skip(f"load {os.getloadavg()[0]:.1f}: {silent}")
    if any(end["lost_peer"] for end in ends):
        pytest.skip(f"load {os.getloadavg()[0]:.1f}: an end was silent")
    return ends


@pytest.mark.parametrize("name", ["dctcp", "cubic", "dx", "dcqcn", "timely", "expresspass", "ndp"])
def test_a_flow_crosses_loopback(name):
    sent, seen = over_loopback(name, token="word")
    assert sent["delivered_bytes"] == seen["delivered_bytes"] == 300_000
    # 300 KB are 206 packets of at most 1460 B.
    assert seen["packets"] >= 206
    # At 100 Mbps 300 KB take 24 ms; a busy machine takes longer.
    assert 0.024 <= (seen["finish_us"] - (sent["start_us"] or 0)) / 1e6 < 20
    assert seen["delay_us"] == sorted(seen["delay_us"])
    assert seen["datagrams_rejected"] == 0
    print(name, sent["base_rtt_us"], seen["delay_us"], sent["retransmits"])


def test_parameters_follow_the_rate_and_the_round_trip():
    """DCQCN's 40 Mbps and 55 us are for 40 Gbps; on slow links they follow the rate from 10 Gbps down."""
    used = wire_flow.for_path(algorithm("dcqcn"), 10**8, 1e-3)
    assert used.parameters["r_ai"] == pytest.approx(40e6 / 100)
    assert used.parameters["t"] == pytest.approx(55e-6 * 100)
    # TIMELY's 50 us are for a round trip of 20 us.
    used = wire_flow.for_path(algorithm("timely"), 10**10, 1e-3)
    assert used.parameters["t_low"] == pytest.approx(50e-6 + 980e-6)
    chosen = choose({"name": "dcqcn", "r_ai": "1Mbps"}, wire_flow.FRAME)
    assert wire_flow.for_path(chosen, 10**8, 1e-3).parameters["r_ai"] == 1e6


def test_nobody_listens():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        where = free.getsockname()
    with pytest.raises(ScenarioError, match="a machine that runs `shallows wire receive`"):
        wire_flow.send(where, algorithm("dctcp"), **PATH)


def started(tmp_path, *words):
    """A receiver that listens."""
    process = commands.Process("wire", "receive", "--listen", "127.0.0.1:47911", *words, cwd=tmp_path)
    says(process, "listening on")
    return process


def says(process, words):
    """Wait until a command has said this."""
    lines = []
    for line in process.error_lines():
        lines.append(line)
        if words in line:
            return
    raise AssertionError(f"it ended without {words!r}: {lines}")


def test_a_killed_end_ends_the_other_with_what_was_measured(tmp_path):
    receiver = started(tmp_path, "--once")
    sender = commands.Process(
        *("wire", "send", "127.0.0.1:47911", "--cc", "dctcp", "--seconds", "60", "--rate-limit", "20Mbps"),
        *("--out", "seen.json"),
        cwd=tmp_path,
    )
    says(receiver, "sends under")
    time.sleep(1.0)
    receiver.send_signal(signal.SIGKILL)
    killed = time.monotonic()
    stdout, stderr = sender.communicate(15)
    print(f"{time.monotonic() - killed:.1f} s")
    assert sender.wait() == 1, stderr
    assert "FELL SILENT" in stdout
    seen = json.loads((tmp_path / "seen.json").read_text())["data"]
    assert seen["lost_peer"]
    assert seen["datagrams_sent"] > 100


@pytest.mark.nightly
def test_random_kills_of_an_end_end_the_other(tmp_path):
    """A hundred, from a seed that is printed. What the other end has measured is saved."""
    seed = random.SystemRandom().randrange(2**32)
    draws, longest_s, early = random.Random(seed), 0.0, 0
    print(f"seed {seed}")
    for number in range(100):
        path, receives = tmp_path / f"{number}.json", draws.random() < 0.5
        words = ("--seconds", "60", "--rate-limit", draws.choice(["2Mbps", "20Mbps", "100Mbps"]))
        algorithm = draws.choice(["dctcp", "dx", "dcqcn", "expresspass", "cubic"])
        out = ("--out", str(path))
        receiver = started(tmp_path, "--once", *(out if receives else ()))
        sending = ("wire", "send", "127.0.0.1:47911", "--cc", algorithm, *words, *(() if receives else out))
        sender = commands.Process(*sending, cwd=tmp_path)
        says(receiver, "sends under")
        time.sleep(0.2 + 2 * draws.random())
        killed, other = (sender, receiver) if receives else (receiver, sender)
        killed.send_signal(signal.SIGKILL)
        since = time.monotonic()
        _, stderr = other.communicate(15)
        longest_s = max(longest_s, time.monotonic() - since)
        if re.search(r"no answer", stderr):
            assert not path.exists(), number  # nothing was measured yet
            early += 1
            continue
        assert other.wait() == 1, (number, stderr)
        seen = json.loads(path.read_text())["data"]
        assert seen["lost_peer"], number
    print(f"the other end took {longest_s:.1f} s at most; {early} kills before the first packet")
    assert early < 20
    assert longest_s <= 3 or os.getloadavg()[0] > 4


@pytest.mark.parametrize("kind", ["a file", "a file that the user ran", "a class of the session", "a list"])
def test_a_peer_names_no_code(tmp_path, monkeypatch, kind):
    """Whatever a peer calls its algorithm, only the catalog is searched."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    file = tmp_path / "evil.py"
    file.write_text(f"open('{tmp_path}/ran', 'a').write('.')\nclass Evil: pass\n")
    if kind == "a file that the user ran":
        trust.record(file)
    name = {"a class of the session": "python:Evil", "a list": ["dctcp"]}.get(kind, f"{file}:Evil")
    control = {"name": name, "parameters": {}, "receiver": None}
    with pytest.raises(ScenarioError, match="one of "):
        wire_flow.request(Terms(control, **PATH))
    assert not (tmp_path / "ran").exists()
