"""Defaults that follow the network have the values of their papers, from 100 Mbps to 1.6 Tbps, for any frame.

The expected values are the papers' or follow from the stated rule by hand.
"""

import itertools
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from shallows import _core, cli
from shallows.algorithms import defaults
from shallows.algorithms.defaults import Scale
from shallows.base import limits
from shallows.errors import ScenarioError
from shallows.registry import catalog, in_use
from shallows.scenario import Scenario
from shallows.units import NEVER

LONG = [{"kind": "long-lived"}]


def scale(rate, rtt_us=200, frame=1500):
    rate = round(rate * 1e9)
    return Scale(round(rtt_us * 1e6), frame, np.array([rate], np.uint64), rate)


def scenario(rate="10Gbps", cc="dctcp", rtt="200us", **tables):
    topology = {"kind": "dumbbell", "hosts": 4, "rate": rate, "rtt": rtt}
    return Scenario(**{"duration": "10ms", "topology": topology, "cc": cc, "traffic": LONG, **tables})


def test_no_default_is_outside_the_range_of_its_parameter():
    bounds = (limits.LINK_RATE.least, 10**8, 10**10, limits.LINK_RATE.most)
    frames, delays = (64, 1500, limits.FRAME.most), (10**4, 10**7, 10**9, 10 * limits.DELAY.most)
    for row in _core.catalog():
        for one in row["parameters"]:
            for rate, frame, delay in itertools.product(bounds, frames, delays):
                of = Scale(delay + 8 * frame * 10**12 // rate, frame, np.array([rate], np.uint64), rate)
                value = defaults.parameter(row["name"], one["name"], one["default"], of)
                assert one["min"] <= value <= one["max"], (row["name"], one["name"], of)


@pytest.mark.parametrize(
    ("gbps", "rtt_us", "frame", "frames"),
    [
        (1, 200, 1500, 20),  # SIGCOMM 2010
        (10, 200, 1500, 65),  # SIGCOMM 2010
        (10, 20, 1500, 65),
        (4, 200, 1500, 26),  # 6.5 a Gbps
        (10, 200, 9000, 11),  # as many bytes
        (10, 200, 64, 1524),
        (40, 200, 1500, 260),  # 78 us, less than a round trip
        (100, 20, 9038, 28),  # a round trip: 250 KB
        (400, 8, 4160, 97),  # 400 KB, where 65 packets a 10 Gbps are 10.8 MB
        (1600, 8, 1500, 1067),
        (1600, 8, 9000, 178),
        (25, 4, 1500, 65),  # not below the value of 10 Gbps
        (0.1, 1000, 1500, 5),  # five frames
        (0.1, 200, 9000, 5),
        (10, 1000, 1500, 120),  # a seventh of 1.25 MB (eq. 13)
        (100, 1000, 1500, 1191),
    ],
)
def test_a_step_threshold_is_that_of_the_paper_or_a_bandwidth_delay_product(gbps, rtt_us, frame, frames):
    assert defaults.step_threshold(round(gbps * 1e9), scale(gbps, rtt_us, frame)) == frames * frame


@pytest.mark.parametrize(
    ("gbps", "kmin", "kmax"),
    [(10, 5, 200), (25, 5, 200), (40, 5, 200), (100, 12.5, 500), (400, 50, 2000), (1600, 200, 8000)],
)
def test_the_ramp_is_that_of_dcqcn_and_grows_with_the_rate(gbps, kmin, kmax):
    marking = scenario(f"{gbps}Gbps", "dcqcn").network.marking
    assert (marking.kind, marking.parameters["kmin"], marking.parameters["kmax"]) == (
        "red",
        1e3 * kmin,
        1e3 * kmax,
    )


def test_the_ramp_of_a_slow_port_has_room_for_frames():
    marking = scenario("100Mbps", "dcqcn").network.marking
    assert (marking.parameters["kmin"], marking.parameters["kmax"]) == (1500, 30_000)


@pytest.mark.parametrize(
    ("rate", "cc", "expected"),
    [
        ("10Gbps", "dcqcn", {"r_ai": 40e6, "b": 10e6, "t": 55e-6}),  # SIGCOMM 2015
        ("40Gbps", "dcqcn", {"r_ai": 40e6, "b": 10e6, "min_rate": 10e6}),
        ("400Gbps", "dcqcn", {"r_ai": 400e6, "r_hai": 2e9, "b": 100e6, "t": 55e-6, "min_rate": 100e6}),
        ("100Mbps", "dcqcn", {"r_ai": 400e3, "b": 10e6, "t": 5.5e-3, "tau": 5e-3}),
        ("10Gbps", "timely", {"delta": 10e6, "t_low": 50e-6, "t_high": 500e-6, "seg": 64e3}),  # CoNEXT 2016
        ("400Gbps", "timely", {"delta": 400e6, "t_low": 50e-6, "t_high": 500e-6, "seg": 64e3}),
        ("10Gbps", "patched-timely-pi", {"q_ref": 300e3, "k1": 2.5e-7, "k2": 5e-6}),  # CoNEXT 2016
        ("400Gbps", "patched-timely-pi", {"q_ref": 12e6, "k1": 6.25e-9, "k2": 1.25e-7}),  # 240 us
        ("1600Gbps", "patched-timely-pi", {"q_ref": 48e6, "k1": 1.5625e-9, "k2": 3.125e-8}),
        ("10Gbps", "hull", {"beta": 3000, "period": 7.2e-6, "idle": 1e-3}),  # NSDI 2012
        ("100Gbps", "hull", {"beta": 30_000, "period": 0.72e-6, "idle": 1e-3}),
        ("1Gbps", "hull", {"beta": 300, "period": 72e-6, "idle": 10e-3}),
        ("400Gbps", "dcqcn@sigcomm15", {"r_ai": 40e6, "b": 10e6}),  # a preset is what its paper says
        ("400Gbps", {"name": "dcqcn", "r_ai": "40Mbps"}, {"r_ai": 40e6, "r_hai": 2e9}),
    ],
)
def test_parameters_follow_the_rate_of_the_host(rate, cc, expected):
    used = scenario(rate, cc, rtt="8us").cc
    assert {key: used.parameters[key] for key in expected} == pytest.approx(expected)


def test_timely_leaves_out_what_a_round_trip_exceeds_that_of_its_paper():
    """200 us, three frames of 1500 B and three acks of 64 B at 10 Gbps: 203.8 us, 183.8 us above 20 us."""
    found = scenario("10Gbps", "timely").cc.parameters
    given = {"t_low": 233.8e-6, "t_high": 683.8e-6, "d_min_rtt": 203.8e-6, "delta": 10e6}
    assert {key: found[key] for key in given} == pytest.approx(given, rel=1e-3)
    slow = scenario("1Gbps", "patched-timely", rtt="8us").cc.parameters
    assert slow["t_low"] == pytest.approx(500e-6 + 8e-6 + 37.536e-6 - 20e-6, rel=1e-3)
    assert (slow["delta"], slow["seg"]) == pytest.approx((1e6, 1600))


def test_the_queue_of_host_pi_has_the_delay_of_its_paper():
    """240 us at 10 Gbps; 2.4 ms at 1 Gbps, and 25.5 us above 20 us: 300 KB + 3192 B, and a tenth of k2."""
    slow = scenario("1Gbps", "patched-timely-pi", rtt="8us").cc.parameters
    assert slow["q_ref"] == pytest.approx(300e3 + 1e9 / 8 * 25.536e-6, rel=1e-3)
    assert (slow["k1"], slow["k2"]) == pytest.approx((2.5e-7, 5e-7))


@pytest.mark.parametrize(
    ("rate", "tables", "least_us"),
    [
        ("10Gbps", {}, 1000),
        ("1Gbps", {}, 200 + 2 * 3000),  # a buffer of 375 KB holds 3 ms at 1 Gbps
        ("100Mbps", {}, 200 + 2 * 30_000),
        ("1Gbps", {"network": {"buffer": "1000pkt"}}, 200 + 2 * 12_000),
        ("1Gbps", {"network": {"shared": {"size": "1MB"}}}, 200 + 2 * 4000),
        ("1Gbps", {"network": {"buffer": "unlimited"}}, 1000),
        ("1Gbps", {"hosts": {"rto_min": "2ms"}}, 2000),
        ("1Gbps", {"hosts": {"rto": "internet"}}, 1_000_000),
    ],
)
def test_no_queue_of_a_default_buffer_is_longer_than_the_least_timeout(rate, tables, least_us):
    given = scenario(rate, "reno", **tables).hosts
    assert least_us <= given.rto_min / 1e6 <= 1.1 * least_us
    assert given.rto_initial >= given.rto_min
    assert given.ack_delay < given.rto_min


def test_a_buffer_holds_a_bandwidth_delay_product():
    assert scenario("10Gbps", "reno").network.buffer == 375_000
    assert scenario("10Gbps", "reno", network={"mtu": "9000B"}).network.buffer == 375_000
    assert 2_500_000 <= scenario("100Gbps", "reno").network.buffer <= 2_600_000


@pytest.mark.parametrize(
    ("rate", "rtt", "cc", "expected"),
    [
        ("400Gbps", "10us", {"name": "swift"}, 4234 * 1500),  # 25 + 2 + 100 us: 6.35 MB
        ("400Gbps", "10us", {"name": "swift-roce"}, 4234 * 1500),
        ("400Gbps", "10us", {"name": "swift@htsim"}, 4204 * 1500),  # 20 + 40 / 6.55 + 100 us
        ("400Gbps", "10us", {"name": "swift", "base_target": "50us", "fs_range": "30us"}, 2734 * 1500),
        ("1600Gbps", "10us", {"name": "swift", "per_hop": "0us"}, 16_667 * 1500),  # 125 us: 25 MB
        ("10Gbps", "10us", {"name": "swift"}, 375_000),  # 127 us are 159 KB
        ("100Gbps", "2ms", {"name": "swift"}, 16_670 * 1500),  # the product: 2000.375 us
        ("400Gbps", "8us", {"name": "timely"}, 270 * 1500),  # the product: 8.095 us
        ("400Gbps", "8us", {"name": "dx"}, 270 * 1500),
        ("400Gbps", "8us", {"name": "reno"}, 270 * 1500),
    ],
)
def test_a_buffer_holds_the_queue_that_the_target_of_swift_allows(rate, rtt, cc, expected):
    """By hand for two switches, in whole frames of 1500 B; other algorithms keep the product."""
    found = scenario(rate, cc, rtt)
    assert found.network.buffer == expected
    assert scenario(rate, cc, rtt, network={"buffer": "545KB"}).network.buffer == 545_000


def test_a_sprayed_target_of_swift_allows_twenty_frames():
    """Three switches, frames of 9000 B at 25 Gbps: 57.6 instead of 25 us, and 103 us."""
    fabric = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2, "rate": "25Gbps"}
    for balancing, frames in (("flow", 45), ("packet", 56)):
        network = {"mtu": "9000B", "balancing": balancing}
        found = scenario(cc="swift", topology=fabric, network=network)
        assert found.network.buffer == frames * 9000, balancing


def test_memory_and_pauses_follow_the_fastest_port():
    shared = {"network": {"shared": True, "pfc": True}}
    assert scenario("40Gbps", **shared).network.shared.size == 12_000_000
    assert scenario("400Gbps", **shared).network.shared.size == 120_000_000
    assert scenario("40Gbps", network={"pfc": True}).network.pfc.threshold == 100_000
    assert scenario("400Gbps", network={"pfc": True}).network.pfc.threshold == 1_000_000


def test_the_longest_round_trip_is_that_of_the_longest_path():
    """Six cables of 1 us, and at each a frame of 1500 B and an ack of 64 B at 10 Gbps."""
    tree = {"kind": "fat-tree", "k": 4}
    found = Scale.of(
        Scenario(duration="1ms", topology=tree, cc="dctcp", traffic=[{"kind": "incast"}]).graph, 1500
    )
    assert found.rtt_ps == 6 * (2_000_000 + 8 * (1500 + 64) * 100)
    row = scenario("10Gbps", topology={"kind": "parking-lot", "hops": 7, "rtt": "160us"})
    assert Scale.of(row.graph, 1500).rtt_ps == 160_000_000 + 9 * 8 * (1500 + 64) * 100


@pytest.mark.parametrize("cc", ["dctcp", "dcqcn", "hull", "timely", "ndp", "reno", "expresspass", "gap"])
def test_a_saved_scenario_has_every_value_and_is_the_same(cc):
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "rate": "25Gbps", "spine_rate": "100Gbps"}
    given = scenario(cc=cc, topology=topology, traffic=[{"kind": "incast", "size": "10KB"}])
    text = given.to_toml()
    assert "recommended" not in text
    again = Scenario.from_toml(text, file="x.toml")
    assert again.to_toml() == text
    assert again.hosts == given.hosts
    assert again.network == given.network


def test_a_value_for_each_rate_is_read_and_a_missing_rate_is_named():
    threshold = {"10Gbps": "65pkt", "40Gbps": "130pkt"}
    tables = {"network": {"marking": {"kind": "step", "threshold": threshold}}}
    fabric = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "spine_rate": "40Gbps"}
    given = scenario(topology=fabric, traffic=[{"kind": "incast"}], **tables)
    assert given.network.marking.parameters["threshold"] == {10**10: 97_500.0, 4 * 10**10: 195_000.0}
    with pytest.raises(ValueError, match=r"threshold: expected a value for ports of 25Gbps as well"):
        scenario(topology=fabric | {"spine_rate": "25Gbps"}, traffic=[{"kind": "incast"}], **tables)


def test_parameters_do_not_follow_links_within_servers():
    """A rail of 40 Gbps has DCQCN's steps at 40 Gbps, however fast NVLink is."""
    rails = {"kind": "rail-optimised", "servers": 2, "gpus": 2, "spines": 2, "rate": "40Gbps"}
    table = Scenario(duration="1ms", cc="dcqcn", topology=rails, traffic=[{"kind": "long-lived"}])
    star = scenario("40Gbps", "dcqcn")
    assert table.cc.parameters["r_ai"] == star.cc.parameters["r_ai"]


@pytest.mark.parametrize(
    "tables",
    [
        {"network": {"buffer": "unlimited"}},
        {"network": {"trimming": True}},
        {"network": {"shared": True}},
        {"network": {"pfc": True}},
        {
            "classes": [{"name": "a", "buffer": "unlimited"}],
            "traffic": [{"kind": "long-lived", "class": "a"}],
        },
    ],
)
def test_the_least_timeout_exceeds_the_round_trip_of_every_network(tables):
    """R of 200 ms: a shorter timer expires before an answer can come."""
    given = {"traffic": [{"kind": "long-lived"}]} | tables
    topology = {"kind": "dumbbell", "rate": "10Gbps", "rtt": "200ms", "hosts": 1}
    hosts = Scenario(duration="10s", topology=topology, cc="reno", **given).hosts
    assert hosts.rto_min >= 2 * 10**11


def test_the_timeouts_that_irn_publishes_can_be_set():
    """320 us, and 5/16 of it, 100 us, with few frames in flight (IRN, SIGCOMM 2018 section 4.1)."""
    tables = {
        "duration": "20ms",
        "topology": {"kind": "dumbbell", "rate": "25Gbps", "rtt": "40us", "hosts": 1},
        "traffic": [{"kind": "long-lived", "flows": 1}],
        "hosts": {"retransmission": "selective", "rto_initial": "320us"},
    }
    assert Scenario(cc="dcqcn", **tables).hosts.rto_initial == 320 * 10**6
    saved = Scenario(cc="dcqcn", **tables).to_toml()
    assert Scenario.from_toml(saved).to_toml() == saved
    with pytest.raises(ScenarioError, match=r"hosts\.rto_initial.*1ms or more"):
        Scenario(cc="reno", **(tables | {"hosts": {"rto_initial": "320us"}}))


def on(part, name, rate, rtt="20us", mtu="1500B"):
    """What an algorithm or a marking has by default on a network of one rate."""
    network = {"mtu": mtu}
    made = scenario(rate=rate, rtt=rtt, cc="reno", network=network, duration="1ms")
    return in_use.values(name, made)[part]


ROWS = [
    *(("cc", row) for row in catalog.algorithms()),
    *(("network.marking", row) for row in catalog.other_catalogs()["network.marking"]),
]


@pytest.mark.parametrize(("part", "row"), ROWS, ids=[row["name"] for _, row in ROWS])
def test_every_default_that_follows_the_network_is_marked_with_the_rate_of_its_value(part, row):
    """On other rates, with a longer round trip and larger frames, these parameters alone are others."""
    paper = on(part, row["name"], "10Gbps")
    others = [on(part, row["name"], rate, "400us", "9000B") for rate in ("100Mbps", "400Gbps")]
    for one in row["parameters"]:
        name = one["name"]
        follows = any(other[name] != paper[name] for other in others)
        assert follows == ("follows" in one), name
        if one.get("default_at"):
            at = on(part, row["name"], one["default_at"].replace(" ", ""), "16us")
            assert at[name] == pytest.approx(one["default"], rel=1e-6), name


def test_the_page_of_an_algorithm_says_what_its_defaults_follow():
    """DCQCN's 10 MB and 40 Mbps are of 40 Gbps, and ten times as much at 400 Gbps."""
    shown = CliRunner().invoke(cli.app, ["cc", "dcqcn", "--json"])
    assert '"follows": "the host\'s rate above 40 Gbps"' in shown.stdout
    page = CliRunner().invoke(cli.app, ["cc", "dcqcn"]).stdout
    begin, end = re.search(r"default +(?=from)", page).span()
    line = page.rfind("\n", 0, begin) + 1
    defaults_shown = " ".join(text[begin - line : end - line].strip() for text in page.splitlines())
    assert "above 40 Gbps: 10MB at 40 Gbps" in defaults_shown
    assert "40Mbps at 40 Gbps" in defaults_shown
    assert "dcqcn@sigcomm15  the values above of the paper, on every network" in page
    faster = scenario(rate="400Gbps", cc="dcqcn")
    values = in_use.values("dcqcn", faster)["cc"]
    assert (values["b"], values["r_ai"], values["r_hai"]) == (100e6, 400e6, 2e9)


def test_the_values_on_a_scenario_are_those_of_its_file(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(scenario(rate="100Gbps", cc={"name": "dcqcn", "b": "7MB"}).to_toml())
    shown = CliRunner().invoke(cli.app, ["cc", "dcqcn", "--on", str(file)])
    rows = {line.split()[0]: line.split()[1] for line in shown.stdout.splitlines() if len(line.split()) > 1}
    assert (rows["b"], rows["r_ai"]) == ("7MB", "100Mbps")
    for words, message in (
        (["cc", "--on", str(file)], "--on"),
        (["cc", "nothing", "--on", str(file)], "one of"),
    ):
        done = CliRunner().invoke(cli.app, words)
        assert done.exit_code != 0
        assert message in done.stderr


@pytest.mark.parametrize("threshold", [4_000_000, 6_000_000, 20_000_000])
def test_a_queue_that_trims_holds_no_more_packets_than_its_key_allows(threshold):
    """Twice the threshold, up to the limit of every count, 10,000,000; a longer threshold is refused."""
    tables = {
        "duration": "50us", "topology": {"kind": "star", "hosts": 4}, "cc": "ndp",
        "network": {"trimming": True, "marking": {"kind": "step", "threshold": f"{threshold}pkt"}},
        "traffic": [{"kind": "incast"}],
    }  # fmt: skip
    if threshold >= 10_000_000:
        with pytest.raises(ScenarioError, match="expected more than the largest marking threshold"):
            Scenario(**tables)
        return
    scenario = Scenario(**tables)
    assert scenario.network.trimming.queue == min(2 * threshold, 10_000_000)
    assert Scenario.from_toml(scenario.to_toml()) == scenario


TABLES = {
    "one class": {},
    "pauses": {"network": {"pfc": True}},
    "one memory": {"network": {"shared": True}},
    "classes": {
        "classes": [{"name": "a"}, {"name": "b", "pfc": True}, {"name": "c", "pool": "p"}],
        "pools": [{"name": "p"}],
    },
}


@pytest.mark.parametrize("tables", TABLES.values(), ids=TABLES)
def test_no_key_of_queues_and_timeouts_is_absent_once_a_scenario_is_resolved(tables):
    resolved = scenario(**tables)
    for table in (resolved.network, *resolved.classes):
        assert table.buffer is not None
        assert table.marking is not None
    hosts = resolved.hosts
    assert None not in (hosts.rto_min, hosts.rto_initial, hosts.rto_max, hosts.ack_delay)
    given = resolved.given
    assert given.network.buffer in (None, NEVER)  # as it was written
    assert given.network.marking is None
