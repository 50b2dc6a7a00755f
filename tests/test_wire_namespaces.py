"""Two ends in two network namespaces, and a router that meters credits with tc alone. Needs root."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack, contextmanager

import pytest

MAIN = "from shallows.cli import main; main()"
PORT = 47_912
pytestmark = pytest.mark.kernel


def why_not():
    if sys.platform != "linux" or os.geteuid() != 0:
        return "network namespaces need Linux and root"
    return None if shutil.which("ip") and shutil.which("tc") else "no ip or tc on the PATH"


@pytest.fixture(autouse=True)
def _can_run():
    if reason := why_not():
        pytest.skip(reason)


def sh(text):
    done = subprocess.run(text.split(), capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{text}: {done.stderr.strip()}")
    return done.stdout


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
    inside = ["ip", "netns", "exec", name, sys.executable, "-c", MAIN, "wire", *words]
    return subprocess.Popen(inside, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def flow(sender, receiver, *words):
    """What both ends of one flow have seen."""
    token = ("--token", "a word of this test", "--json")
    there = command(receiver, "receive", "--listen", f"10.78.2.2:{PORT}", "--once", *token)
    try:
        assert "listening" in there.stderr.readline()
        here = command(sender, "send", f"10.78.2.2:{PORT}", *words, *token)
        sent, error = here.communicate(timeout=60)
        assert here.returncode == 0, error
        seen, error = there.communicate(timeout=10)
        assert there.returncode == 0, error
    finally:
        there.kill()
        there.wait()
    return json.loads(sent)["data"], json.loads(seen)["data"]


@pytest.mark.parametrize("cc", ["dctcp", "expresspass"])
def test_a_flow_crosses_a_router(cc):
    with network() as (sender, _, receiver):
        sent, seen = flow(sender, receiver, "--cc", cc, "--size", "1MB", "--rate-limit", "50Mbps")
    assert sent["delivered_bytes"] == seen["delivered_bytes"] == 1_000_000
    assert seen["datagrams_rejected"] == 0
    print(cc, sent["base_rtt_us"], seen["delay_us"], sent["retransmits"])


def test_a_router_meters_credits_with_tc_alone():
    """A class of HTB for DSCP 46, with a rate of 1 Mbps, a burst of two credits and a queue of eight."""
    with network() as (sender, router, receiver):
        tc = f"ip netns exec {router} tc"
        # Credits go back, over r1.
        sh(f"{tc} qdisc add dev r1 root handle 1: htb default 2")
        sh(f"{tc} class add dev r1 parent 1: classid 1:1 htb rate 1mbit burst 240 cburst 240")
        sh(f"{tc} class add dev r1 parent 1: classid 1:2 htb rate 1gbit")
        sh(f"{tc} qdisc add dev r1 parent 1:1 pfifo limit 8")
        sh(f"{tc} filter add dev r1 parent 1: protocol ip u32 match ip tos 0xb8 0xfc flowid 1:1")
        sent, seen = flow(sender, receiver, "--cc", "expresspass", "--seconds", "4", "--rate-limit", "50Mbps")
        stats = json.loads(sh(f"{tc} -s -j qdisc show dev r1"))
    (meter,) = [row for row in stats if row["kind"] == "pfifo"]
    print(meter["packets"], meter["drops"], seen["delivered_bytes"], sent["retransmits"])
    assert meter["drops"] > 0
    # A frame for each credit that has passed, at most.
    assert 0 < seen["packets"] <= meter["packets"]
