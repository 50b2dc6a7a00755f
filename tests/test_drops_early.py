"""Active queue management that drops: RED and CoDel without ECN, and ports with `ecn = false`."""

import numpy as np
import pytest

import shallows as sh


def run(marking, cc="reno", flows=1, rate="100Mbps", rtt="20ms", seed=1, **changes):
    tables = {
        "duration": "20s",
        "warmup": "5s",
        "topology": {"kind": "dumbbell", "hosts": flows, "rate": rate, "edge_rate": "10Gbps", "rtt": rtt},
        "network": {"marking": marking, "buffer": "2000pkt"},
        "hosts": {"rto": "internet"},
        "cc": cc,
        "traffic": [{"kind": "long-lived", "flows": flows}],
    }
    return sh.run(sh.Scenario(seed=seed, **{**tables, **changes}), progress=False)


CODEL = {"kind": "codel", "target": "5ms", "interval": "100ms"}
ECN = {"name": "reno", "ecn": True}


@pytest.mark.parametrize("flows", [1, 8])
def test_codel_keeps_the_delay_near_its_target(flows):
    """Without it Reno fills 2000 packets, 240 ms at 100 Mbps. RFC 8289 §4.4: the target is the standing
    queue, the least delay in an interval; sawtooths of one or eight flows stay below twice that.
    """
    port = run(CODEL, flows=flows).summary["bottleneck"]
    assert port["marked"] == 0 < port["dropped"]
    assert port["queue_p50_pkt"] * 0.12 < 2 * 5  # ms; a packet takes 0.12 ms
    assert port["utilization"] > 0.9


def test_codel_marks_instead_of_dropping_unless_ecn_is_off():
    marked = run(CODEL, cc=ECN).summary["bottleneck"]
    assert marked["dropped"] == 0 < marked["marked"]
    dropped = run(CODEL | {"ecn": False}, cc=ECN).summary["bottleneck"]
    assert dropped["marked"] == 0 < dropped["dropped"]


def test_codel_leaves_an_unresponsive_queue_by_its_control_law():
    """A fixed window of 500 packets over 100 Mbps and 20 ms keeps 333 packets waiting for 40 ms. The first
    drop comes after 100 ms, the next after 100 / sqrt(n) ms each: about ((t - 0.1) / 0.2)^2 in t seconds.
    """
    drops = run(CODEL, cc={"name": "fixed", "window": "500pkt"}, duration="4s", warmup="0s").summary
    n = np.arange(1, 2000)
    expected = 1 + np.searchsorted(0.1 + 0.1 * np.cumsum(1 / np.sqrt(n)), 4)
    assert 0.9 * expected < drops["bottleneck"]["dropped"] < 1.1 * expected


def test_the_average_of_red_lets_bursts_pass():
    """A burst of 60 packets meets a ramp of 5 to 15 packets. At weight 0.002 the average stays below
    60 * 60 / 2 * 0.002 = 3.6 packets, so nothing is dropped; the queue of the moment drops the rest.
    """
    burst = {
        "duration": "until-done",
        "warmup": "0s",
        "hosts": {"rto": "internet", "initial_window": "60pkt"},
        "traffic": [{"kind": "incast", "senders": 1, "size": "87600B"}],
    }
    ramp = {"kind": "red", "kmin": "5pkt", "kmax": "15pkt", "pmax": 0.1, "at": "enqueue"}
    assert run(ramp | {"weight": 0.002}, **burst).summary["bottleneck"]["dropped"] == 0
    assert run(ramp, **burst).summary["bottleneck"]["dropped"] > 20


@pytest.mark.parametrize(
    "marking", [{"kind": "step", "threshold": "20pkt"}, {"kind": "red", "kmin": "20pkt", "kmax": "21pkt"}]
)
def test_without_ecn_a_port_drops_all_data(marking):
    port = run(marking | {"ecn": False}, cc=ECN).summary["bottleneck"]
    assert port["marked"] == 0 < port["dropped"]
    assert 19 <= port["queue_max_pkt"] <= 22


@pytest.mark.parametrize(
    ("marking", "message"),
    [
        (CODEL | {"at": "enqueue"}, 'at = "enqueue"'),
        (CODEL | {"ecn": False, "nodrop": True}, "nodrop = "),
        ({"kind": "red", "extended": True, "gentle": True}, "gentle = "),
    ],
)
def test_what_would_have_no_effect_is_refused(marking, message):
    with pytest.raises(sh.ScenarioError, match=message):
        run(marking)


def test_algorithms_that_need_marks_refuse_ports_that_do_not_mark():
    with pytest.raises(sh.ScenarioError, match=r"network.marking.ecn = false: expected true: dctcp"):
        run({"kind": "step", "threshold": "20pkt", "ecn": False}, cc="dctcp")
