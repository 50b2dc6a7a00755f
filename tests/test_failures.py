"""Failures in operators' terms, and what a result says of them. Expected numbers are worked by hand."""

import re

import pytest
from typer.testing import CliRunner

import shallows as sh
from shallows import cli

GBPS = 10 * 1460 / 1500
"""Payload per time on a link of 10 Gbit/s with frames of 1500 B."""
FABRIC = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2, "rate": "10Gbps"}
ACROSS = [{"kind": "long-lived", "flows": 8, "from": ["h0", "h1"], "to": ["h2", "h3"]}]


def fabric(*faults, **tables):
    given = {
        "duration": "4ms",
        "topology": FABRIC,
        "cc": "dctcp",
        "traffic": ACROSS,
        "hosts": {"rto_initial": "1ms"},
    }
    return sh.Scenario(**{**given, **tables}, faults=list(faults))


def star(*faults, size="10MB", **tables):
    """Two transfers that share no link: h0 to h1, and h2 to h3."""
    rows = {"start_s": [0, 0], "src": ["h0", "h2"], "dst": ["h1", "h3"], "bytes": [10_000_000] * 2}
    given = {
        "duration": "until-done",
        "topology": {"kind": "star", "hosts": 4, "rate": "10Gbps", "rtt": "10us"},
        "cc": "dctcp",
        "traffic": [{"kind": "trace", "flows": rows}],
    }
    return sh.Scenario(**{**given, **tables}, faults=list(faults))


def run(scenario):
    return sh.run(scenario).check_books()


def same(*scenarios):
    return len({run(one).summary["fingerprint"] for one in scenarios}) == 1


def lost(result):
    ports = result.ports
    return dict(zip(ports.port[ports.lost > 0], ports.lost[ports.lost > 0], strict=True))


SPINE = ["leaf0<->spine0", "leaf1<->spine0"]


def test_a_fault_of_a_node_is_one_of_all_its_links():
    node = fabric({"node": "spine0", "kind": "down", "at": "1ms"})
    assert same(node, fabric(*({"link": link, "kind": "down", "at": "1ms"} for link in SPINE)))
    assert set(lost(run(node))) <= {"leaf0->spine0", "spine0->leaf0", "leaf1->spine0", "spine0->leaf1"}


def test_a_pattern_of_nodes_means_all_of_them():
    both = fabric({"node": "spine*", "kind": "slow", "value": 0.5, "at": "1ms"})
    each = [{"node": f"spine{n}", "kind": "slow", "value": 0.5, "at": "1ms"} for n in range(2)]
    assert same(both, fabric(*each))


def test_until_repairs_what_the_fault_changed():
    for kind, value, repair in (
        ("down", None, {"kind": "up"}),
        ("rate", "1Gbps", {"kind": "rate", "value": "10Gbps"}),
        ("loss", 0.01, {"kind": "loss", "value": 0}),
    ):
        link = {"link": "leaf0<->spine0"}
        begin = {**link, "kind": kind, "at": "1ms", **({"value": value} if value else {})}
        short = fabric({**begin, "until": "2ms"})
        assert same(short, fabric(begin, {**link, **repair, "at": "2ms"}))
        assert not same(short, fabric(begin)), kind


def test_a_flap_goes_down_for_its_duty_of_each_period():
    """Of a period of 1 ms a quarter: down from 1, 2 and 3 ms on, for 250 us."""
    link = {"link": "leaf0<->spine0"}
    times = [(kind, f"{ms}.{part}ms") for ms in (1, 2, 3) for kind, part in (("down", "0"), ("up", "25"))]
    by_hand = fabric(*({**link, "kind": kind, "at": at} for kind, at in times))
    flap = {**link, "kind": "flap", "at": "1ms", "period": "1ms", "duty": 0.25}
    assert same(fabric(flap), by_hand)
    assert same(
        fabric(flap | {"until": "2.1ms"}),
        fabric(
            *(
                {**link, "kind": k, "at": a}
                for k, a in (("down", "1ms"), ("up", "1.25ms"), ("down", "2ms"), ("up", "2.1ms"))
            )
        ),
    )


def test_drained_links_lose_nothing_and_carry_nothing():
    """Without a convergence time: an operator's routes change at once."""
    drained = run(fabric({"node": "spine0", "kind": "drain", "at": "1ms"}))
    before = run(fabric(duration="1ms")).ports.set_index("port").sent
    ports = drained.ports.set_index("port")
    assert drained.summary["network"]["lost"] == ports.dropped.sum() == 0
    # Packets on the new path overtake those that wait on the old one, so some are sent again.
    assert drained.summary["flows"]["timeouts"] == 0
    assert before["leaf0->spine0"] > 100
    # What was queued or under way: a window of each of eight flows of at most 100 packets.
    assert before["leaf0->spine0"] <= ports.sent["leaf0->spine0"] < before["leaf0->spine0"] + 800
    assert ports.sent["leaf0->spine1"] > 2 * before["leaf0->spine1"]


@pytest.mark.parametrize(("balancing", "returns"), [("packet", True), ("flowlet", False)])
def test_switches_that_choose_for_each_packet_leave_drained_links_until_they_are_back(balancing, returns):
    """A flowlet that never pauses stays on its new path."""
    cc = {"cc": "ndp"} if balancing == "packet" else {}
    drain = {"node": "spine0", "kind": "drain", "at": "1ms", "until": "3ms"}
    network = {"network": {"balancing": balancing}}
    ports = [run(fabric(drain, duration=end, **network, **cc)).ports for end in ("1.5ms", "3ms", "4ms")]
    sent = [int(of.sent[of.port == "leaf0->spine0"].iloc[0]) for of in ports]
    assert sent[0] == sent[1]
    assert (sent[2] > sent[1]) == returns
    assert all(of.lost.sum() == 0 for of in ports)


def test_a_slow_host_has_a_share_of_its_rate():
    """A transfer at a quarter of the rate takes four times as long; the other is as fast as ever."""
    slow = run(star({"node": "h0", "kind": "slow", "value": 0.25}))
    assert same(
        star({"node": "h0", "kind": "slow", "value": 0.25}),
        star({"link": "h0<->s0", "kind": "rate", "value": "2.5Gbps"}),
    )
    (row,) = slow.summary["faults"]
    assert row["affected"] == 1
    assert row["inflation_p50"] == pytest.approx(4, rel=0.02)
    assert row["recovery_us"] is None  # there is no time before it
    assert row["stranded"] == 0


def test_bit_errors_lose_long_frames_more_often():
    """10 MB are 6850 frames of 1500 B. At 1e-6 one of them is lost with 1 - (1 - 1e-6)^12000 = 1.193 %: 81.7,
    within five deviations of 9; acknowledgements of 64 B with 0.0512 %: 3.5, of at most 16.
    """
    result = run(star({"link": "h0<->s0", "kind": "bit-errors", "value": 1e-6}, hosts={"rto_min": "1ms"}))
    found, sent = lost(result), result.ports.set_index("port").sent
    assert set(found) <= {"h0->s0", "s0->h0"}
    expected = 0.011928 * sent["h0->s0"]
    assert abs(found["h0->s0"] - expected) < 5 * expected**0.5
    assert found.get("s0->h0", 0) <= 16


def test_routes_do_not_learn_of_a_silent_drop():
    """One of two paths loses everything: flows on it are stranded, in spite of a convergence time."""
    rows = {"start_s": [0] * 8, "src": ["h0", "h1"] * 4, "dst": ["h2", "h3"] * 4, "bytes": [1_000_000] * 8}
    tables = {
        "duration": "until-done",
        "traffic": [{"kind": "trace", "flows": rows}],
        "network": {"convergence": "1us"},
        "hosts": {"rto_min": "100us", "rto_max": "1ms", "rto_initial": "100us"},
    }
    result = run(fabric({"link": "leaf0->spine0", "kind": "silent-drop"}, **tables))
    through = run(fabric(**tables)).ports.set_index("port").sent
    assert 0 < through["leaf0->spine0"] < through.sum()
    (row,) = result.summary["faults"]
    unfinished = result.flows.flow[result.flows.fct_us.isna()].tolist()
    assert 0 < len(unfinished) < 8
    assert row["stranded"] == row["affected"] == len(unfinished)
    assert row["stranded_flows"] == [f"{n} (h{n % 2}->h{2 + n % 2})" for n in unfinished]
    assert row["stranded_because"] == "the fault lasts"
    assert lost(result).keys() == {"leaf0->spine0"}
    assert any("loses all packets" in warning for warning in result.summary["warnings"])
    half = run(
        fabric({"link": "leaf0->spine0", "kind": "silent-drop", "value": 0.5, "until": "1ms"}, **tables)
    )
    assert half.summary["faults"][0]["stranded"] == 0


def test_recovery_is_the_time_until_goodput_is_back():
    """The cable is down from 10 to 12 ms, and timers are 1 ms: goodput is nothing until 12 ms, and whole
    again at most a doubled timeout and some round trips of slow start later.
    """
    scenario = star(
        {"link": "h0<->s0", "kind": "down", "at": "10ms", "until": "12ms"},
        duration="40ms",
        traffic=[{"kind": "long-lived", "flows": 2, "from": ["h0", "h2"], "to": ["h1", "h3"]}],
        hosts={"rto_min": "1ms", "rto_initial": "1ms"},
    )
    result = run(scenario)
    (row,) = result.summary["faults"]
    assert row["affected"] == 1
    assert row["before_gbps"] == pytest.approx(GBPS, rel=0.01)
    assert row["after_gbps"] == pytest.approx(GBPS, rel=0.02)
    assert row["lowest_gbps"] == 0
    assert 2000 < row["recovery_us"] < 4500
    # 2 ms and the timeout without goodput, of the whole time of recovery.
    assert row["during_gbps"] < GBPS * (row["recovery_us"] - 2000) / row["recovery_us"]
    its = result.goodput[(result.goodput.fault == 0) & (result.goodput.flows == "affected")]
    lasts = its.time_us.diff().fillna(its.time_us.iloc[0])
    delivered = (its.goodput_gbps * lasts).sum() * 1e3 / 8
    own = result.answer.answer["flows"]["delivered_bytes"][0]
    assert delivered == pytest.approx(own, rel=1e-9)
    others = result.goodput[result.goodput.flows == "others"]
    late = others[others.time_us > 1000].goodput_gbps
    assert late.min() > 0.97 * GBPS  # the other transfer notices nothing


def test_goodput_that_never_fell_recovers_at_once_and_one_that_stays_low_never():
    traffic = [{"kind": "long-lived", "flows": 2, "from": ["h0", "h2"], "to": ["h1", "h3"]}]
    tables = {"duration": "10ms", "traffic": traffic}
    (fine,) = run(star({"link": "h0->s0", "kind": "slow", "value": 0.95, "at": "5ms"}, **tables)).summary[
        "faults"
    ]
    assert fine["recovery_us"] == 0
    (low,) = run(star({"link": "h0->s0", "kind": "slow", "value": 0.5, "at": "5ms"}, **tables)).summary[
        "faults"
    ]
    assert low["recovery_us"] is None
    assert low["during_gbps"] == pytest.approx(GBPS / 2, rel=0.03)


def test_two_tables_that_break_and_repair_a_link_are_one_fault():
    down, up = (
        {"link": "leaf0<->spine0", "kind": kind, "at": at} for kind, at in (("down", "1ms"), ("up", "2ms"))
    )
    (row,) = run(fabric(down, up)).summary["faults"]
    assert (row["at_us"], row["until_us"], row["links"]) == (1000, 2000, 2)


def test_flows_that_wait_for_a_timer_at_the_end_are_stranded_for_that_reason():
    """Both transfers lose all packets of 200 us, 20 round trips, and timers of 1 s outlast the run."""
    scenario = star(
        {"node": "s0", "kind": "silent-drop", "at": "1ms", "until": "1.2ms"},
        duration="20ms",
        hosts={"rto_min": "1s", "rto_initial": "1s"},
    )
    (row,) = run(scenario).summary["faults"]
    assert row["stranded_flows"] == ["0 (h0->h1)", "1 (h2->h3)"]
    assert row["stranded_because"] == "they wait for their retransmission timers"


def test_sprayed_flows_are_affected_by_any_shortest_path():
    for link, count in (("leaf0<->spine0", 8), ("h0<->leaf0", 4), ("spine1->leaf0", 8)):
        found = run(
            fabric(
                {"link": link, "kind": "slow", "value": 0.5, "at": "1ms"},
                cc="ndp",
                network={"balancing": "packet"},
            )
        )
        assert found.summary["faults"][0]["affected"] == count, link


def test_a_report_has_a_table_of_faults_and_names_stranded_flows(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(fabric({"node": "spine0", "kind": "down", "at": "2ms"}).to_toml())
    done = CliRunner().invoke(
        cli.app, ["run", str(path), "--out", str(tmp_path / "out")], env={"COLUMNS": "140"}
    )
    assert done.exit_code == 0, done.output
    said = done.output
    assert re.search(r"0: down spine0 +2000 +- ", said)
    assert re.search(r"stranded    by faults\[0\], as the fault lasts: flow \d+ \(h", said)
    loaded = sh.Run.load(tmp_path / "out")
    assert loaded.summary["faults"][0]["name"] == "spine0"
    assert len(loaded.goodput) > 100
    assert loaded.plot.goodput_over_time().lines[0].get_label() == "flows over its links"


def test_a_run_without_faults_has_no_such_table(tmp_path):
    result = run(fabric())
    assert result.summary["faults"] == []
    assert result.goodput.empty
    result.save(tmp_path / "plain")
    assert not (tmp_path / "plain" / "goodput.parquet").exists()
    assert sh.Run.load(tmp_path / "plain").goodput.empty


@pytest.mark.parametrize("threads", [2, 3])
def test_the_record_is_the_same_on_several_threads(threads):
    scenario = fabric({"node": "spine0", "kind": "flap", "period": "700us", "at": "1ms"})
    one, more = run(scenario), sh.run(scenario, threads=threads).check_books()
    assert one.goodput.equals(more.goodput)
    assert one.summary["faults"] == more.summary["faults"]


CABLE = {"link": "leaf0<->spine0"}


def test_faults_of_different_things_may_overlap():
    window = {**CABLE, "at": "1ms", "until": "2ms"}
    fabric(
        {**window, "kind": "slow", "value": 0.5},
        {**window, "kind": "loss", "value": 0.1},
        {**window, "kind": "drain"},
    )


def test_flows_that_have_no_other_path_keep_to_a_drained_link():
    (warning,) = fabric({"node": "leaf0", "kind": "drain"}).warnings
    assert warning.startswith("8 of 8 flows have no path without")
    assert not fabric({"node": "spine0", "kind": "drain"}).warnings


def test_why_runs_a_task_without_a_fault_of_a_node():
    """The run is exact. The prediction keeps the windows of the slow host (docs/why.md)."""
    ring = {"kind": "all-reduce", "name": "ring", "size": "4MB"}
    tables = {"duration": "until-done", "traffic": [ring], "cc": "dctcp"}
    slow = {"node": "h1", "kind": "slow", "value": 0.25}
    path = run(fabric(slow, **tables)).why(task="ring")
    plain = run(fabric(**tables)).summary["collectives"][0]["completion_us"]
    for name in ("faults[0]", "h1"):
        cost = path.counterfactual(name)
        assert cost.ran_ps == pytest.approx(plain * 1e6, abs=1)
        assert cost.expected_ps == pytest.approx(cost.ran_ps, rel=0.25)
        assert cost.completion_ps > 3 * cost.ran_ps


def test_flows_that_never_get_a_whole_burst_through_are_stranded():
    """Half of all packets vanish in one of two planes, and go-back-N needs four in a row.

    They got some data in the second half of the run, but the run ended because they get no further.
    """
    planes = {**FABRIC, "leaves": 3, "spines": 3, "hosts_per_leaf": 3, "rate": "1Gbps", "planes": 2}
    tables = {
        "duration": "until-done",
        "seed": 808696331,
        "cc": "timely",
        "topology": {**planes, "link_delay": "1us", "links_per_pair": 2},
        "network": {"convergence": "2ms", "balancing": "packet", "pfc": True},
        "hosts": {"rto_initial": "2ms", "rto_max": "4ms"},
        "traffic": [
            {"kind": "reduce-scatter", "size": "81736B", "start": "967us"},
            {"kind": "all-to-all", "size": "214375B", "start": "439us"},
        ],
    }
    result = run(fabric({"link": "p1.*<->*", "kind": "silent-drop", "at": "915us"}, **tables))
    (row,) = result.summary["faults"]
    began = result.flows.start_us.notna()  # others wait for the end of one of these
    unfinished = result.flows.flow[result.flows.fct_us.isna() & began].tolist()
    assert 0 < row["stranded"] == len(unfinished)
    assert [int(flow.split()[0]) for flow in row["stranded_flows"]] == unfinished


def test_a_link_that_loses_all_is_named_wherever_packets_may_take_it():
    """The path on file of a flow leads over the first plane, but hosts choose the second one too."""
    planes = {**FABRIC, "spines": 1, "hosts_per_leaf": 1, "rate": "25Gbps", "planes": 2, "links_per_pair": 2}
    tables = {
        "duration": "until-done",
        "seed": 21306483,
        "cc": "inigo",
        "topology": {**planes, "link_delay": "1us"},
        "network": {"convergence": "10us", "balancing": "queue"},
        "hosts": {"rto_initial": "2ms", "rto_max": "4ms", "rto_min": "100us", "loss_detection": "rack"},
        "traffic": [
            {"kind": "all-gather", "size": "137132B", "start": "1445us"},
            {"kind": "incast", "senders": 1, "size": "188252B", "to": 0, "start": "434us"},
        ],
    }
    result = run(fabric({"link": "p1.*<->*", "kind": "silent-drop", "at": "873us"}, **tables))
    (row,) = result.summary["faults"]
    unfinished = result.flows.flow[result.flows.fct_us.isna()].tolist()
    assert 0 < row["stranded"] == len(unfinished)
    (said,) = (text for text in result.summary["warnings"] if "loses all packets" in text)
    assert re.search(r"link \S*p1\.\S+, on the path of flow \d+, loses all packets", said)
