"""Records that every hop writes into packets, and HPCC, which goes by them (Li et al., SIGCOMM 2019).

Theory: once settled, W stays where W = W_c eta/U + W_AI: then U = eta + N W_AI/(B T) of the fullest link is
in flight.
"""

import numpy as np
import pytest

import shallows as sh

LINK = {
    "duration": "30ms",
    "warmup": "10ms",
    "cc": {"name": "hpcc"},
    "topology": {"kind": "dumbbell", "rate": "10Gbps", "rtt": "100us"},
    "network": {"mtu": "1500B", "header": "40B", "buffer": "250pkt"},
    "traffic": [{"kind": "long-lived"}],
}
BDP = 125_000


def run(changes):
    return sh.run(sh.Scenario(**LINK).replace(changes))


def settled(flows, eta, w_ai):
    """(what is in flight by B T, as the flows see it; the port) over the later two thirds."""
    of = {"topology.hosts": flows, "traffic.0.flows": flows, "cc.eta": eta, "cc.w_ai": f"{w_ai}B"}
    result = run(of | {"record": {"probes": "100us", "flows": "all"}})
    late = (result.probes["name"] == "in_flight") & (result.probes["time_us"] > 10_000)
    return result.probes["value"][late].mean(), result.summary["bottleneck"]


@pytest.mark.parametrize(
    ("flows", "eta", "w_ai"),
    [(1, 0.95, 80), (10, 0.95, 80), (40, 0.95, 80), (10, 0.8, 80), (10, 0.9, 500)],
)
def test_in_flight_is_eta_and_the_sum_of_steps_and_almost_nothing_waits(flows, eta, w_ai):
    """U counts packets that meet in the queue too, so that the link is used between eta and U."""
    seen, port = settled(flows, eta, w_ai)
    expected = eta + flows * w_ai / BDP
    assert seen == pytest.approx(expected, abs=0.02)
    assert eta - 0.01 <= port["utilization"] <= expected + 0.01
    # Paced flows of equal rates, each with a packet in the queue at worst.
    assert port["queue_mean_pkt"] <= max(flows, 1)
    assert port["dropped"] == 0


def test_more_steps_than_the_share_left_over_make_a_standing_queue():
    """40 flows of 500 bytes are 0.16 of B T, 0.11 of it too many: 9.2 packets, plus one a flow at worst."""
    seen, port = settled(40, 0.95, 500)
    assert seen == pytest.approx(1.11, abs=0.02)
    assert 9.2 <= port["queue_mean_pkt"] <= 9.2 + 40


def test_of_many_that_start_together_only_the_first_windows_wait():
    """32 flows begin with B T each, at line rate, and all but one of them wait: 31 times 100 us and 3.7 us of
    frames, 129.6 KB, with 1500/1460 for headers 4.13 MB, 2751 packets: at 10 Gbps gone after 3.3 ms."""
    many = {
        "topology.hosts": 32,
        "traffic.0.flows": 32,
        "network.buffer": "4000pkt",
        "duration": "10ms",
        "warmup": "0s",
        "record": {"queues": "50us"},
    }
    queue = run(many)
    at, length = queue.queues["time_us"], queue.queues["queue_pkt"]
    assert queue.summary["bottleneck"]["queue_max_pkt"] == pytest.approx(2751, rel=0.1)
    assert np.mean(length[at > 3800]) <= 32


def test_on_a_long_path_with_room_for_the_first_windows_nothing_is_sent_twice():
    """Two flows begin at 1 Gbps and hear nothing for 100.05 ms, 8338 frames of 12 us: as many wait."""
    long = {
        "topology": {"kind": "dumbbell", "hosts": 2, "rate": "1Gbps", "rtt": "100ms"},
        "traffic.0.flows": 2,
        "network.buffer": "9500pkt",
        "duration": "3s",
        "warmup": "0s",
    }
    result = run(long)
    assert result.summary["bottleneck"]["queue_max_pkt"] == pytest.approx(8338, rel=0.01)
    assert result.flows.retransmits.sum() == result.flows.timeouts.sum() == 0


def test_at_slow_rates_it_is_as_theory_has_it_where_timers_wait_for_frames():
    """A frame takes 1.2 ms, the empty path 3 of these and 3 acks: B T is 4.8 KB, U = 0.95 + 320 / 4800.

    Timers of RFC 6298, a second at least, call nothing lost that waits for a frame.
    """
    slow = {
        "topology": {"kind": "dumbbell", "hosts": 4, "rate": "10Mbps", "rtt": "100us"},
        "traffic.0.flows": 4,
        "hosts": {"rto": "internet"},
        "duration": "4s",
        "warmup": "1s",
    }
    result = run(slow)
    assert 0.94 <= result.summary["bottleneck"]["utilization"] <= 1
    assert result.summary["bottleneck"]["queue_mean_pkt"] <= 4
    assert result.flows.retransmits.sum() == result.flows.timeouts.sum() == 0


def test_it_needs_ports_that_keep_records_and_one_way():
    with pytest.raises(sh.ScenarioError, match=r'kind = "step".*records, which hpcc needs'):
        run({"network.marking": {"kind": "step"}})
    with pytest.raises(sh.ScenarioError, match=r'network.balancing = "packet": .*needs one path'):
        run({"network.balancing": "packet"})
