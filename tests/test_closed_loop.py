"""Closed loops on the scenarios that come with Shallows: what the papers and the theory say must come out.

Bands are those of the papers' figures, with the tolerance that a single run of another simulator deserves.
"""

from pathlib import Path

import numpy as np
import pytest

import shallows as sh

SCENARIOS = Path(__file__).parents[1] / "scenarios"
FRAME_US = 1.2  # 1500 bytes at 10 Gbps


def run(name, **changes):
    scenario = sh.Scenario.load(SCENARIOS / f"{name}.toml")
    result = sh.run(scenario.replace(changes) if changes else scenario)
    assert result.summary["books"]["closed"]
    return result


def probe(result, name, after_us):
    table = result.probes
    return table[(table.name == name) & (table.time_us >= after_us)]


@pytest.fixture(scope="module")
def forty():
    return run("dctcp-40")


def test_forty_dctcp_flows_share_a_full_link_around_the_threshold(forty):
    """DX, Fig. 1: K = 35, most frequent window 5."""
    port, flows = forty.summary["bottleneck"], forty.summary["flows"]
    assert port["utilization"] >= 0.98
    assert 24 <= port["queue_mean_pkt"] <= 40
    assert port["queue_max_pkt"] <= 90
    assert port["dropped"] == 0
    assert flows["jain"] >= 0.98
    windows = probe(forty, "window_pkt", 100e3).value
    assert np.floor(windows).mode()[0] == 5


def test_littles_law_on_the_recorded_queue(forty):
    """Mean of the samples = arrival rate times mean stay, both in bytes; data frames make up both."""
    queue = forty.queues[forty.queues.time_us >= 100e3].queue_bytes.mean()
    port = forty.ports[forty.ports.port == "s0->s1"].iloc[0]
    span_us = 900e3
    # The packet being sent counts by what is left of it: half of it on average, hence half a frame time less.
    stay_us = forty.summary["bottleneck"]["delay_mean_us"] - FRAME_US / 2
    assert queue == pytest.approx(port.sent * 1500 / span_us * stay_us, rel=0.01)


def test_the_same_seed_gives_the_same_run_and_another_one_does_not(forty):
    assert run("dctcp-40").summary["fingerprint"] == forty.summary["fingerprint"]
    assert run("dctcp-40", seed=2).summary["fingerprint"] != forty.summary["fingerprint"]


@pytest.mark.parametrize(("flows", "low", "high"), [(2, 52, 67), (10, 41, 75)])
def test_the_sawtooth_stays_within_its_closed_form(flows, low, high):
    """SIGCOMM 2010 §3.3: Q_max = K + N, amplitude sqrt(2 N (C RTT + K)) / 2, each end within 8 packets."""
    result = run("dctcp-sawtooth", **{"traffic.0.flows": flows})
    queue = result.queues[result.queues.time_us >= 200e3].queue_pkt
    assert abs(queue.min() - low) <= 8
    assert abs(queue.max() - high) <= 8


@pytest.mark.parametrize("flows", range(2, 11))
def test_dx_fills_the_link_with_a_packet_a_flow(flows):
    """DX, Fig. 8: utilisation, queue and the mean window (C R + n) / n; C R is 166.7 packets."""
    result = run("dx-10", **{"traffic.0.flows": flows})
    port = result.summary["bottleneck"]
    assert port["port"] == "s0->s1"
    assert port["utilization"] >= 0.995
    assert port["queue_mean_pkt"] <= flows
    windows = probe(result, "window_pkt", 100e3).value
    assert abs(windows.mean() - (166.7 + flows) / flows) <= 3


def pingpong_wait_us(flows, rtt_us):
    changes = {"traffic.0.flows": flows, "traffic.0.stagger": "1us", "duration": "20ms", "warmup": "10ms"}
    changes |= {"topology.rtt": f"{rtt_us}us", "topology.hosts": 100, "record.queues": "off"}
    return run("pingpong", **changes).summary["bottleneck"]["delay_mean_us"] - FRAME_US


def fitting(rtt_us):
    """Packets in a round trip: propagation, three packets and three acknowledgements of 64 B at 10 Gbps."""
    return (rtt_us + 3 * FRAME_US + 3 * 0.0512) / FRAME_US


def test_nineteen_ping_pong_flows_do_not_wait_and_twenty_do():
    """Poster, Fig. 1: 19.8 packets fit the round trip."""
    assert 19 < fitting(20) < 20
    assert pingpong_wait_us(19, 20) == pytest.approx(0, abs=1e-6)
    assert pingpong_wait_us(20, 20) == pytest.approx((20 - fitting(20)) * FRAME_US, rel=0.01)


@pytest.mark.parametrize("rtt_us", [10, 20, 50, 100, 200])
def test_ping_pong_flows_wait_for_the_packets_that_do_not_fit(rtt_us):
    """(n - BDP) packet times within 1 %, up to 100 flows; nothing below the BDP."""
    for flows in (2, 15, 21, 30, 60, 100):
        expected = max(0.0, flows - fitting(rtt_us)) * FRAME_US
        assert pingpong_wait_us(flows, rtt_us) == pytest.approx(expected, rel=0.01, abs=1e-6)


def test_reno_repairs_what_a_tree_drops_and_every_flow_finishes():
    """Drops, timeouts and repairs that arrive while their flow still waits for its NIC."""
    result = run("websearch-tree", **{"cc.name": "reno", "traffic.0.flows": 1500})
    assert result.summary["network"]["dropped"] > 0
    assert result.summary["flows"]["timeouts"] > 0
    assert result.summary["flows"]["finished"] == 1500


@pytest.mark.parametrize("rtt_us", [60, 70, 100])
@pytest.mark.parametrize("flows", [16, 32, 64, 96])
def test_dctcps_largest_queue_grows_with_the_flows_until_all_are_marked(flows, rtt_us):
    """SIGCOMM 2010 §3.3: K + N while marks hold the queue, 2 N less the pipe once every window is two.

    The pipe is the round trip of the cables, two more frames and three acks, in frames. Within a packet and a
    half: the one being sent, and where in its time a mark falls. At 60 and 70 us 16 and 32 flows are above 64
    (ExpressPass, SIGCOMM 2017, Fig. 15e), at 100 us below.
    """
    changes = {"topology.hosts": flows, "traffic.0.flows": flows, "topology.rtt": f"{rtt_us}us"}
    quiet = {
        "record.queues": "off",
        "record.probes": "off",
        "network.buffer": "250pkt",
        "hosts.rto_min": "10ms",
    }
    result = run("dctcp-many", duration="300ms", warmup="200ms", **changes, **quiet)
    frame_us, ack_us = 1538 * 8e-4, 64 * 8e-4
    pipe = (rtt_us + 2 * frame_us + 3 * ack_us) / frame_us
    expected = 65 + flows if 2 * flows <= pipe + 65 else 2 * flows - pipe
    assert abs(result.summary["bottleneck"]["queue_max_pkt"] - expected) <= 1.5
