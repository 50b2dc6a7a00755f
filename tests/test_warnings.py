"""What a run did and hardly meant is said, and nothing is said of a run that is as it should be."""

from pathlib import Path

import pytest

import shallows as sh
from shallows.warnings import measurement

SCENARIOS = Path(__file__).parent.parent / "scenarios"


def warnings(**tables):
    tables = {"duration": "50ms", "topology": {"kind": "star", "hosts": 5, "rate": "1Gbps"}, **tables}
    return sh.run(sh.Scenario(**tables)).summary["warnings"]


def test_a_run_that_ends_before_its_warm_up_says_so():
    said = warnings(duration="until-done", warmup="1s", cc="dctcp", traffic=[{"kind": "incast"}])
    assert len(said) == 1
    assert "before its warm-up of 1 s was over" in said[0]
    assert warnings(duration="until-done", cc="dctcp", traffic=[{"kind": "incast"}]) == []


def test_a_run_that_a_dead_link_ended_says_so():
    """The link goes down while 100 KB, 0.8 ms at 1 Gbps, are sent."""
    pair = {"kind": "dumbbell", "hosts": 1, "rate": "1Gbps"}
    rows = {"kind": "trace", "flows": [[0, "h0", "h1", 100_000]]}
    down = {"link": "s0<->s1", "kind": "down", "at": "400us"}
    tables = {"duration": "until-done", "topology": pair, "cc": "reno", "traffic": [rows]}
    (said,) = only("the run ended at", **tables, faults=[down])
    assert "link s0->s1, on the path of flow 0, is down" in said
    assert not only("the run ended at", **tables, faults=[down, {**down, "kind": "up", "at": "900us"}])


@pytest.mark.parametrize(("most", "warned"), [(50, True), (52, False)])
def test_samples_that_stop_at_a_limit_of_rows_say_so(most, warned, monkeypatch):
    """A sample each millisecond from 0 to 50 ms: 51 rows of one queue."""
    monkeypatch.setattr(measurement, "MOST_ROWS", most)
    recorded = {"record": {"queues": "1ms"}, "topology": {"kind": "dumbbell", "hosts": 1, "rate": "1Gbps"}}
    said = only("record.queues stopped at", cc="reno", traffic=[{"kind": "long-lived"}], **recorded)
    assert len(said) == warned


def test_flows_that_never_began_are_not_passed_over():
    """The flows of a staircase begin 10 ms apart: the first six within 50 ms, the one at its end too."""
    stairs = [{"kind": "staircase", "flows": 8, "interval": "10ms"}]
    settings = {"cc": "fixed", "topology": {"kind": "dumbbell", "hosts": 8, "rate": "1Gbps"}}
    said = warnings(duration="45ms", traffic=stairs, **settings)
    assert said == [
        "3 of 8 flows without an end had not begun when the run ended at 45 ms, and count as cut off"
    ]
    assert warnings(duration="150ms", traffic=stairs, **settings) == []


def test_a_span_of_a_few_frames_is_coarse():
    """At 1 Gbps a frame takes 12 us: 99 in 1.19 ms, 101 in 1.22 ms."""
    settings = {"cc": "dctcp", "traffic": [{"kind": "long-lived"}], "warmup": "1ms"}
    said = warnings(duration="2190us", **settings)
    assert len(said) == 1
    assert "a host link carries 99 frames" in said[0]
    assert warnings(duration="2220us", **settings) == []


def test_windows_that_no_buffer_holds_are_sent_again_and_shared_unequally():
    """Nine windows of 50 packets, of which a port holds four: who is inside stays, the others repeat."""
    tables = {
        "topology": {"kind": "star", "rate": "1Gbps", "rtt": "4us"},
        "cc": {"name": "fixed", "window": 50},
        "traffic": [{"kind": "long-lived"}],
    }
    said = warnings(**tables, network={"buffer": "4pkt"})
    assert warnings(**tables, network={"buffer": "450pkt"}) == []
    assert len(said) == 2
    assert "this run measures the repair of losses" in said[0]
    assert "share unequally" in said[1]


def test_a_timeout_shorter_than_the_path_says_so():
    """Two links of 1 Gbps each way, 100 us long: 2 (12 + 100) us there, 2 (0.512 + 100) us back: 425 us."""
    settings = {"cc": "reno", "topology": {"kind": "star", "hosts": 5, "rate": "1Gbps", "rtt": "400us"}}
    times = {"rto_min": "50us", "rto_initial": "60us"}
    for rto_max, sent_again in (("425us", True), ("426us", False)):
        (said,) = warnings(traffic=[{"kind": "incast"}], hosts={**times, "rto_max": rto_max}, **settings)
        assert ("hosts.rto_max = 425us is over" in said and "425.024us after" in said) == sent_again
        # Four first windows of ten packets still take 480 us.
        assert ("timeouts, and 0 packets were lost" in said) == (not sent_again)
    credit = {**settings, "cc": "expresspass"}
    assert warnings(traffic=[{"kind": "incast"}], duration="20ms", **credit) == []


def test_packets_that_were_cut_are_not_losses():
    """Of an incast of 40 windows most packets are cut, and sent again: that is NDP."""
    star = {"kind": "star", "hosts": 41, "rate": "1Gbps"}
    settings = {"topology": star, "traffic": [{"kind": "incast", "size": "20KB"}], "duration": "until-done"}
    run = sh.run(sh.Scenario(cc="ndp", **settings))
    assert run.summary["flows"]["retransmits"] > 100
    assert run.summary["warnings"] == []


def test_a_link_that_slows_down_is_told_at_its_own_rate():
    """Full at 200 Mbps, it sends a fifth of the time; what never left its rate is not told."""
    faults = [{"link": "h4<->s0", "kind": "rate", "value": "200Mbps"}]
    settings = {"cc": "dctcp", "traffic": [{"kind": "long-lived", "from": 0, "to": 4}]}
    (said,) = warnings(faults=faults, **settings)
    assert said.startswith("h4->s0 and 1 more slowed down, to 200Mbps of 1Gbps: utilization")
    assert warnings(faults=[{**faults[0], "value": "1Gbps"}], **settings) == []


def test_runs_as_they_should_be_raise_none():
    short = {"duration": "100ms", "warmup": "20ms"}
    for name in ("dctcp-40", "dx-10", "hull-20", "small-flows"):
        assert sh.run(SCENARIOS / f"{name}.toml", overrides=short).summary["warnings"] == []


LINK = {
    "duration": "200ms",
    "warmup": "100ms",
    "topology": {"kind": "dumbbell", "hosts": 10, "rate": "10Gbps", "edge_rate": "40Gbps", "rtt": "200us"},
    "traffic": [{"kind": "long-lived", "flows": 10}],
}


def test_more_drops_than_halved_windows_cause():
    """167 packets are on their way and 250 wait: ten windows of 45 are 33 too many, and stay so.

    Halved at a loss, windows of 42 would have 3 / 42^2 of 83,000 packets dropped, 142; four times that is no
    warning yet.
    """
    said = warnings(**LINK, cc={"name": "fixed", "window": 45}, network={"buffer": "250pkt"})
    assert len(said) == 1
    assert "flows that halve their windows at a loss" in said[0]
    assert int(said[0].split("would have ")[1].split()[0]) == pytest.approx(142, rel=0.15)
    assert int(said[0].split()[0]) > 4 * 142


def test_flows_that_have_heard_nothing_have_halved_nothing():
    """400 packets at once into a buffer of 10, and the run ends before any answer: there is no window yet."""
    long = {"kind": "dumbbell", "hosts": 1, "rate": "1Gbps", "edge_rate": "40Gbps", "rtt": "100ms"}
    said = warnings(
        duration="40ms",
        topology=long,
        traffic=[{"kind": "long-lived"}],
        cc={"name": "reno"},
        network={"buffer": "10pkt"},
        hosts={"initial_window": "400pkt"},
    )
    assert not any("halve" in warning for warning in said)


@pytest.mark.parametrize(
    ("cc", "rate", "rtt", "flows"),
    [("reno", "7Gbps", "130us", 10), ("cubic", "3Gbps", "310us", 7), ("cdg", "23Gbps", "90us", 10)],
)
def test_drops_of_flows_that_answer_them_are_none(cc, rate, rtt, flows):
    topology = {**LINK["topology"], "hosts": flows, "rate": rate, "rtt": rtt}
    traffic = [{"kind": "long-lived", "flows": flows}]
    tables = {**LINK, "topology": topology, "traffic": traffic, "cc": cc}
    run = sh.run(sh.Scenario(**tables, network={"buffer": "130pkt"}))
    assert run.summary["network"]["dropped"] > 50
    assert run.summary["warnings"] == []


def dctcp(threshold, *, flows=9, rate="230Mbps", rtt="7ms", duration="4s"):
    """Warnings of DCTCP at 230 Mbps, which for 7 ms are 134 packets."""
    return warnings(
        duration=duration,
        warmup="1s",
        cc="dctcp",
        hosts={"rto": "internet"},
        topology={"kind": "dumbbell", "hosts": flows, "rate": rate, "edge_rate": "1Gbps", "rtt": rtt},
        network={"marking": {"kind": "step", "threshold": threshold}},
        traffic=[{"kind": "long-lived", "flows": flows, "jitter": "7ms"}],
    )


def test_a_threshold_below_a_seventh_of_the_pipe_leaves_the_link_idle():
    """Alizadeh et al., SIGCOMM 2010, eq. 13: K > C RTT / 7, here 134 / 7 = 19 packets."""
    (said,) = dctcp("3pkt")
    assert "s0->s1 was used to 9" in said
    assert "network.marking.threshold = 3pkt is below" in said
    assert "19pkt" in said
    assert dctcp("20pkt") == []


def test_windows_that_still_grow_are_not_what_they_will_be():
    """230 Mbps for 61 ms are 1169 packets: two flows that slow start has halved lack hundreds."""
    (said,) = dctcp("200pkt", flows=2, rtt="61ms", duration="2s")
    assert "they still grow, by a packet a round trip" in said
    assert "16 round trips" in said
    assert dctcp("200pkt", flows=2, rtt="6ms", duration="2s") == []


def test_timeouts_without_a_loss_took_what_waited_for_lost():
    """Ten first windows of ten packets at 10 Mbps, 1.2 ms each, are 120 ms; the first timeout is rto_min."""
    tables = {
        **LINK,
        "cc": "dctcp",
        "topology": {"kind": "dumbbell", "hosts": 10, "rate": "10Mbps", "rtt": "100us"},
    }
    said = warnings(**tables | {"duration": "3s", "warmup": "500ms"}, hosts={"rto_min": "1ms"})
    assert len(said) == 1
    assert "timeouts, and 0 packets were lost" in said[0]
    assert "hosts.rto_initial = 1ms" in said[0]
    for hosts in ({}, {"rto": "internet"}):
        assert warnings(**tables | {"duration": "3s", "warmup": "500ms"}, hosts=hosts) == []


def test_a_base_rtt_with_queueing_delay_says_so():
    """Thirty DX flows 50 us apart (docs/windows.md): cables, three frames and three acks are 203.8 us."""
    tables = {
        "duration": "100ms",
        "cc": "dx@ns-2",
        "topology": {"kind": "dumbbell", "hosts": 30, "rate": "10Gbps", "rtt": "200us"},
        "network": {"buffer": "100pkt"},
        "traffic": [{"kind": "long-lived", "flows": 30, "stagger": "50us"}],
        "record": {"probes": "10ms", "flows": "all"},
    }
    said = [line for line in warnings(**tables, seed=54) if "base RTT" in line]
    assert len(said) == 1
    assert "on an empty path of 203.8 us" in said[0]
    small = [line for line in warnings(**tables, hosts={"initial_window": "2pkt"}) if "base RTT" in line]
    assert small == []


def only(word, **tables):
    """The warnings with this word of a run."""
    return [text for text in warnings(**tables) if word in text]


SPURIOUS = {
    "duration": "1s",
    "topology": {"kind": "dumbbell", "hosts": 2, "rate": "1Gbps"},
    "cc": "reno",
    "network": {"buffer": "250pkt"},
    "hosts": {"rto_min": "1ms", "rto_initial": "1ms", "rto_max": "1ms", "gap": 0},
    "traffic": [{"kind": "long-lived"}],
}
"""A full buffer takes 3 ms, so a window that waits there is sent again after 1 ms, the longest timeout."""


def test_retransmissions_far_above_losses():
    (said,) = only("were sent again", **SPURIOUS)
    again, delivered, lost = (int(word) for word in said.replace(":", " ").split() if word.isdigit())
    assert again > 2 * lost + 100
    assert delivered == pytest.approx(1e9 / (1500 * 8), rel=0.05)
    assert "raise them to twice that" in said
    assert not only("were lost", **SPURIOUS | {"hosts": {"rto": "internet"}})
    assert not only("were lost", **SPURIOUS | {"network": {"buffer": "20pkt"}})


def test_go_back_n_repeats_what_follows_a_loss():
    """Windows of a buffer are discarded after each loss; with pauses nothing is lost."""
    incast = {
        "duration": "20ms",
        "topology": {"kind": "star", "hosts": 17, "rate": "400Gbps", "rtt": "8us"},
        "cc": "dcqcn",
        "traffic": [{"kind": "long-lived"}],
    }
    lossy = {"network": {"pfc": {"headroom": "10KB"}}}
    (said,) = only("sent again", **incast | lossy)
    assert "receivers of RoCE discard what follows a loss" in said
    assert not only("sent again", **incast | {"network": {"pfc": True}})


@pytest.mark.parametrize("cc", ["reno", "dcqcn"])
def test_packets_over_several_paths_are_taken_for_lost(cc):
    spray = {
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts_per_leaf": 4, "rate": "10Gbps"},
        "cc": cc,
        "traffic": [{"kind": "long-lived"}],
        "duration": "20ms",
    }
    (said,) = only("sent again", **spray | {"network": {"balancing": "packet"}})
    assert "and 0 were lost: packets took several paths, and hosts took reordered ones for lost" in said
    assert not only("reordered", **spray)


@pytest.mark.parametrize("at", ["20ms", "41ms"])
def test_packets_lost_in_the_warm_up_explain_timeouts(at):
    """A link that is down from 20 to 25 ms loses packets before the warm-up ends at 40 ms."""
    faults = [
        {"link": "s0<->s1", "kind": "down", "at": at},
        {"link": "s0<->s1", "kind": "up", "at": f"{int(at[:2]) + 5}ms"},
    ]
    run = sh.run(
        sh.Scenario(
            duration="60ms",
            warmup="40ms",
            topology={"kind": "dumbbell", "hosts": 4},
            cc="dctcp",
            faults=faults,
            traffic=[{"kind": "long-lived"}],
        )
    )
    assert run.summary["flows"]["timeouts"] > 0
    assert not [text for text in run.summary["warnings"] if "timeouts" in text]


def test_an_algorithm_whose_packets_nothing_trims_repairs_losses():
    """Sixty-four senders of 500 KB at 400 Gbps need 0.66 ms; dropped packets wait for timeouts of 10 ms."""
    star = {"kind": "star", "hosts": 65, "rate": "400Gbps", "rtt": "8us"}
    tables = {
        "duration": "until-done",
        "topology": star,
        "cc": "ndp",
        "traffic": [{"kind": "incast", "size": "500KB"}],
    }
    said = warnings(**tables, network={"shared": {"size": "4MB"}})
    assert len(said) == 3
    assert "ndp needs ports that trim packets" in said[0]
    assert "the repair of losses" in said[1]
    assert "most of their time in timeouts of hosts.rto_initial = 10ms" in said[2]
    assert warnings(**tables) == []


@pytest.mark.parametrize(
    ("cc", "warned"), [("timely", True), ({"name": "timely", "keep": 0.5, "hai": 5}, False), ("dcqcn", False)]
)
def test_flows_that_are_slow_beside_free_links(cc, warned):
    """TIMELY's gradient cuts rates to the least one, and 1000 steps lead back (CoNEXT 2016 section 4.2)."""
    run = sh.run(SCENARIOS / "roce-fabric.toml", overrides={"cc": cc, "traffic.0.flows": 400})
    found = [text for text in run.summary["warnings"] if "while no link of their path" in text]
    assert len(found) == warned
    if warned:
        assert "cc.min_rate = 25Mbps, and it returns by cc.delta = 25Mbps an update, 1000 updates" in found[0]
        assert int(found[0].split()[1]) <= (run.flows.slowdown > 10).sum()


def test_flows_that_share_a_full_link_are_not_slow_beside_it():
    """Twenty senders at a time are twenty times slower than one; between incasts the link is idle."""
    incast = {"kind": "incast", "size": "100KB", "times": 5, "period": "10ms"}
    star = {"kind": "star", "hosts": 21, "rate": "10Gbps", "rtt": "20us"}
    made = sh.Scenario(
        duration="until-done", topology=star, cc="dcqcn", network={"pfc": True}, traffic=[incast]
    )
    run = sh.run(made)
    assert (run.flows.slowdown > 10).mean() > 0.9
    assert not [text for text in run.summary["warnings"] if "while no link" in text]


def test_a_burst_of_drops_in_a_short_run_is_no_flow_without_control():
    """Windows are 69 packets, and four flows may lose 276 at once; 5 are due in half a second."""
    leaves = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2, "rate": "100Mbps"}
    flows = {"kind": "long-lived", "flows": 4, "from": [0, 1], "to": 3}
    run = sh.run(sh.Scenario(duration="960ms", warmup="480ms", topology=leaves, cc="reno", traffic=[flows]))
    assert run.summary["bottleneck"]["dropped"] >= 100
    assert run.summary["warnings"] == []
