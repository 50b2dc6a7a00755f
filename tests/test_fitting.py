"""A comparison gives each algorithm the ports that it needs, and says so."""

import pytest

import shallows as sh
from shallows.comparison import prepare_all
from shallows.scenario import Scenario

INCAST = {
    "duration": "until-done",
    "topology": {"kind": "star", "hosts": 17, "rate": "100Gbps", "rtt": "8us"},
    "cc": "dcqcn",
    "traffic": [{"kind": "incast", "senders": 16, "size": "100KB"}],
}


def prepared(network, topology=None, ccs=("dcqcn", "ndp")):
    traffic = [{"kind": "incast", "senders": 8, "size": "100KB"}]
    changed = INCAST | {"network": network, "traffic": traffic} | ({"topology": topology} if topology else {})
    return {cc: scenario for cc, (_, scenario) in prepare_all(Scenario(**changed), ccs, ["packet"]).items()}


@pytest.mark.parametrize(
    "network", [{"shared": True}, {"pfc": True}, {"shared": {"size": "4MB"}, "pfc": True}]
)
def test_trimming_takes_the_place_of_shared_memory_and_pauses(network):
    both = prepared(network)
    ndp, dcqcn = both["ndp"].network_options, both["dcqcn"].network_options
    assert ndp.trimming
    assert not ndp.shared
    assert not ndp.pfc
    assert both["ndp"].warnings == []
    assert not dcqcn.trimming
    assert bool(dcqcn.shared) == ("shared" in network)
    assert bool(dcqcn.pfc) == ("pfc" in network)


def test_packets_are_sprayed_where_there_are_equal_paths():
    tree = {"kind": "fat-tree", "k": 4, "rate": "100Gbps"}
    of = {cc: one.network_options.balancing for cc, one in prepared({}, tree).items()}
    assert of == {"dcqcn": "flow", "ndp": "packet"}
    assert prepared({"balancing": "queue"}, tree)["ndp"].network_options.balancing == "queue"
    assert prepared({})["ndp"].network_options.balancing == "flow"  # a star has one path


def test_false_is_the_users_choice():
    scenario = prepared({"trimming": False})["ndp"]
    assert scenario.network_options.trimming is False
    assert any("needs ports that trim" in warning for warning in scenario.warnings)


def test_the_report_says_so_and_the_incast_takes_its_time():
    """1.6 MB over 100 Gbps take 128 us and a round trip of 8 us, with headers of 40 of 1500 B: 140 us."""
    both = sh.compare(Scenario(**INCAST, network={"shared": {"size": "4MB"}}), ["dctcp", "ndp"])
    assert both.networks == [
        "network     dctcp: shared on, trimming off",
        "network     ndp: shared off, trimming on",
    ]
    assert 135 < both.runs["ndp"].flows["fct_us"].max() < 180
    saved = both.runs["ndp"].scenario
    assert sh.run(saved).summary["fingerprint"] == both.runs["ndp"].summary["fingerprint"]
