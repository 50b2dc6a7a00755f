"""Two ends in two network namespaces, and a router that meters credits with tc alone. Needs root."""

import json

import pytest

from router import flows, network, sh, why_not

pytestmark = pytest.mark.kernel


@pytest.fixture(autouse=True)
def _can_run():
    if reason := why_not():
        pytest.skip(reason)


def flow(sender, receiver, *words):
    """What both ends of one flow have seen."""
    with flows(sender, receiver, 1, *words) as ended:
        (sent,), (seen,) = ended()
    return sent, seen


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
