"""Python classes in the wire world, whose calls come from a thread of real-time priority: no run hangs.

The old order of locks hung most runs: the hosts' thread held the lock of the first exception and waited for
the interpreter, and the main thread, which had the interpreter, waited for that lock ten times a second.
"""

import os
import random
import re
import signal
import sys
import time
from pathlib import Path

import pytest

import commands
import shallows as sh
from shallows import _core
from shallows.algorithms import user_algorithms
from shallows.scenario import Scenario
from shallows.worlds import packet

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the wire world needs Linux")

SLOW = """
duration = "1s"
warmup = "100ms"
topology = { kind = "dumbbell", hosts = 2, rate = "10Mbps", edge_rate = "80Mbps", rtt = "4ms" }
cc = "dctcp"
traffic = [{ kind = "long-lived" }]
"""
CLASSES = '''
import sys
import time


class Plain:
    def __init__(self, initial_window, line_rate):
        self.window = initial_window

    def on_ack(self, now, ack):
        self.window = min(self.window + 1 / self.window, 20)
        if now > 0.1:
            self.late(now)

    def late(self, now):
        pass

    def on_loss(self, now, loss):
        self.window = max(self.window / 2, 1.0)

    def decision(self):
        return self.window


class Logging(Plain):
    def late(self, now):
        print(now, self.window)


class Pausing(Plain):
    """Gives the interpreter to others, for longer than the time between two reports of progress."""

    pauses = 3

    def late(self, now):
        if Pausing.pauses:
            Pausing.pauses -= 1
            time.sleep(0.15)


class Slow(Plain):
    done = False

    def late(self, now):
        if not Slow.done:
            Slow.done = True
            print("computes", file=sys.stderr, flush=True)
            until = time.monotonic() + 3
            while time.monotonic() < until:
                pass


class Endless(Plain):
    def late(self, now):
        print("computes", file=sys.stderr, flush=True)
        while True:
            pass


class Sleeping(Plain):
    def late(self, now):
        print("computes", file=sys.stderr, flush=True)
        time.sleep(1000)


class Raising(Plain):
    def late(self, now):
        raise ValueError("on purpose")
'''


@pytest.fixture
def place(tmp_path):
    (tmp_path / "slow.toml").write_text(SLOW)
    (tmp_path / "mine.py").write_text(CLASSES)
    return tmp_path


def started(place, name, *words):
    """A run of one repeat under this class."""
    words = ("--world", "wire", "--repeats", "1", "--cc", f"./mine.py:{name}", "--out", "out", *words)
    return commands.Process("run", "slow.toml", *words, cwd=place)


def test_a_class_whose_calls_wait_ends_with_its_run(place):
    process = started(place, "Pausing")
    # It hung for ever.
    status = process.wait(120)
    stderr = process.communicate()[1]
    assert status == 0 or "too late in" in stderr or "this machine carries" in stderr


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("name", ["Endless", "Sleeping"])
def test_a_signal_ends_a_call_that_does_not_return(name, how, place):
    process = started(place, name)
    for line in process.error_lines():
        if "computes" in line:
            break
        if "this machine carries" in line:
            pytest.skip(line)
    process.send_signal(getattr(signal, how))
    sent = time.monotonic()
    assert process.wait(120) == 130  # it hung for ever
    print(f"load {os.getloadavg()[0]:.1f}: ended after {time.monotonic() - sent:.1f} s")
    stderr = process.communicate()[1]
    said = ["its call does not end"]
    if name != "Sleeping":  # on a busy machine its packets may have been too late for a result
        said += ["interrupted; what was done is saved in", "interrupted a run that was too late to be kept"]
    assert any(text in stderr for text in said)


def priorities():
    """The policies of the threads of this process."""
    return {os.sched_getscheduler(int(thread)) for thread in os.listdir("/proc/self/task")}


def test_after_an_exception_no_thread_has_real_time_priority(monkeypatch):
    monkeypatch.setattr(user_algorithms, "_CLASSES", {})
    names = {}
    exec(CLASSES, names)
    sh.register("raising", names["Raising"])
    one = Scenario.from_tables({**_tables(), "cc": "raising"}, {})
    with pytest.raises(ValueError, match="on purpose"):
        _core.emulate(packet.request(one))
    assert priorities() == {os.SCHED_OTHER}


def _tables():
    import tomllib

    return tomllib.loads(SLOW)


def test_ctrl_c_in_a_call_of_the_packet_world_keeps_what_was_done(monkeypatch):
    """Python handles a signal in the code that its main thread runs, which must not be that of the class."""

    class Ends:
        signals = 1

        def __init__(self, initial_window, line_rate):
            pass

        def on_ack(self, now, ack):
            if now > 0.5 and Ends.signals:
                Ends.signals = 0
                os.kill(os.getpid(), signal.SIGINT)

        def on_loss(self, now, loss):
            pass

        def decision(self):
            return 2.0

    monkeypatch.setattr(user_algorithms, "_CLASSES", {})
    sh.register("ends", Ends)
    run = sh.run(Scenario.from_tables({**_tables(), "cc": "ends", "duration": "1000s"}, {}))
    assert run.interrupted
    assert 0.5 <= run.summary["interrupted_at_s"] < 1000
    assert run.summary["flows"]["goodput_gbps"] > 0


KINDS = ("Plain", "Logging", "Pausing", "Slow", "Raising", "Endless", "Sleeping")


@pytest.mark.nightly
def test_a_hundred_runs_of_classes_end(place):
    """By completion, SIGINT or SIGTERM at a random time, from a seed that is printed."""
    seed = random.SystemRandom().randrange(2**32)
    draws, longest_s = random.Random(seed), 0.0
    print(f"seed {seed}")
    for number in range(100):
        name = draws.choice(KINDS)
        ends_alone = name not in ("Endless", "Sleeping")
        how = draws.choice(["SIGINT", "SIGTERM", *["end"] * ends_alone])
        process = started(place, name)
        if how == "end":
            status = process.wait(120)
            assert status in (0, 1), (number, name, process.communicate())
            continue
        time.sleep(draws.uniform(0.2, 4.0))
        late = process.poll() is not None
        process.send_signal(getattr(signal, how))
        sent = time.monotonic()
        status = process.wait(60)
        longest_s = max(longest_s, time.monotonic() - sent)
        stdout, stderr = process.communicate()
        # Under load a command that has printed its results needs a while to end.
        late = late or ("repeated    once" in stdout and "interrupted" not in stderr)
        assert status in (130, -getattr(signal, how)) or late, (number, name, how, stdout, stderr)
    print(f"load {os.getloadavg()[0]:.1f}: a signal took {longest_s:.2f} s at most")
    assert not _with_priority()


def _with_priority():
    """The commands below a shallows run whose threads have real-time priority."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdecimal() and re.search(rb"mine\.py", (folder / "cmdline").read_bytes()):
                threads = [int(thread.name) for thread in (folder / "task").iterdir()]
                found += [one for one in threads if os.sched_getscheduler(one) == os.SCHED_RR]
        except OSError:
            continue
    return found
