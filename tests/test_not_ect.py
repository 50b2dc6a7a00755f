"""RFC 3168: where ECN-capable data would be marked, other data is dropped, unless `nodrop` is set.

A CUBIC flow without ECN at 1 Gbps behind a threshold of 20 packets: its queue stays at 20 packets and a
frame that arrives; without drops it fills the buffer of 250 packets.
"""

import pytest

import shallows as sh

RAMP = {"kind": "red", "kmin": "20pkt", "kmax": "21pkt", "pmax": 1}
STEP = {"kind": "step", "threshold": "20pkt"}


def bottleneck(marking, ecn=False, **network):
    scenario = sh.Scenario(
        duration="1s",
        topology={"kind": "dumbbell", "hosts": 1, "rate": "1Gbps", "edge_rate": "10Gbps", "rtt": "200us"},
        network={"marking": marking, "buffer": "250pkt", **network},
        cc={"name": "cubic", "ecn": ecn},
        traffic=[{"kind": "long-lived", "flows": 1}],
    )
    return sh.run(scenario, progress=False).summary["bottleneck"]


@pytest.mark.parametrize("marking", [STEP, STEP | {"at": "dequeue"}, RAMP, RAMP | {"at": "enqueue"}])
def test_what_cannot_be_marked_is_dropped(marking):
    port = bottleneck(marking)
    assert port["marked"] == 0 < port["dropped"]
    assert 19 <= port["queue_max_pkt"] <= 22
    assert port["utilization"] > 0.95


@pytest.mark.parametrize("marking", [STEP, RAMP])
def test_nothing_is_dropped_with_nodrop(marking):
    port = bottleneck(marking | {"nodrop": True})
    assert port["marked"] == 0
    assert port["queue_max_pkt"] > 240


@pytest.mark.parametrize("marking", [STEP, RAMP])
def test_ecn_capable_data_is_marked_and_not_dropped(marking):
    port = bottleneck(marking, ecn=True)
    assert port["dropped"] == 0 < port["marked"]


def test_a_phantom_queue_drops_nothing():
    port = bottleneck({"kind": "phantom", "threshold": "2pkt"})
    assert port["queue_max_pkt"] > 240
