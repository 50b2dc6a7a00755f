"""A comparison gives each algorithm the ports that it needs, and says so."""

import tomllib

import pytest

import shallows as sh
from shallows.scenario import Scenario, fitting
from shallows.sweeps.comparison import prepare_all

INCAST = {
    "duration": "until-done",
    "topology": {"kind": "star", "hosts": 17, "rate": "100Gbps", "rtt": "8us"},
    "cc": "dcqcn",
    "traffic": [{"kind": "incast", "senders": 16, "size": "100KB"}],
}


def prepared(network, topology=None, ccs=("dcqcn", "ndp")):
    traffic = [{"kind": "incast", "senders": 8, "size": "100KB"}]
    changed = INCAST | {"network": network, "traffic": traffic} | ({"topology": topology} if topology else {})
    return {job.run: job.make() for job in prepare_all(Scenario(**changed), ccs, ["packet"])}


@pytest.mark.parametrize(
    "network", [{"shared": True}, {"pfc": True}, {"shared": {"size": "4MB"}, "pfc": True}]
)
def test_trimming_takes_the_place_of_shared_memory_and_pauses(network):
    both = prepared(network)
    ndp, dcqcn = both["ndp"].network, both["dcqcn"].network
    assert ndp.trimming
    assert not ndp.shared
    assert not ndp.pfc
    assert both["ndp"].warnings == []
    assert not dcqcn.trimming
    assert bool(dcqcn.shared) == ("shared" in network)
    assert dcqcn.pfc


def test_packets_are_sprayed_where_there_are_equal_paths():
    tree = {"kind": "fat-tree", "k": 4, "rate": "100Gbps"}
    of = {cc: one.network.balancing for cc, one in prepared({}, tree).items()}
    assert of == {"dcqcn": "flow", "ndp": "packet"}
    assert prepared({"balancing": "queue"}, tree)["ndp"].network.balancing == "queue"
    assert prepared({})["ndp"].network.balancing == "flow"  # a star has one path


def test_false_is_the_users_choice():
    scenario = prepared({"trimming": False})["ndp"]
    assert scenario.network.trimming is False
    assert any("needs ports that trim" in warning for warning in scenario.warnings)


def test_the_report_says_so_and_the_incast_takes_its_time():
    """1.6 MB over 100 Gbps take 128 us and a round trip of 8 us, with headers of 40 of 1500 B: 140 us."""
    scenario = Scenario(**INCAST, network={"shared": {"size": "4MB"}})
    both = sh.compare(scenario, ["dctcp", "ndp"])
    assert both.networks == [
        "network     dctcp: shared on, trimming off",
        "network     ndp: shared off, trimming on",
    ]
    assert 135 < both.runs["ndp"].flows["fct_us"].max() < 180
    saved = both.runs["ndp"].scenario
    assert sh.run(saved).summary["fingerprint"] == both.runs["ndp"].summary["fingerprint"]


@pytest.mark.parametrize(
    ("network", "pauses"),
    [
        ({}, True),
        ({"buffer": "shared"}, True),
        ({"buffer": "100KB"}, False),
        ({"buffer": "unlimited"}, False),
        ({"pfc": False}, False),
    ],
)
@pytest.mark.parametrize("cc", ["dcqcn", "timely", "patched-timely"])
def test_algorithms_over_roce_get_pauses_unless_something_else_is_set(cc, network, pauses):
    both = prepared(network, ccs=(cc, "reno"))
    assert bool(both[cc].network.pfc) == pauses
    assert not both["reno"].network.pfc


def test_pauses_are_given_in_the_packet_world_alone():
    """A comparison of worlds is about one network, and the fluid world has no pauses."""
    scenario = Scenario(
        duration="1ms",
        topology={"kind": "dumbbell"},
        cc="dcqcn",
        traffic=[{"kind": "long-lived", "flows": 2}],
    )
    jobs = prepare_all(scenario, ["dcqcn"], ["packet", "fluid"])
    assert [bool(job.make().network.pfc) for job in jobs] == [False, False]
    with_priorities = scenario.set("traffic.0.priority", 1)
    assert prepare_all(with_priorities, ["dcqcn"], ["packet"])[0].make().network.pfc
    with_classes = scenario.set("classes", [{"name": "a"}, {"name": "b"}])
    assert not prepare_all(with_classes, ["dcqcn"], ["packet"])[0].make().network.pfc


def test_keys_of_hosts_act_on_the_algorithms_that_use_them():
    scenario = Scenario(
        duration="2ms",
        topology={"kind": "dumbbell", "hosts": 2, "rate": "1Gbps"},
        hosts={"gap": 0.01, "segment": 2},
        cc="reno",
        traffic=[{"kind": "long-lived"}],
    )
    both = sh.compare(scenario, ["reno", "dctcp", "dcqcn"])
    gaps = {cc: run.scenario.hosts.gap for cc, run in both.runs.items()}
    assert gaps == {"reno": 0.01, "dctcp": 0.002, "dcqcn": 0.01}
    assert both.runs["dctcp"].scenario.hosts.segment == 2
    said = [line for line in both.networks if line.startswith("hosts")]
    assert said == ["hosts       dctcp: gap not used", "hosts       dcqcn: segment not used"]
    with pytest.raises(sh.ScenarioError, match=r"hosts\.gap = 0\.01: expected 0\.002, the default: dx"):
        sh.compare(scenario, ["dx", "vegas"])
    with pytest.raises(sh.ScenarioError, match=r"hosts\.gap = -1"):
        sh.compare(scenario, ["reno", "dctcp"], overrides={"hosts.gap": -1})
    with pytest.raises(sh.ScenarioError, match=r"hosts\.nic"):
        sh.compare(scenario, ["reno", "dctcp"], overrides={"hosts.nic": "x"})


VALUES = {
    "gap": 0.001,
    "initial_window": "20pkt",
    "acks_every": 2,
    "ack_delay": "100us",
    "prr": True,
    "segment": 2,
    "segment_time": "100us",
    "option": "14B",
    "piggyback": True,
    "loss_detection": "rack",
    "retransmission": "selective",
    "timestamps": {"kind": "hardware"},
}
"""A value other than the default of each key of hosts that acts on some algorithms only."""
BESIDE = {"segment_time": {"segment": 8}}
"""Keys without which another has no effect."""


def test_these_keys_of_hosts_act_on_some_algorithms_only():
    assert set(fitting.host_keys()) == set(VALUES)


@pytest.mark.parametrize("key", VALUES)
def test_a_key_of_hosts_is_left_out_for_an_algorithm_that_does_not_use_it(key):
    uses = "dcqcn" if key == "retransmission" else "cubic"
    without = "cubic" if key == "retransmission" else "expresspass"
    jobs = prepare_all(
        Scenario(**INCAST | {"cc": uses}, hosts={key: VALUES[key]} | BESIDE.get(key, {})),
        [uses, without],
        ["packet"],
    )
    used, plain = (job.make() for job in jobs)
    assert getattr(used.hosts, key) != getattr(Scenario(**INCAST | {"cc": uses}).hosts, key)
    assert getattr(plain.hosts, key) == getattr(Scenario(**INCAST | {"cc": without}).hosts, key)
    saved = {job.run: tomllib.loads(job.make().to_toml()) for job in jobs}
    keys = ", ".join([*BESIDE.get(key, {}), key])
    assert f"hosts       {without}: {keys} not used" in fitting.unused(saved)
