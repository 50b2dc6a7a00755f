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


SENDERS, SIZE, FRAME, HEADER = 8, 2_000_000, 4150, 64
LINK_US = SENDERS * -(-SIZE // (FRAME - HEADER)) * FRAME * 8 / 100e3
"""The time that a link of 100 Gbps needs for all bytes."""
STAR = {"kind": "star", "hosts": 9, "rate": "100Gbps", "rtt": "8us"}
FABRICS = [
    STAR,
    {"kind": "fat-tree", "k": 4, "rate": "100Gbps"},
    {"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 4, "rate": "100Gbps"},
]
KINDS = [
    STEP,
    STEP | {"at": "dequeue"},
    {"kind": "red", "kmin": "40KB", "kmax": "160KB", "pmax": 1},
    {"kind": "pi"},
    {"kind": "codel"},
]


def incast(topology, cc, marking):
    scenario = sh.Scenario(
        duration="until-done",
        topology=topology,
        network={
            "mtu": f"{FRAME}B",
            "header": f"{HEADER}B",
            "trimming": {"queue": 50},
            "marking": marking,
        },
        cc=cc,
        traffic=[{"kind": "incast", "senders": SENDERS, "size": f"{SIZE}B"}],
    )  # fmt: skip
    return sh.run(scenario, progress=False)


@pytest.mark.parametrize("cc", ["ndp", "rccc"])
@pytest.mark.parametrize(
    ("topology", "marking"), [(one, STEP) for one in FABRICS] + [(STAR, one) for one in KINDS[1:]]
)
def test_a_port_that_trims_cuts_what_it_would_drop(topology, cc, marking):
    """NDP loses at most a tenth of the link's time to trimming (SIGCOMM 2017 section 6)."""
    run = incast(topology, cc, marking)
    assert 1 <= run.flows.fct_us.max() / LINK_US <= 1.1
    assert run.columns("ports")["dropped"].sum() == 0 < run.columns("ports")["trimmed"].sum()
    assert run.summary["flows"]["timeouts"] == 0


@pytest.mark.parametrize("network", [{"trimming": {"queue": 50}, "marking": STEP}, {}])
@pytest.mark.parametrize("marked", [1, 4])
def test_flows_with_marks_and_flows_with_trimming_share_a_link(network, marked):
    """Of eight flows some are of DCTCP and the others of NDP; the link is busy for most of the time."""
    flows = [[0.0, f"h{host}", "h8", SIZE] for host in range(SENDERS)]
    scenario = sh.Scenario(
        duration="until-done",
        topology=STAR,
        network={"mtu": f"{FRAME}B", "header": f"{HEADER}B", **network},
        cc="dctcp",
        traffic=[
            {"kind": "trace", "flows": flows[:marked]},
            {"kind": "trace", "cc": "ndp", "flows": flows[marked:]},
        ],
    )
    run = sh.run(scenario, progress=False)
    assert 1 <= run.flows.fct_us.max() / LINK_US <= 1.2
    assert run.summary["bottleneck"]["marked"] > 0 < run.columns("ports")["trimmed"].sum()
    assert run.summary["warnings"] == []


def test_a_flow_of_marks_beside_trimming_ends_by_its_growth():
    """In frames of 1500 B the last of eight flows ends after 1.21 of the link's time.

    Seven flows of NDP keep more than 20 packets queued, so that all data of the DCTCP flow is marked and its
    window stays at two to four packets. Once they are done it grows by a packet in each round trip of 8 us
    and 5 frames of 0.12 us: R packets take sqrt(w^2 + 2 R) - w round trips.
    """
    flows = [[0.0, f"h{host}", "h8", SIZE] for host in range(SENDERS)]
    traffic = [{"kind": "trace", "flows": flows[:1]}, {"kind": "trace", "cc": "ndp", "flows": flows[1:]}]
    network = {"trimming": {"queue": 50}, "marking": STEP}
    tables = {
        "duration": "until-done",
        "topology": STAR,
        "network": network,
        "cc": "dctcp",
        "traffic": traffic,
    }
    dctcp_us, *ndp_us = sh.run(sh.Scenario(**tables), progress=False).flows.fct_us
    frame_us = 1500 * 8 / 100e3
    link_us = SENDERS * -(-SIZE // 1460) * frame_us
    left, window = (link_us - max(ndp_us)) / frame_us, 3
    growth_us = ((window**2 + 2 * left) ** 0.5 - window) * (8 + 5 * frame_us)
    assert dctcp_us == pytest.approx(max(ndp_us) + growth_us, rel=0.03)
    assert 1.2 < dctcp_us / link_us < 1.22


def test_a_comparison_names_data_that_is_dropped_where_other_data_is_marked():
    scenario = sh.Scenario(
        duration="200us",
        topology=STAR,
        network={"marking": STEP},
        cc="dctcp",
        traffic=[{"kind": "incast", "senders": 2, "size": "30pkt"}],
    )
    lines = sh.compare(scenario, ["dctcp", "ndp", "swift"]).networks
    assert [line.split(":")[0].split()[-1] for line in lines if "not ECN-capable" in line] == ["ndp", "swift"]
    assert any("ndp" in line and "trimmed where" in line for line in lines)
    assert any("swift" in line and "dropped where" in line for line in lines)
    nodrop = sh.compare(scenario, ["dctcp", "swift"], overrides={"network.marking.nodrop": True}).networks
    assert not any("not ECN-capable" in line for line in nodrop)
