"""Proportional rate reduction (RFC 9937): a cut of the window is spread over a round trip."""

import numpy as np
import pytest

import shallows as sh


def run(prr, cc="reno", size="1458000B", buffer="50pkt", marking="none", **changes):
    tables = {
        "duration": "until-done",
        "topology": {"kind": "dumbbell", "hosts": 1, "rate": "20Mbps", "edge_rate": "1Gbps", "rtt": "50ms"},
        "network": {"buffer": buffer, "marking": marking},
        "hosts": {"rto": "internet", "prr": prr},
        "cc": cc,
        "traffic": [{"kind": "incast", "senders": 1, "size": size}],
    }
    return sh.run(sh.Scenario(**{**tables, **changes}), progress=False)


def fall(prr, cc):
    """How fast the queue falls after a cut, in packets a second: the median of steps of 5 ms."""
    tables = {"traffic": [{"kind": "long-lived", "flows": 1}], "record": {"queues": "5ms"}}
    made = run(prr, cc, buffer="100pkt", duration="20s", warmup="10s", **tables)
    queues = made.queues[made.queues.port == made.summary["bottleneck"]["port"]]
    steps = np.diff(queues.queue_pkt) / 5e-3
    return np.median(-steps[steps < -300])


@pytest.mark.parametrize(("cc", "beta"), [("reno", 0.5), ("cubic", 0.7)])
def test_the_queue_falls_in_proportion_to_the_cut(cc, beta):
    """20 Mbps send 1667 packets a second. A sender that is silent after a cut lets the queue fall by as many;
    one that sends `beta` packets for each that is delivered (RFC 9937 §6.2) by 1 - beta of them.
    """
    assert fall(False, cc) == pytest.approx(1667, rel=0.1)
    assert fall(True, cc) == pytest.approx((1 - beta) * 1667, rel=0.1)


def test_many_losses_at_once_need_no_timeout_more():
    """Slow start overshoots a buffer of 50 packets and loses more than half a window. RFC 9937 §6.2: the
    slow-start reduction bound sends at most one packet more than was delivered, so retransmissions are not
    lost again.
    """
    spread, at_once = run(True), run(False)
    assert spread.summary["flows"]["timeouts"] <= at_once.summary["flows"]["timeouts"]
    assert spread.summary["bottleneck"]["dropped"] <= at_once.summary["bottleneck"]["dropped"]
    assert spread.summary["books"]["closed"]


@pytest.mark.parametrize(("prr", "expected"), [(False, 0.892), (True, 0.755)])
def test_a_step_makes_a_sender_cut_twice_if_the_queue_falls_slowly(prr, expected):
    """Reno with ECN, 1 Gbps, a step at 20 packets. The empty path holds 85 packets, the window reaches 106.

    With PRR the first packets after a cut meet more than 20 packets, and their marks count again (RFC 3168
    §6.1.2). From 53 packets the window needs 32 round trips, on average of 69 packets, until the link is
    full, and then sends 2005 packets until the next mark: (32 * 69 + 2005) / (32 * 85 + 2005) = 0.892. From
    26.5, after two cuts, (58.5 * 55.75 + 2005) / (58.5 * 85 + 2005) = 0.755. ns-3 gives 0.877 and 0.741.
    """
    made = run(
        prr,
        {"name": "reno", "ecn": True},
        marking={"kind": "step", "threshold": "20pkt", "at": "enqueue"},
        duration="1500ms",
        warmup="300ms",
        topology={"kind": "dumbbell", "hosts": 1, "rate": "1Gbps", "edge_rate": "4Gbps", "rtt": "1ms"},
        traffic=[{"kind": "long-lived", "flows": 1}],
    )
    assert made.summary["bottleneck"]["utilization"] == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("cc", ["dcqcn", "ndp"])
def test_it_acts_over_tcp_only(cc):
    with pytest.raises(sh.ScenarioError, match=r"hosts\.prr"):
        run(True, cc, network={})
