"""The summary against numbers worked by hand; the flows are those of fake_packet_run."""

from functools import partial

import numpy as np
import pytest

import fake_packet_run as fake
import shallows as sh
from shallows import warnings
from shallows.errors import ScenarioError
from shallows.printing.report import print_parts, run_report
from shallows.results.summary import Counted, completion_statistics, jain, statistic


def test_jain_of_one_two_three():
    # (1 + 2 + 3)^2 / (3 * (1 + 4 + 9)) = 36 / 42
    assert jain([1, 2, 3]) == pytest.approx(36 / 42)


def test_jain_of_nothing_is_none():
    assert jain([]) is None
    assert jain([0.0, 0.0]) is None
    assert jain([float("nan"), 2.0]) == 1.0


P99 = partial(np.quantile, q=0.99)


def test_quantile_interpolates_between_neighbours():
    assert statistic(np.array([20.0, 100.0]), np.array([True, True]), P99) == (pytest.approx(99.2), None)
    assert statistic(np.zeros(0), np.zeros(0, bool), P99) == (None, None)


def test_a_percentile_that_unfinished_flows_could_move_is_a_lower_bound():
    """Of 101 flows the 99th percentile is the 100th; the last may be unfinished, the 100th may not."""
    times, finished = np.arange(1.0, 102.0), np.ones(101, bool)
    finished[100] = False
    assert statistic(times, finished, P99) == (100, None)
    finished[99] = False
    assert statistic(times, finished, P99) == (None, 100)
    # A flow cut off after 1 us could be the slowest: the percentile is 100 or 101, within 1 %.
    finished[:] = True
    finished[0] = False
    assert statistic(times, finished, P99) == (100.5, None)
    # Of times that double, it is the 100th or the 101st, and they are far apart.
    assert statistic(2.0**times, finished, P99) == (None, 2.0**100)
    assert statistic(times, finished, np.mean) == (None, 51)


def test_no_statistic_is_over_survivors_alone():
    """Of 32 flows that began at 0 four finish after 73 us; the others run for 1000 us and more."""
    count, done = 32, np.arange(32) < 4
    flows = {
        "start_us": np.zeros(count),
        "bytes": np.full(count, 5e5),
        "fct_us": np.where(done, 73.0, np.nan),
        "ideal_us": np.full(count, 10.0),
        "slowdown": np.where(done, 7.3, np.nan),
    }
    found = completion_statistics(Counted.of(flows, 0, None, 1000))
    assert found["fct_p99_us"] is found["fct_p50_us"] is found["fct_mean_us"] is found["slowdown_p99"] is None
    assert found["more_than"]["fct_p50_us"] == found["more_than"]["fct_p99_us"] == 1000
    assert found["more_than"]["fct_mean_us"] == pytest.approx((4 * 73 + 28 * 1000) / 32)
    assert found["more_than"]["slowdown_p99"] == 100


def test_flows_that_began_outside_the_measured_time_are_not_unfinished():
    """In the warm-up, in the cool-down, after the end, never, and one without an end."""
    flows = {
        "start_us": np.array([5.0, 85.0, 105.0, np.nan, 50.0, 50.0]),
        "bytes": np.array([1.0, 1.0, 1.0, 1.0, np.nan, 1.0]),
        **{key: np.full(6, np.nan) for key in ("fct_us", "slowdown", "ideal_us")},
    }
    assert Counted.of(flows, 10, 80, 100).unfinished.tolist() == [False] * 5 + [True]
    assert Counted.of(flows, 10, None, 100).unfinished.tolist() == [False, True, False, False, False, True]


def test_a_report_prints_lower_bounds_and_how_many_finished(capsys):
    """Of three flows that count one ran for 100 us, 1.25 times its ideal, when the run ended."""
    print_parts(run_report(fake.run().summary))
    text = capsys.readouterr().out
    assert "> at least that: flows were unfinished" in text
    assert "> 1.25 / > 1.25*" in text
    assert "1/2" in text  # of its size class
    assert "2/3" in text  # of its table
    ends = fake.column([120, 210, 50, 290, 300, 300, 300]) * fake.US
    done = fake.column([9_000, 90_000, 90_000, 90_000, 40_000, 80_000, 120_000])
    print_parts(run_report(fake.run(flows__finish_ps=ends, flows__delivered_bytes=done).summary))
    assert ">" not in capsys.readouterr().out.replace("->", "")


def test_the_bottleneck_is_the_port_that_queues_most():
    assert fake.run().summary["bottleneck"] == {
        "port": "s0->h1",
        "utilization": pytest.approx(180 / 200),
        "queue_mean_pkt": 3.0,
        "queue_p50_pkt": 2.0,
        "queue_p99_pkt": 6.0,
        "queue_max_pkt": 8.0,
        "delay_mean_us": 6.0,
        "backlog_p99_us": 12.0,
        "marked": 40,
        "dropped": 3,
        "paused_us": 3.0,
    }


def test_a_report_says_what_share_of_the_time_its_bottleneck_was_paused():
    # 180 and 3 of 200 us after the warm-up
    assert "s0->h1: 90.0% used, 1.5% paused, 40 marked, 3 dropped" in run_report(fake.run().summary)[0]
    never = fake.run(ports__paused_ps=fake.column([0, 0])).summary
    assert "90.0% used, 40 marked" in run_report(never)[0]


def test_a_report_says_what_was_dropped_and_lost_beside_its_bottleneck():
    """Retransmits would have no reason where only the bottleneck's drops are told."""
    summary = fake.run().summary
    beside = run_report(summary | {"network": summary["network"] | {"dropped": 5, "lost": 2}})[0].splitlines()
    assert "dropped     5 packets, at all ports" in beside
    assert "lost        2 packets by faults of links" in beside
    credits = run_report(summary | {"cc": ["expresspass@ns-2"]})[0].splitlines()
    assert "dropped     3 packets and credits, at all ports" in credits
    alone = run_report(summary | {"network": summary["network"] | {"dropped": 3, "lost": 0}})[0]
    assert "dropped     " not in alone
    assert "lost        " not in alone


def test_without_any_queue_the_busiest_port_is_the_bottleneck():
    empty = fake.column([0, 0], float)
    summary = fake.run(ports__queue_mean_bytes=empty, ports__busy_ps=fake.column([9, 8])).summary
    assert summary["bottleneck"]["port"] == "h0->s0"


def test_a_port_that_the_scenario_names_is_the_bottleneck():
    network = fake.network()
    network.recorded_ports = fake.column([0], "u4")
    run = fake.made(fake.scenario(["h0->s0"]), network, fake.flows(), fake.answer(), 1.0)
    assert run.summary["bottleneck"]["port"] == "h0->s0"


def test_flows():
    # In the 200 us after the warm-up: 9 + 90 + 30 + 150 KB. Completion times 20 and 100 us (slowdown 2 and
    # 1.25); the one of 50 us began in the warm-up. One is cut off after 100 us (slowdown 1.25 or more), so
    # the median is 100 us. Those without an end had 1, 2 and 3 Gbit/s.
    assert fake.run().summary["flows"] == {
        "offered": 7,
        "finished": 3,
        "cut_off": 4,
        "not_begun": 0,
        "lost": 0,
        "goodput_gbps": pytest.approx(279_000 * 8 / 200e-6 / 1e9),
        "jain": pytest.approx(36 / 42),
        "completed": 2,
        "unfinished": 1,
        **dict.fromkeys(("fct_mean_us", "fct_p95_us", "fct_p99_us", "fct_p999_us")),
        "fct_p50_us": pytest.approx(100),
        **dict.fromkeys(f"slowdown_{name}" for name in ("mean", "p50", "p95", "p99", "p999")),
        "more_than": {
            "fct_mean_us": pytest.approx(220 / 3),
            **{f"fct_{name}_us": pytest.approx(100) for name in ("p95", "p99", "p999")},
            "slowdown_mean": pytest.approx(1.5),
            "slowdown_p50": pytest.approx(1.25),
            "slowdown_p95": pytest.approx(1.25 + 0.9 * 0.75),
            "slowdown_p99": pytest.approx(1.25 + 0.98 * 0.75),
            "slowdown_p999": pytest.approx(1.25 + 0.998 * 0.75),
        },
        "retransmits": 3,
        "timeouts": 1,
    }


def test_flows_that_had_not_begun_are_told_from_others_that_were_cut_off():
    # The run ends at 300 us; four are cut off, of which one was to begin then and one after another flow.
    starts = fake.column([100, 110, 0, 300, 0, 0, 0]) * fake.US
    starts[6] = fake.NEVER
    run = fake.run(flows__start_ps=starts)
    assert (run.summary["flows"]["cut_off"], run.summary["flows"]["not_begun"]) == (4, 2)
    told = "7 offered = 3 finished + 4 cut off (2 of them not begun) + 0 lost"
    assert any(told in str(line) for line in run_report(run.summary))


def test_what_each_table_of_traffic_got():
    # Of the 279 KB of all flows, 129 KB in 200 us are of those that end; 150 KB of the others.
    sized, endless = fake.run().summary["traffic"]
    assert (sized["traffic"], sized["kind"], sized["cc"]) == (0, "trace", "dctcp")
    assert (sized["offered"], sized["finished"], sized["jain"]) == (4, 3, None)
    assert sized["goodput_gbps"] == pytest.approx(129_000 * 8 / 200e-6 / 1e9)
    assert (sized["fct_p50_us"], sized["exchange_p50_us"]) == (pytest.approx(100), None)
    # 2, 1.25, and 1.25 or more times the ideal, as of all flows that end
    assert (sized["completed"], sized["unfinished"], sized["slowdown_p50"]) == (2, 1, None)
    assert sized["more_than"]["slowdown_p99"] == pytest.approx(1.25 + 0.98 * 0.75)
    assert endless["slowdown_p99"] is None
    assert endless["goodput_gbps"] == pytest.approx(6)
    assert (endless["finished"], endless["jain"], endless["fct_p99_us"]) == (0, pytest.approx(36 / 42), None)


def test_an_exchange_counts_where_its_response_does():
    # Flow 1 answers flow 0, which began at 100 us; it is complete at 210 us.
    flows = fake.flows()
    flows.answers[1] = 0
    run = fake.made(fake.scenario(), fake.network(), flows, fake.answer(), 1.0)
    assert run.summary["traffic"][0]["exchange_p50_us"] == pytest.approx(110)
    assert run.summary["traffic"][1]["exchange_p50_us"] is None


def test_an_exchange_counts_as_unfinished_where_its_request_waits():
    """Flow 3 answers flow 0, which began at 100 us; at the end of the run, at 300 us, it is not complete."""
    flows = fake.flows()
    flows.answers[1] = flows.answers[3] = 0
    run = fake.made(fake.scenario(), fake.network(), flows, fake.answer(), 1.0)
    row = run.summary["traffic"][0]
    assert (row["exchanges"], row["exchanges_unfinished"], row["exchange_p50_us"]) == (1, 1, None)
    assert row["more_than"]["exchange_mean_us"] == pytest.approx((110 + 200) / 2)


def test_flows_by_size():
    small, medium, *larger = fake.run().summary["flows_by_size"]
    assert small == {
        "below_bytes": 10_000,
        "count": 1,
        "unfinished": 0,
        "more_than": {},
        **{f"fct_{name}_us": pytest.approx(20) for name in ("mean", "p50", "p95", "p99", "p999")},
        **{f"slowdown_{name}": pytest.approx(2) for name in ("mean", "p50", "p95", "p99", "p999")},
    }
    assert (medium["below_bytes"], medium["count"], medium["fct_mean_us"]) == (100_000, 1, None)
    assert [row["below_bytes"] for row in larger] == [1_000_000, 10_000_000, None]
    assert all(row["count"] == 0 and row["slowdown_p99"] is None for row in larger)
    # The one that is cut off has 90 KB too.
    assert (medium["unfinished"], medium["more_than"]["fct_p99_us"]) == (1, pytest.approx(100))


def test_a_size_on_the_edge_belongs_to_the_larger_bin():
    flows = fake.flows()
    flows.bytes[0] = 10_000
    delivered = fake.column([10_000, 90_000, 90_000, 30_000, 1, 1, 1])
    run = fake.made(
        fake.scenario(), fake.network(), flows, fake.answer(flows__delivered_bytes=delivered), 1.0
    )
    assert [row["count"] for row in run.summary["flows_by_size"]] == [0, 2, 0, 0, 0]


def test_a_run_that_ends_with_its_flows_says_how_long_it_drained():
    """The last flow begins at 200 us and the run ends at 300; one with an end of its own has no drain."""
    assert fake.run().summary["drain_s"] is None
    scenario = fake.scenario()
    scenario.duration_ps = None
    run = fake.made(scenario, fake.network(), fake.flows(), fake.answer(), 1.0)
    assert run.summary["drain_s"] == pytest.approx(100e-6)
    assert run.summary["drain_share"] == pytest.approx(100 / 200)


def test_a_drain_counts_from_the_last_flow_that_began():
    """A run ends with its flows, before a flow without an end that was to start at 1 s."""
    traffic = [
        {"kind": "incast", "senders": 1, "size": "1KB"},
        {"kind": "long-lived", "flows": 1, "start": "1s"},
    ]
    star = {"kind": "star", "hosts": 3, "rate": "10Gbps", "rtt": "20us"}
    run = sh.run(sh.Scenario(duration="until-done", topology=star, cc="dctcp", traffic=traffic))
    assert run.summary["drain_s"] == pytest.approx(run.summary["duration_s"])
    assert run.summary["drain_share"] == 1
    late = [traffic[0], {**traffic[0], "start": "1ms"}]
    run = sh.run(sh.Scenario(duration="until-done", topology=star, cc="dctcp", traffic=late))
    assert run.summary["drain_s"] == pytest.approx(run.summary["duration_s"] - 1e-3)
    warm = sh.Scenario(duration="until-done", warmup="2ms", topology=star, cc="dctcp", traffic=late)
    assert sh.run(warm).summary["drain_s"] == 0
    assert sh.run(warm).summary["drain_share"] is None


OPEN = {
    "duration": "until-done",
    "topology": {"kind": "star", "hosts": 5, "rate": "10Gbps"},
    "cc": "reno",
    "traffic": [{"kind": "poisson", "sizes": "20KB", "load": 0.2, "flows": 500}],
}


@pytest.mark.parametrize("duration", ["until-done", "3ms"])
def test_flows_of_the_warm_up_and_the_cool_down_are_in_no_statistic(duration):
    """Between 1 ms and 0.5 ms before the last arrival, or before the end of the run."""
    made = sh.Scenario(**OPEN | {"duration": duration}, warmup="1ms", cooldown="500us")
    run = sh.run(made)
    starts_us = made.flows.start_ps / 1e6
    last_us = starts_us.max() if duration == "until-done" else 3000
    counted = (starts_us >= 1000) & (starts_us < last_us - 500)
    assert 0 < counted.sum() < len(counted) - 20
    assert run.summary["flows"]["completed"] == counted.sum()
    assert sum(row["count"] for row in run.summary["flows_by_size"]) == counted.sum()
    assert run.summary["traffic"][0]["completed"] == counted.sum()
    assert run.summary["flows"]["fct_p99_us"] == pytest.approx(np.quantile(run.flows.fct_us[counted], 0.99))
    assert run.summary["cooldown_at_s"] == pytest.approx((last_us - 500) * 1e-6)
    again = sh.Scenario.from_toml(made.to_toml())
    assert again.cooldown == made.cooldown


def test_a_cool_down_that_acts_on_nothing_is_refused():
    with pytest.raises(
        ScenarioError, match=r'cooldown = "1ms": expected 0s: it acts on traffic whose arrivals'
    ):
        sh.Scenario(**OPEN | {"traffic": [{"kind": "incast"}]}, cooldown="1ms")
    with pytest.raises(ScenarioError, match="from the warm-up to the last arrival"):
        sh.Scenario(**OPEN, cooldown="1s")


def test_percentiles_carry_how_many_they_are_of():
    """Of the four flows that end two began after the warm-up and finished."""
    summary = fake.run().summary
    assert summary["flows"]["completed"] == 2
    assert sum(row["count"] for row in summary["flows_by_size"]) == 2


def test_the_keys_of_the_whole_summary():
    summary = fake.run().summary
    assert summary["books"] == {"closed": True, "problems": []}
    assert (summary["world"], summary["name"], summary["seed"]) == ("packet", "by-hand", 7)
    assert (summary["duration_s"], summary["warmup_s"]) == (pytest.approx(300e-6), pytest.approx(100e-6))
    assert (summary["events"], summary["packet_hops"], summary["packet_hops_per_s"]) == (2000, 1000, 2000)
    assert summary["cc"] == ["dctcp", "dx"]
    assert summary["network"] == {
        **{"sent": 300, "marked": 40, "dropped": 3, "dropped_in_warmup": 1, "trimmed": 5},
        **{"lost": 0, "pauses": 2, "paused_us": 3.0, "deadlock": []},
    }
    assert "interrupted" not in summary


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"flows__ideal_ps": [21, 80, 40, 80, 0, 0, 0]}, "flow 0 beat its empty path"),
        ({"flows__delivered_bytes": [8_999, 90_000, 90_000, 30_000, 0, 0, 0]}, "flow 0 finished without"),
        ({"flows__delivered_bytes": [9_000, 90_000, 90_000, 90_000, 0, 0, 0]}, "flow 3 delivered all"),
        ({"flows__finish_ps": [90, 210, 50, 290, 0, 0, 0]}, "flow 0 (and 3 more) finished before it started"),
    ],
)
def test_books_that_do_not_close_say_which_flow(changed, problem):
    picoseconds = {k: fake.column(v) * (fake.US if k.endswith("ps") else 1) for k, v in changed.items()}
    books = fake.run(**picoseconds).summary["books"]
    assert not books["closed"]
    assert any(problem in text for text in books["problems"]), books["problems"]


def test_what_no_link_can_carry_does_not_close_the_books():
    # Flow 1 had 90 KB in 100 us, 7.2 Gbit/s; the last port was busy for 201 of 200 us.
    slow = fake.network()
    slow.rate_bps[1] = 7_000_000_000
    run = fake.made(fake.scenario(), slow, fake.flows(), fake.answer(), 1.0)
    assert any("link can carry" in text for text in run.summary["books"]["problems"])
    busy = fake.run(ports__busy_ps=fake.column([50, 201]) * fake.US)
    assert busy.summary["books"]["problems"] == ["port s0->h1 sent for longer than it was measured"]


def test_a_run_that_ends_before_its_warm_up_has_no_statistics():
    run = fake.run(ended_ps=90 * fake.US)
    port = run.summary["bottleneck"]
    assert {port[key] for key in port if key != "port"} == {None}
    assert run.summary["network"]["sent"] == 0
    assert run.summary["network"]["dropped_in_warmup"] == 4
    assert run.summary["flows"]["goodput_gbps"] is None
    assert any("before its warm-up of 100 us" in warning for warning in warnings.of_run(run.answer))
    assert run.ports.utilization.isna().all()


def test_the_worlds_own_problems_are_kept():
    run = fake.run(books={"closed": False, "problems": ["port s0->h1 lost a packet"]})
    assert run.summary["books"] == {"closed": False, "problems": ["port s0->h1 lost a packet"]}


@pytest.mark.parametrize(
    ("threads", "said"), [((2, 381.6), " on 2 threads,"), ((1, 0.7), " on one thread,"), ((1, None), "s/s,")]
)
def test_no_speed_up_of_threads_is_printed(threads, said):
    """It compares two spans whose work differs: 381.6 times on a path of 100 ms."""
    summary = fake.run().summary
    count, gain = threads
    summary["threads"] = {"count": count, "domains": 2, "gain": gain}
    text = run_report(summary)[0]
    assert said in text
    assert "times" not in text
