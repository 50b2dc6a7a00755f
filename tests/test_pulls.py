"""NDP (Handley et al., SIGCOMM 2017): a receiver that calls, over ports that cut packets to their headers.

The paper: an incast ends within 10 % of the time that the last link takes for the bytes, whatever its fan-in;
nothing but headers is lost; a permutation over a fat tree uses 95 % of it. What
RCCC shares with it is tested here too.
"""

import numpy as np
import pytest

import shallows as sh
from shallows.printing.report import run_report
from shallows.runner import prepare
from shallows.why import record, walk

CCS = ("ndp", "rccc")
STAR = {
    "duration": "until-done",
    "cc": "ndp",
    "topology": {"kind": "star", "hosts": 101, "rate": "10Gbps", "rtt": "20us"},
    "traffic": [{"kind": "incast", "senders": 100, "size": "45KB"}],
}
TREE = {
    "duration": "until-done",
    "cc": "ndp",
    "topology": {"kind": "fat-tree", "k": 4},
    "network": {"balancing": "packet"},
    "traffic": [{"kind": "shuffle", "size": "30KB"}],
}


def run(tables, **changes):
    return sh.run(sh.Scenario(**tables).replace(changes))


@pytest.mark.parametrize(("senders", "size"), [(100, 45_000), (100, 450_000), (10, 1_000_000)])
def test_an_incast_takes_as_long_as_its_link_needs(senders, size):
    """N * size * 8 / C with headers, and a round trip; the paper: at most 10 % more."""
    result = run(
        STAR, **{"topology.hosts": senders + 1, "traffic.0.senders": senders, "traffic.0.size": f"{size}B"}
    )
    packets = -(-size // 1460)
    needed_us = senders * (size + 40 * packets) * 8 / 10e3 + 20
    assert 0.98 <= result.flows.fct_us.max() / needed_us <= 1.10
    network, flows = result.summary["network"], result.summary["flows"]
    assert network["dropped"] == network["lost"] == flows["timeouts"] == 0
    assert network["trimmed"] > 0
    # They are called in turn: all end within the last tenth.
    assert result.flows.fct_us.min() >= 0.9 * result.flows.fct_us.max()


def test_a_port_holds_eight_packets_and_what_was_cut_of_others():
    """Eight packets and 24 KB of headers at most; or as many of both as the scenario says."""
    result = run(STAR)
    assert 8 <= result.summary["bottleneck"]["queue_max_pkt"] <= 8 + 16
    three = run(STAR, **{"network.trimming": {"queue": 3, "headers": "4pkt"}})
    assert 3 <= three.summary["bottleneck"]["queue_max_pkt"] <= 3 + 4
    assert three.summary["network"]["dropped"] == 0


@pytest.mark.parametrize("edge", ["20Gbps", "100Gbps", "1480Gbps"])
def test_headers_leave_data_most_of_a_narrow_core(edge):
    """§3.1: ten headers to a packet, against collapse. Of 640 B and 1500 B, 1460 B are payload: 68 %.

    Hosts call for ever more than a core can carry that is narrower than their links.
    """
    core = {"kind": "dumbbell", "hosts": 6, "rate": "10Gbps", "edge_rate": edge, "rtt": "100us"}
    tables = STAR | {"topology": core, "duration": "20ms", "traffic": [{"kind": "long-lived"}]}
    tables["warmup"] = "5ms"
    result = run(tables)
    assert 0.65 <= result.summary["flows"]["goodput_gbps"] / 10 <= 0.98
    strict = run(tables, **{"network.trimming": {"ratio": 100_000}}).summary
    assert edge == "20Gbps" or strict["flows"]["goodput_gbps"] < 0.1


@pytest.mark.parametrize("cc", CCS)
def test_it_is_the_same_on_any_number_of_threads(cc):
    one, three = (sh.run(sh.Scenario(**TREE | {"cc": cc}), threads=threads) for threads in (1, 3))
    trimmed = one.summary["network"]["trimmed"]
    assert trimmed > 0
    assert f"trimmed     {trimmed} packets to their headers" in run_report(one.summary)[0]
    assert one.summary["fingerprint"] == three.summary["fingerprint"]


@pytest.mark.parametrize("headers", ["64B", "640B", "16pkt"])
@pytest.mark.parametrize("balancing", ["flow", "packet"])
@pytest.mark.parametrize("cc", [*CCS, {"name": "rccc", "pull": 4}], ids=str)
def test_why_follows_headers_that_come_back(cc, headers, balancing):
    """Where few headers find room many go back to their senders: still every picosecond is told."""
    trimming = {"queue": 2, "headers": headers}
    result = run(TREE, cc=cc, **{"network.balancing": balancing, "network.trimming": trimming})
    assert result.summary["network"]["trimmed"] > 100
    finished = np.flatnonzero(np.isfinite(result.flows.fct_us))
    assert len(finished) == 240
    for flow, its in walk.of_record(record.of_run(result, finished)).items():
        assert sum(piece.length_ps for piece in its.pieces) == round(result.flows.fct_us[flow] * 1e6)
        ends = zip(its.pieces, its.pieces[1:], strict=False)
        assert all(one.end_ps == next_.begin_ps for one, next_ in ends)


@pytest.mark.parametrize("cc", CCS)
def test_why_says_that_a_flow_waited_to_be_called(cc):
    """Of 100 that are called in turn each waits for the others: nearly all of its time."""
    result = run(STAR, cc=cc)
    told = result.why([int(result.flows.fct_us.idxmax())]).by_cause()
    assert told["credit"] / sum(told.values()) > 0.9


@pytest.mark.parametrize("cc", CCS)
@pytest.mark.parametrize(("loss", "timeouts_ms"), [(1e-3, 10), (1e-2, 30), (0.1, 150)])
def test_what_links_lose_is_sent_again(loss, timeouts_ms, cc):
    """The bytes take 3.7 ms; a packet is lost again up to once, twice or four times: 10, 20, 40 and 80 ms."""
    faults = [
        {"link": "s0<->h0", "kind": "loss", "value": loss},
        {"link": "h9<->s0", "kind": "loss", "value": loss},
    ]
    result = run(STAR, faults=faults, cc=cc)
    assert result.summary["books"]["closed"]
    assert result.summary["flows"]["finished"] == 100
    assert 3.7 < result.flows.fct_us.max() / 1e3 < 4 + timeouts_ms
    assert result.summary["network"]["dropped"] == 0


def test_a_first_window_below_the_path_leaves_it_idle():
    """50 packets of 1500 B in 200 us of propagation and 6 us of frames are 2.9 Gbps of 10 on the wire."""
    tables = {
        "duration": "20ms",
        "warmup": "10ms",
        "topology": {"kind": "dumbbell", "rate": "10Gbps", "rtt": "200us"},
        "traffic": [{"kind": "long-lived", "flows": 1}],
        "cc": {"name": "ndp", "window": "50pkt"},
    }
    assert run(tables).summary["bottleneck"]["utilization"] == pytest.approx(0.29, abs=0.01)
    whole = run(tables, cc="ndp").summary["bottleneck"]
    assert whole["utilization"] >= 0.99
    assert whole["queue_max_pkt"] <= 17


@pytest.mark.parametrize("cc", CCS)
@pytest.mark.parametrize(
    ("world", "message"), [("fluid", "a fluid has"), ("kernel", "an algorithm of the kernel world")]
)
def test_other_worlds_refuse_it(world, message, cc):
    scenario = sh.Scenario(**STAR).replace({"duration": "10ms", "cc": cc, "network.trimming": True})
    with pytest.raises(sh.ScenarioError, match=message):
        prepare(scenario.replace({"topology.hosts": 4, "traffic.0.senders": 3}), world=world)


def test_over_links_that_pause_nothing_is_cut():
    result = run(STAR, **{"network.pfc": {"threshold": "20KB"}})
    network = result.summary["network"]
    assert network["trimmed"] == network["dropped"] == 0
    assert network["pauses"] > 0


def test_a_pull_that_is_repeated_before_there_was_one_is_because_of_the_data():
    """The fourth packet comes, 24.8432 us after the start; no other one for 10 ms, the receiver's timeout.

    The first window of 40 us, 50 KB, has room for all four, so that none asks for credit.
    """
    lost = (("0s", "14us"), ("9990us", "10013us"))
    drops = [{"link": "h0->s0", "kind": "silent-drop", "at": at, "until": until} for at, until in lost]
    star = {"kind": "star", "hosts": 3, "rate": "10Gbps", "rtt": "40us"}
    traffic = [{"kind": "trace", "flows": [[0, "h0", "h1", 5117]]}]
    alone = {"duration": "until-done", "cc": "rccc", "topology": star, "traffic": traffic, "faults": drops}
    its = record.of_scenario(sh.Scenario(**alone), [0])
    packets, causes = its.tables["packets"], its.tables["causes"]
    pull = packets["kind"].tolist().index(its.kinds.index("pull"))
    cause = packets["cause"][pull]
    assert packets["left_ps"][pull] == 24_843_200 + 10**10
    assert (its.whys[causes["why"][cause]], causes["since_ps"][cause]) == ("granted", 24_843_200)
    assert (packets["seq"][causes["packet"][cause]], packets["kind"][causes["packet"][cause]]) == (3, 0)
