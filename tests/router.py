"""Network namespaces of a sender, a router and a receiver, and flows between them. Needs root."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path

import pytest

MAIN = "from shallows.cli import main; main()"
PORT = 47_912
TOKEN = ("--token", "a word of this test", "--json")
TRIES = 4
"""The most tries of a test in real time."""
TAKEN = 0.01
"""The share of the processors' time that other machines take if they disturb a try; quiet tries had 0.006."""


def why_not():
    if sys.platform != "linux" or os.geteuid() != 0:
        return "network namespaces need Linux and root"
    return None if shutil.which("ip") and shutil.which("tc") else "no ip or tc on the PATH"


def sh(text):
    done = subprocess.run(text.split(), capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{text}: {done.stderr.strip()}")
    return done.stdout


def two_of_three(test):
    """A test in real time that passes once, or else twice of three times: other work may disturb one run.

    A run that fails while other machines take the processors of this one does not count, but the last does.
    """

    @wraps(test)
    def judged(*arguments, **named):
        passes, failures = 0, 0
        for left in reversed(range(TRIES)):
            taken, whole = processor_time()
            try:
                test(*arguments, **named)
                passes += 1
            except AssertionError as error:
                now_taken, now_whole = processor_time()
                share = (now_taken - taken) / (now_whole - whole)
                print(f"failed with {share:.1%} of the processors taken by other machines: {error}")
                failures += share < TAKEN
                if failures > 1 or not left:
                    raise
            if passes > failures:
                return
        pytest.fail(f"{passes} of {TRIES} tries passed")

    return judged


def processor_time():
    """(what other machines took, all), in ticks of all processors since this machine started."""
    ticks = [int(text) for text in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return ticks[7], sum(ticks)


@contextmanager
def namespace(name):
    sh(f"ip netns add {name}")
    try:
        sh(f"ip -n {name} link set lo up")
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False)


@contextmanager
def network():
    """Namespaces of a sender, a router and a receiver: 10.78.1.2 - 10.78.1.1, 10.78.2.1 - 10.78.2.2."""
    with ExitStack() as stack:
        names = [stack.enter_context(namespace(f"wire-{end}-{os.getpid()}")) for end in "srd"]
        sender, router, receiver = names
        for number, end in ((1, sender), (2, receiver)):
            sh(f"ip -n {router} link add r{number} type veth peer name e{number} netns {end}")
            sh(f"ip -n {router} addr add 10.78.{number}.1/24 dev r{number}")
            sh(f"ip -n {router} link set r{number} up")
            sh(f"ip -n {end} addr add 10.78.{number}.2/24 dev e{number}")
            sh(f"ip -n {end} link set e{number} up")
            sh(f"ip -n {end} route add default via 10.78.{number}.1")
        sh(f"ip netns exec {router} sysctl -qw net.ipv4.ip_forward=1")
        yield names


def command(name, *words):
    # At no real-time priority: the kernel's own threads, which forward its packets, would wait for it.
    inside = ["ip", "netns", "exec", name, sys.executable, "-c", MAIN, "wire", *words]
    return subprocess.Popen(inside, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(process):
    text, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    return json.loads(text)["data"]


@contextmanager
def flows(sender, receiver, count, *words):
    """So many flows at once; yields a function that waits for what senders and receivers have seen."""
    ports = range(PORT, PORT + count)
    receivers = [
        command(receiver, "receive", "--listen", f"10.78.2.2:{port}", "--once", *TOKEN) for port in ports
    ]
    senders = []
    try:
        for process in receivers:
            assert "listening" in process.stderr.readline()
        senders = [command(sender, "send", f"10.78.2.2:{port}", *words, *TOKEN) for port in ports]
        yield lambda: (
            [finished(process) for process in senders],
            [finished(process) for process in receivers],
        )
    finally:
        for process in [*senders, *receivers]:
            process.kill()
            process.wait()
