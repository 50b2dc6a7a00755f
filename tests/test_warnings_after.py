"""Warnings that depend on what happened in a run."""

import pytest

import shallows as sh
from shallows.errors import ScenarioError


def only(word, **tables):
    """The warnings with this word of a run."""
    return [text for text in sh.run(sh.Scenario(**tables)).summary["warnings"] if word in text]


LOSSY = {
    "duration": "until-done",
    "cc": "dcqcn",
    "topology": {"kind": "star", "hosts": 4, "rate": "100Gbps", "rtt": "4us"},
    "network": {"pfc": True},
    "traffic": [{"kind": "all-to-all", "size": "400KB", "name": "train"}],
    "faults": [{"link": "h1->s0", "kind": "loss", "value": 0.3}],
}
"""Messages of 8 us, and a link that loses a third of all frames: a lost last one waits for 10 ms."""


def test_timeouts_that_are_most_of_a_completion_time_are_named():
    """A timeout is 10 ms or more. A flow of less has none, though its sender may wait for the last answer."""
    run = sh.run(sh.Scenario(**LOSSY))
    (said,) = [text for text in run.summary["warnings"] if "timeouts of" in text]
    took_us = run.summary["collectives"][0]["completion_us"]
    share = run.flows.timeout_wait_us.max() / took_us
    slow = run.flows.fct_us > 10_000
    assert run.flows.timeouts[~slow].any()
    assert not run.flows.timeout_wait_us[~slow].any()
    assert (run.flows.timeout_wait_us[slow] >= 10_000).all()
    assert (run.flows.timeout_wait_us <= run.flows.fct_us).all()
    assert said.startswith(
        f"train: timeouts of hosts.rto_initial = 10ms or more are at least {share:.0%} of its time"
    )
    assert f"{run.flows.timeouts.sum()} in all" in said
    assert 0.5 < share <= 1
    assert not only("timeouts of", **{key: value for key, value in LOSSY.items() if key != "faults"})


def test_flows_without_an_end_that_mostly_wait_for_timeouts_are_named():
    """Ten timeouts of 10 ms are most of 120 ms; the link is idle meanwhile, so that no share is unfair."""
    tables = {
        "duration": "120ms",
        "warmup": "20ms",
        "cc": "patched-timely",
        "topology": {"kind": "dumbbell", "hosts": 2, "rate": "25Gbps", "edge_rate": "50Gbps", "rtt": "40us"},
        "network": {"buffer": "200pkt"},
        "hosts": {"retransmission": "selective"},
        "traffic": [{"kind": "long-lived", "flows": 2, "stagger": "2ms"}],
    }
    run = sh.run(sh.Scenario(**tables))
    (said,) = [text for text in run.summary["warnings"] if "timeouts of" in text]
    assert said.startswith("2 of 2 flows spent most of their time in timeouts of hosts.rto_initial = 10ms")
    assert (run.flows.timeout_wait_us >= 60_000).all()
    assert run.summary["bottleneck"]["utilization"] < 0.5
    assert not only("timeouts of", **tables | {"network": {"pfc": True}})


def test_drops_that_nobody_sends_again_are_a_warning():
    """TIMELY is not ECN-capable: a step of 10 packets drops its packets beyond."""
    marks = {
        "duration": "10ms",
        "warmup": "2ms",
        "topology": {"kind": "dumbbell", "hosts": 4, "rate": "25Gbps", "rtt": "40us"},
        "cc": "timely",
        "hosts": {"gap": 0},
        "traffic": [{"kind": "long-lived", "flows": 4}],
    }
    made = {**marks, "network": {"marking": {"kind": "step", "threshold": "10pkt"}}}
    (said,) = only("were dropped beside", **made)
    assert "not ECN-capable" in said
    run = sh.run(sh.Scenario(**made)).summary["network"]
    assert int(said.split()[0]) == run["dropped"] + run["dropped_in_warmup"]
    assert not only("were dropped beside", **marks)


def test_a_shuffle_whose_packets_are_trimmed_is_a_warning():
    """All hosts send to host 0 first, then to 1: with a rotated order hardly a packet is trimmed."""
    tables = {"duration": "until-done", "cc": "ndp"}
    star = {"kind": "star", "hosts": 32, "rate": "100Gbps", "rtt": "4us"}
    shuffle = [{"kind": "shuffle", "size": "125KB", "jitter": "0s"}]
    (said,) = only("trimmed", **tables, topology=star, traffic=shuffle)
    assert "this run measures the repair of losses" in said
    assert not only("trimmed", **tables, topology=star, traffic=[{"kind": "all-to-all", "size": "4MB"}])


def test_short_headroom_is_a_possibility_before_and_a_count_after_a_run():
    made = {
        "duration": "until-done",
        "topology": {"kind": "star", "hosts": 17, "rate": "400Gbps", "rtt": "8us"},
        "cc": "dcqcn",
        "network": {"pfc": {"headroom": "10KB"}},
    }
    calm = sh.Scenario(**made, traffic=[{"kind": "incast", "senders": 1, "size": "10KB"}])
    (said,) = calm.warnings
    assert "packets can be dropped in spite of pauses" in said
    assert sh.run(calm).summary["warnings"] == [said]
    burst = sh.run(sh.Scenario(**made | {"duration": "20ms"}, traffic=[{"kind": "long-lived"}])).summary
    (said,) = [text for text in burst["warnings"] if "were dropped in spite of pauses" in text]
    assert int(said.split()[0]) == burst["network"]["dropped"] + burst["network"]["dropped_in_warmup"] > 0


def test_one_path_is_not_called_several():
    """A link that loses packets in a dumbbell, and timeouts that are too short."""
    said = only(
        "sent again",
        duration="4s",
        topology={"kind": "dumbbell", "hosts": 1, "rate": "1Gbps", "rtt": "20ms"},
        cc="reno",
        network={"buffer": "unlimited"},
        hosts={"rto_min": "1ms"},
        traffic=[{"kind": "long-lived", "flows": 1}],
        faults=[{"link": "s0->s1", "kind": "loss", "value": 0.0025}],
    )
    assert said
    assert not any("several paths" in text for text in said)


@pytest.mark.parametrize(("edge", "warned"), [("25Gbps", True), ("50Gbps", False)])
def test_flows_that_a_full_queue_locks_out(edge, warned):
    """One flow has all of the link, and a fair share is a quarter of 25 Gbps less headers."""
    said = only(
        "fair share",
        duration="40ms",
        warmup="20ms",
        topology={"kind": "dumbbell", "hosts": 4, "rate": "25Gbps", "rtt": "40us", "edge_rate": edge},
        cc="swift-roce",
        network={"buffer": "20pkt"},
        hosts={"gap": 0},
        traffic=[{"kind": "long-lived", "flows": 4, "stagger": "2ms"}],
    )
    assert len(said) == warned
    for text in said:
        assert text.startswith("3 of 4 flows without an end")
        assert "of 6.08 Gbit/s at s0->s1" in text


LONG = {"kind": "long-lived", "flows": 4, "from": ["h0", "h1"], "to": "h7"}
LOT = {"kind": "parking-lot", "rate": "100Gbps", "rtt": "20us"}
"""h0 is behind four switches, h1 behind the last: both send to h7, at the rate of all links."""


def starved_and_remedied(remedy, **tables):
    """The warning of a run, which is gone with a remedy."""
    (said,) = only("less than a tenth of their fair share", **tables)
    assert not only("less than a tenth", **tables | remedy)
    return said


def test_loss_based_flows_over_several_hops_are_locked_out_of_a_full_queue():
    """RFC 7567, section 2: random or early drops end what a full queue causes, and other starts do not."""
    codel = {"network": {"mtu": "9000B", "marking": {"kind": "codel", "ecn": False}}}
    tables = {"duration": "64ms", "warmup": "32ms", "cc": "cubic", "network": {"mtu": "9000B"}}
    lot = {**LOT, "rate": "1600Gbps"}
    said = starved_and_remedied(codel, **tables, topology=lot, traffic=[LONG])
    assert 'write network.marking = { kind = "codel", ecn = false }' in said
    assert said.startswith("2 of 4 flows")  # those of h0
    early = {**tables, "network": {"mtu": "9000B", "marking": {"kind": "red", "ecn": False, "pmax": 0.02,
             "kmin": "10pkt", "kmax": "40pkt"}}}  # fmt: skip
    assert not only("less than a tenth", **early, topology=lot, traffic=[LONG])


def test_a_full_queue_of_credits_locks_out_credits_that_come_between():
    """docs/credits.md: half of the credits of another flow are dropped, and a tenth is what flows aim at."""
    tables = {
        "duration": "16ms",
        "warmup": "8ms",
        "topology": {"kind": "star", "hosts": 3, "rate": "400Gbps", "rtt": "20us"},
        "traffic": [{"kind": "long-lived", "flows": 4, "from": [0, 1], "to": 2}],
    }
    remedy = {"cc": {"name": "expresspass", "jitter": 1}}
    said = starved_and_remedied(remedy, **tables, cc="expresspass")
    assert said.endswith("write cc.jitter = 1")


def test_equal_targets_leave_longer_paths_less_queue():
    """Four links each way are 20 us, two are 10: three switches more, of 3.33 us each and frames of 30 ns."""
    tables = {"duration": "16ms", "warmup": "8ms", "traffic": [LONG]}
    lot = {**LOT, "rate": "400Gbps"}
    remedy = {"cc": {"name": "swift", "per_hop": "3.33us"}}
    said = starved_and_remedied(remedy, **tables, topology=lot, cc="swift")
    written = said.split('cc.per_hop = "')[1].split('"')[0]
    assert 3.33 <= float(written.removesuffix("us")) <= 3.4


def test_shares_on_their_way_have_not_settled():
    """DX adds a packet a round trip of 10 or 20 us, and a share of 195 Gbit/s is 163 to 325 packets."""
    lot = {**LOT, "rate": "800Gbps"}
    tables = {"topology": lot, "cc": "dx", "traffic": [LONG]}
    said = starved_and_remedied(
        {"duration": "64ms", "warmup": "32ms"}, duration="16ms", warmup="8ms", **tables
    )
    assert "shares have not settled: at this pace they need about" in said
    assert "full queue" not in said


def phase(near, far, seed=1, **network):
    """(ratio of goodputs, warnings of flows in step) of two DCTCP flows over one queue of 10 Gbps."""
    edges = [("a", "s", near), ("b", "s", far), ("s", "t", "1us"), ("t", "c", near), ("t", "d", far)]
    run = sh.run(
        sh.Scenario(
            duration="200ms",
            warmup="50ms",
            seed=seed,
            cc="dctcp",
            network=network,
            topology={
                "kind": "graph",
                "hosts": ["a", "b", "c", "d"],
                "edges": [[one, other, "10Gbps", delay] for one, other, delay in edges],
            },
            traffic=[{"kind": "long-lived", "flows": 2, "from": ["a", "b"], "to": ["c", "d"]}],
        )
    )
    first, second = run.flows.goodput_gbps
    return first / second, [text for text in run.summary["warnings"] if "in step" in text]


@pytest.mark.parametrize(
    ("near", "far", "warned"), [("24.5us", "99.5us", True), ("24.25us", "99.75us", False)]
)
def test_flows_that_share_beyond_the_square_of_their_round_trips_are_in_step(near, far, warned):
    """Queues of 65 to 100 packets of 1.2 us on 100 and 400 us: the square of some 2.7 is 7.3."""
    ratio, said = phase(near, far)
    assert (ratio > 1.5 * 7.3) == warned == len(said)
    assert ratio > 2.7  # the inverse of the round trips
    for text in said:
        assert float(text.split("beyond ")[1].split(",")[0]) == pytest.approx(7.3, rel=0.05)


def test_delays_that_the_seed_draws_show_what_the_phase_does():
    """Shares of 100 and 400 us are 15 to 19, those of 99 and 401 us 6: drawn delays contain both kinds."""
    ratios, said = zip(
        *(phase("24.5us", "99.5us", seed, delay_spread=0.01) for seed in range(1, 6)), strict=True
    )
    assert min(ratios) < 7.3 < 11 < max(ratios)
    assert not any(said)


def test_flows_over_several_queues_are_not_in_step():
    """A DCTCP flow over three full queues is marked in each: it has less without any phase."""
    tables = {
        "duration": "60ms",
        "warmup": "20ms",
        "topology": {"kind": "parking-lot", "rate": "10Gbps", "rtt": "100us"},
        "cc": "dctcp",
        "traffic": [{"kind": "long-lived"}],
    }
    run = sh.run(sh.Scenario(**tables))
    rates, times = run.flows.goodput_gbps, run.flows.srtt_mean_us
    assert rates.max() / rates.min() > 1.5 * (times.max() / times.min()) ** 2
    assert not [text for text in run.summary["warnings"] if "in step" in text]


@pytest.mark.parametrize(
    ("cc", "flows", "buffer", "edge"),
    [("timely", 2, 60, "50Gbps"), ("timely", 4, 60, "25Gbps"), ("patched-timely", 2, 200, "25Gbps"),
     ("patched-timely", 4, 20, "50Gbps")],
)  # fmt: skip
def test_roce_that_measures_no_round_trip_while_it_repeats_is_a_warning(cc, flows, buffer, edge):
    """Go-back-N acknowledges nothing while frames repeat: rates stay as at the start."""
    tables = {
        "duration": "50ms",
        "warmup": "20ms",
        "cc": cc,
        "topology": {"kind": "dumbbell", "hosts": flows, "rate": "25Gbps", "rtt": "40us", "edge_rate": edge},
        "traffic": [{"kind": "long-lived", "flows": flows, "stagger": "2ms"}],
    }
    for seed in (1, 2):
        run = sh.run(sh.Scenario(**tables, seed=seed, network={"buffer": f"{buffer}pkt"}))
        least = run.flows.goodput_gbps.min()
        assert least < 0.1 * 25 * 1460 / 1500 / flows
        assert any("full queue" in text or "repair of losses" in text for text in run.summary["warnings"])
    paused = sh.run(sh.Scenario(**tables | {"cc": "patched-timely"}, network={"pfc": True}))
    assert paused.flows.goodput_gbps.min() > 0.1 * 25 * 1460 / 1500 / flows


def test_computations_alone_are_explained():
    tasks = [{"kind": "tasks", "tasks": [{"name": "a", "host": "h0", "compute": "1ms"}]}]
    with pytest.raises(ScenarioError, match="one message or more: computations alone send nothing"):
        sh.Scenario(duration="until-done", topology={"kind": "star", "hosts": 3}, cc="dctcp", traffic=tasks)


TRANSPORTS = {"dctcp": "rto_min", "swift-roce": "rto_initial", "rcp": "rto_min", "expresspass": "rto_initial"}
TRANSPORTS |= dict.fromkeys(("ndp", "rccc", "nscc", "timely"), "rto_initial")


@pytest.mark.parametrize("cc", TRANSPORTS)
def test_flows_in_timeouts_warn_over_every_transport(cc):
    """A link that drops all for 25 ms costs a flow of .1 ms two timeouts, of 10 and 20 ms.

    Requests of credits are repeated after 10 ms each time, three times. Of packets with timers of their own
    those count that left first and last, less than .1 ms apart. TIMELY is over IRN.
    """
    run = sh.run(
        sh.Scenario(
            duration="until-done", cc=cc,
            topology={"kind": "star", "hosts": 2, "rate": "100Gbps", "rtt": "8us"},
            hosts={"rto_initial": "10ms"}
            | ({"rto_min": "10ms"} if TRANSPORTS[cc] == "rto_min" else {})
            | ({"retransmission": "selective"} if cc == "timely" else {}),
            faults=[{"link": "h0->s0", "kind": "silent-drop", "at": "20us", "until": "25ms"}],
            traffic=[{"kind": "trace", "flows": [[0, "h0", "h1", 1_000_000]]}],
        )
    )  # fmt: skip
    assert run.flows.timeouts[0] == (3 if cc == "expresspass" else 2)
    assert 30_000 <= run.flows.timeout_wait_us[0] < 30_100
    assert 30_000 < run.flows.fct_us[0] < 30_500
    said = f"1 of 1 flows spent most of their time in timeouts of hosts.{TRANSPORTS[cc]} = 10ms or more"
    assert any(said in warning for warning in run.summary["warnings"]), run.summary["warnings"]


STRICT = [{"name": "high"}, {"name": "low"}]
TWO = [
    {"kind": "long-lived", "from": ["h0", "h1"], "to": "h3"},
    {"kind": "long-lived", "from": ["h2"], "to": "h3"},
]


@pytest.mark.parametrize("weight", [None, 3])
def test_a_flow_with_an_end_that_starves_below_strict_priority_is_named(weight):
    """A weight orders neighbours that have one too: a class without comes after it all the same."""
    first = {"name": "high"} | ({"weight": weight} if weight else {})
    tables = [{"kind": "long-lived", "from": ["h0"], "to": "h2", "class": "high"}]
    tables += [{"kind": "trace", "flows": [[1e-4, "h1", "h2", 1_000_000]], "class": "low"}]
    star = {"kind": "star", "hosts": 3, "rate": "10Gbps", "rtt": "8us"}
    run = sh.run(
        sh.Scenario(
            duration="5ms", cc="dctcp", topology=star, classes=[first, {"name": "low"}], traffic=tables
        )
    )
    said = [warning for warning in run.summary["warnings"] if "below strict priority" in warning]
    assert len(said) == 1
    assert said[0].startswith("1 of 2 flows that have not ended")
    assert "flow 1 of class low" in said[0]


@pytest.mark.parametrize("cc", ["cubic", "nscc", "dctcp"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_class_that_starves_below_strict_priority_is_named(cc, weighted):
    """Two flows of the first class fill 10 Gbps, and the second has nothing, unless classes have weights."""
    classes = [one | ({"weight": 50} if weighted else {}) for one in STRICT]
    tables = [table | {"class": one["name"]} for table, one in zip(TWO, STRICT, strict=True)]
    star = {"kind": "star", "hosts": 4, "rate": "10Gbps", "rtt": "8us"}
    run = sh.run(sh.Scenario(duration="5ms", cc=cc, topology=star, classes=classes, traffic=tables))
    said = [warning for warning in run.summary["warnings"] if "below strict priority" in warning]
    assert len(said) == (not weighted)
    if said:
        assert "flow 2 of class low" in said[0]
        assert "write classes[0].weight" in said[0]
        assert not any("raise" in warning for warning in run.summary["warnings"])
