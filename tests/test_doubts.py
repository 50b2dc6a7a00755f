"""What a run did and hardly meant is said, and nothing is said of a run that is as it should be."""

from pathlib import Path

import shallows as sh

SCENARIOS = Path(__file__).parent.parent / "scenarios"


def doubts(**tables):
    tables = {"duration": "50ms", "topology": {"kind": "star", "hosts": 5, "rate": "1Gbps"}, **tables}
    return sh.run(sh.Scenario(**tables)).summary["doubts"]


def test_a_run_that_ends_before_its_warm_up_says_so():
    said = doubts(duration="until-done", warmup="1s", cc="dctcp", traffic=[{"kind": "incast"}])
    assert len(said) == 1
    assert "before its warm-up of 1s was over" in said[0]


def test_a_span_of_a_few_frames_is_coarse():
    """At 1 Gbps a frame takes 12 us: 99 in 1.19 ms, 101 in 1.22 ms."""
    settings = {"cc": "dctcp", "traffic": [{"kind": "long-lived"}], "warmup": "1ms"}
    said = doubts(duration="2190us", **settings)
    assert len(said) == 1
    assert "a host's link carries 99 frames" in said[0]
    assert doubts(duration="2220us", **settings) == []


def test_windows_that_no_buffer_holds_are_sent_again_and_shared_unequally():
    """Nine windows of 50 packets, of which a port holds four: who is inside stays, the others repeat."""
    said = doubts(
        topology={"kind": "star", "rate": "1Gbps", "rtt": "4us"},
        cc={"name": "fixed", "window": 50},
        network={"buffer": "4pkt"},
        traffic=[{"kind": "long-lived"}],
    )
    assert len(said) == 2
    assert "of the data packets were sent again" in said[0]
    assert "share unequally" in said[1]


def test_a_timeout_shorter_than_the_path_says_so():
    """Two links of 1 Gbps each way, 100 us long: 2 (12 + 100) us there, 2 (0.512 + 100) us back: 425 us."""
    settings = {"cc": "reno", "topology": {"kind": "star", "hosts": 5, "rate": "1Gbps", "rtt": "400us"}}
    times = {"rto_min": "50us", "rto_initial": "60us"}
    for rto_max, sent_again in (("425us", True), ("426us", False)):
        said = doubts(traffic=[{"kind": "incast"}], hosts={**times, "rto_max": rto_max}, **settings)
        assert len(said) == sent_again
        assert all("hosts.rto_max = 425us is over" in it and "425024ns after" in it for it in said)
    credit = {**settings, "cc": "expresspass"}
    assert doubts(traffic=[{"kind": "incast"}], duration="20ms", **credit) == []


def test_runs_as_they_should_be_raise_none():
    short = {"duration": "100ms", "warmup": "20ms"}
    for name in ("dctcp-40", "dx-10", "hull-20", "small-flows"):
        assert sh.run(SCENARIOS / f"{name}.toml", overrides=short).summary["doubts"] == []
