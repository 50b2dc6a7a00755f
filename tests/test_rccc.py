"""RCCC, the receiver credits of Ultra Ethernet: a receiver that grants bytes at 99 % of its link.

crates/sim/tests/credit.rs compares it with results that the authors of its simulator published.
"""

import pytest

import shallows as sh
import test_pulls
from test_pulls import run

STAR = test_pulls.STAR | {"cc": "rccc"}
TREE = test_pulls.TREE | {"cc": "rccc"}


@pytest.mark.parametrize(("senders", "size"), [(100, 45_000), (100, 450_000), (10, 1_000_000)])
def test_an_incast_takes_as_long_as_its_link_needs_at_the_pull_rate(senders, size):
    """N * size * 8 / 0.99 C with headers, those of trimmed packets (64 B), and a round trip: within 2 %.

    Queues of 50 packets are those of uet-htsim at 200 Gbps. Queues of 8 packets, the default, trim packets of
    senders that overdraw their credit at the same time: the first case then takes 1.9 % longer than this, and
    the second 3.5 %.
    """
    result = run(
        STAR,
        **{
            "topology.hosts": senders + 1,
            "traffic.0.senders": senders,
            "traffic.0.size": f"{size}B",
            "network.trimming": {"queue": 50, "headers": "50pkt"},
        },
    )
    packets = -(-size // 1460)
    needed_us = senders * (size + 40 * packets) * 8 / 9.9e3 + 20
    needed_us += result.summary["network"]["trimmed"] * 64 * 8 / 10e3
    assert 0.98 <= result.flows.fct_us.max() / needed_us <= 1.02
    network, flows = result.summary["network"], result.summary["flows"]
    assert network["dropped"] == network["lost"] == flows["timeouts"] == 0
    assert network["trimmed"] > 0


def test_the_example_ends_when_its_comment_says():
    """64 MiB in frames of 4150 B at 198 Gbps, and 8 us for each of first window and last answer."""
    result = sh.run("scenarios/rccc-incast.toml")
    least_us = 64 * (1 << 20) * 4150 / 4086 * 8 / 198e3
    assert 0.99 * least_us <= result.flows.fct_us.max() <= least_us + 16


@pytest.mark.parametrize("rate", [0.5, 0.9])
def test_one_flow_gets_the_share_that_its_receiver_grants(rate):
    """After the first window of 1.5 BDP, which is 20 of 1000 packets here, at the pull rate."""
    result = run(
        STAR,
        cc={"name": "rccc", "rate": rate},
        **{"topology.hosts": 2, "traffic.0.senders": 1, "traffic.0.size": "1460000B"},
    )
    first = 1.5 * 10e9 * 22.5e-6 / 8
    least_us = (1_500_000 - first) * 8 / (10e3 * rate)
    assert result.flows.fct_us.max() == pytest.approx(least_us + 42.5, rel=0.02)


def test_why_names_the_wait_for_credit():
    """Two frames and a first window of one: the second waits for 1500 B to come and a pull of 64 B to return.

    1500 B take 1.2 us on each of two links, the pull 51.2 ns, and each way 10 us. The pull leaves 51.2 ns
    after the acknowledgement, whose transmission is not a wait for credit.
    """
    tables = {"name": "rccc", "window_bdp": 0}
    result = run(STAR, cc=tables, **{"traffic.0.senders": 1, "traffic.0.size": "2920B"})
    assert result.flows.fct_us.max() == pytest.approx(12.4 + 0.0512 + 10.1024 + 12.4, abs=0.001)
    told = result.why([0]).by_cause()
    assert told["credit"] == pytest.approx(12.4e6 + 10.1024e6, rel=0.005)
    assert told["transmission"] == pytest.approx(2.4e6, rel=0.05)


def test_compare_gives_it_the_network_of_ndp():
    both = sh.compare(sh.Scenario(**TREE | {"cc": "dctcp", "network": {}}), ["rccc", "ndp"])
    options = [both.runs[name].scenario.network for name in ("rccc", "ndp")]
    assert all(one.trimming and one.balancing == "packet" for one in options)
    assert options[0] == options[1]


def test_a_network_that_drops_is_named():
    said = run(STAR, **{"network.trimming": False}).summary["warnings"]
    assert any("rccc needs ports that trim packets" in one for one in said)


def crossed(cc, balancing, **network):
    """Mean completion of 32 flows of 4 MB among 4 leaves and 8 spines in us, and the packets marked."""
    flows = [[0.0, f"h{n}", f"h{(n + 8) % 32}", 4_000_000] for n in range(32)]
    tables = {
        "duration": "until-done",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 4,
            "spines": 8,
            "hosts_per_leaf": 8,
            "rate": "400Gbps",
            "link_delay": "1us",
        },
        "cc": cc,
        "network": {
            "mtu": "4150B",
            "header": "64B",
            "balancing": balancing,
            "entropies": 256,
            "trimming": {"queue": 101, "headers": "101pkt"},
            **network,
        },
        "traffic": [{"kind": "trace", "flows": flows}],
    }
    result = sh.run(sh.Scenario(**tables), progress=False)
    assert result.summary["flows"]["completed"] == 32
    return result.flows.fct_us.mean(), int(result.columns("ports")["marked"].sum())


@pytest.mark.parametrize("name", ["rccc", "ndp"])
def test_marks_steer_the_bitmap_if_packets_are_ecn_capable(name):
    """htsim_uec 40ccb05 with RCCC alone and the same queues: 89.9 us by the bitmap, 94.0 us by turns."""
    cc = {"name": name, "ecn": True}
    (bitmap, marked), (turns, marked_too) = (crossed(cc, kind) for kind in ("bitmap", "oblivious"))
    assert bitmap == pytest.approx(89.9, rel=0.015)
    assert turns == pytest.approx(94.0, rel=0.015)
    assert 0 < marked < marked_too


def test_without_ecn_nothing_is_marked_and_marks_steer_nothing():
    assert crossed("rccc", "bitmap") == (pytest.approx(94.0, rel=0.015), 0)


def test_ports_of_ecn_capable_credits_are_those_of_ultra_ethernet():
    """10 Gbps, the ramp of NSCC and its threshold; ports to hosts may mark nothing."""
    last = {"names": ["s0->h0"], "marking": "none"}
    made = sh.Scenario(**STAR | {"cc": {"name": "rccc", "ecn": True}, "network": {}, "ports": [last]})
    alike = sh.Scenario(**STAR | {"cc": "nscc", "network": {}})
    assert made.queues[0].marks.parameters == alike.queues[0].marks.parameters
    assert made.queues[0].trimming == alike.queues[0].trimming
    assert made.ports[0].marking == "none"
