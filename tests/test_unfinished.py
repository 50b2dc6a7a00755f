"""Statistics of runs in which flows have not finished, and of runs that have not settled."""

import math

import pytest

import shallows as sh
from shallows.errors import ScenarioError
from shallows.printing.report import print_parts
from shallows.results.statistics import UNFINISHED
from shallows.settings.advise import advise
from shallows.settings.trials import Metric
from shallows.sweeps.report import sweep_report

BURST = {
    "duration": "300us",
    "topology": {"kind": "star", "hosts": 9, "rate": "10Gbps", "rtt": "8us"},
    "cc": "dctcp",
    "traffic": [{"kind": "incast", "senders": 8, "size": "20KB", "jitter": "100us"}],
}
"""The eight flows need 128 us of the link, and their headers."""


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """At 100 us some flows finish, and at 2 ms all."""
    folder = tmp_path_factory.mktemp("swept")
    return sh.sweep(sh.Scenario(**BURST), over={"duration": ["150us", "2ms"]}, seeds=3, out=folder, workers=1)


def test_a_sweep_gives_no_mean_over_the_flows_that_finished(swept):
    short, long = swept.intervals("fct_p99_us", baseline="dctcp", by=["cc", "duration"])
    assert 0 < short["completed"] < 24
    assert (short["completed"] + short["unfinished"], long["completed"]) == (24, 24)
    assert short["method"] == UNFINISHED
    assert math.isnan(short["mean"])
    assert math.isnan(short["low"])
    assert math.isnan(short["difference"])
    # Flows began at most 100 us after the start, and the slowest has waited since its start.
    assert 50 <= short["more_than"] <= 150
    assert math.isnan(long["more_than"])
    assert long["mean"] > short["more_than"]


def test_a_sweep_prints_lower_bounds_and_how_many_flows_finished(swept, capsys):
    print_parts(sweep_report(swept, ["fct_p99_us", "traffic.0.slowdown_p50"]))
    text = capsys.readouterr().out
    assert "> " in text
    assert "/24)" in text
    assert "(finished/begun) flows" in text
    assert not {"nan", "inf"} & set(text.split())


def test_a_sweep_that_is_loaded_again_knows_what_is_unknown(swept):
    again = sh.Sweep.load(swept.folder)
    for metric in ("fct_p99_us", "traffic.0.fct_p99_us"):
        one, other = (of.intervals(metric)[0]["more_than"] for of in (swept, again))
        assert one == other > 0


def test_more_seeds_do_not_help_where_flows_are_unfinished(swept):
    assert swept.narrow(1000, "fct_p99_us")


def test_a_figure_of_a_sweep_draws_lower_bounds_and_says_so(swept):
    drawn = swept.figure("duration", "fct_p99_us")
    assert "carets: at least that" in drawn.get_supxlabel().replace("\n", " ")


@pytest.mark.parametrize(("duration", "known"), [("2us", False), ("until-done", True)])
def test_a_sweep_measures_collectives(duration, known, tmp_path):
    """8 MB over 4 hosts at 400 Gbps: 6 steps of 2 MB."""
    made = {
        "duration": duration,
        "topology": {"kind": "star", "hosts": 4, "rate": "400Gbps", "rtt": "4us"},
        "cc": "dcqcn",
        "traffic": [{"kind": "all-reduce", "size": "8MB"}],
    }
    result = sh.sweep(sh.Scenario(**made), over={"traffic.0.size": ["8MB"]}, out=tmp_path, workers=1)
    time, bus = result.intervals(["traffic.0.completion_us", "traffic.0.busbw_gb_per_s"])
    if known:
        assert time["mean"] == pytest.approx(6 * (2e6 * 8 / 400e3 + 2), rel=0.05)
        assert bus["mean"] == pytest.approx(8e6 / time["mean"] / 1e3 * 1.5)
    else:
        assert math.isnan(time["mean"])
        assert math.isnan(bus["mean"])
        assert time["more_than"] == pytest.approx(2)


def test_the_metric_of_advice_is_not_over_flows_that_finished():
    run = sh.run(sh.Scenario(**BURST, name="burst"), overrides={"duration": "150us"})
    value, least, unfinished = Metric.of(run.scenario).value(run)
    assert math.isnan(value)
    assert least >= 1
    assert unfinished == run.summary["flows"]["unfinished"] > 0


SLOW = {
    "duration": "4ms",
    "warmup": "1ms",
    "topology": {"kind": "star", "hosts": 9, "rate": "400Gbps", "rtt": "8us"},
    "traffic": [{"kind": "long-lived", "flows": 8, "from": "h[0-7]", "to": "h8"}],
    "cc": "dcqcn",
    "network": {"mtu": "4096B", "pfc": True, "shared": {"size": "64MB"}},
}
"""DCQCN comes back from its first cuts by its timer only, some 50 Gbit/s a ms for all eight flows."""


def test_rates_that_still_rise_are_a_warning():
    run = sh.run(sh.Scenario(**SLOW))
    (row,) = run.summary["unsettled"]
    assert row["utilization"] < 0.4
    assert 0 < row["from_gbps"] < row["to_gbps"] < 400
    assert row["needed_s"] > 4e-3
    (warning,) = [one for one in run.summary["warnings"] if "have not settled" in one]
    assert "traffic[0]" in warning
    full = sh.run(sh.Scenario(**SLOW | {"duration": "1ms", "warmup": "200us", "cc": "hpcc"}))
    assert full.summary["unsettled"] == []


def test_advice_is_refused_where_rates_still_rise(tmp_path):
    with pytest.raises(
        ScenarioError, match=r"runs that settle: .*write warmup = .* and duration = "
    ) as error:
        advise(sh.Scenario(**SLOW), flows=(2, 32), candidates=1, seeds=1, out=tmp_path)
    assert not {"nan", "inf"} & set(str(error.value).split())


RAIL = {
    "duration": "until-done",
    "cc": "dcqcn",
    "topology": {"kind": "rail-optimised", "servers": 2, "gpus": 8},
    "network": {"mtu": "4096B"},
    "traffic": [{"kind": "all-reduce", "size": "6.4MB", "hosts": [*range(8), *range(15, 7, -1)]}],
}


def test_the_ideal_time_of_a_collective_knows_every_link():
    """One link of 400 Gbps each way between two servers: 30 steps of 400 KB, 240 us of payload."""
    (row,) = sh.run(sh.Scenario(**RAIL)).summary["collectives"]
    assert row["ideal_us"] == pytest.approx(240 * 4096 / 4056, rel=0.01)
    assert 1 <= row["slowdown"] < 1.1


def test_the_ideal_time_of_a_collective_knows_oversubscription():
    """Four hosts of 100 Gbps share an uplink of 100 Gbps: 4 MB of each of 4 go up, 1.28 ms of payload."""
    made = {
        "duration": "until-done",
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4, "rate": "100Gbps",
                     "spine_rate": "100Gbps"},
        "network": {"mtu": "4096B"},
        "cc": "hpcc",
        "traffic": [{"kind": "all-to-all", "size": "8MB"}],
    }  # fmt: skip
    (row,) = sh.run(sh.Scenario(**made)).summary["collectives"]
    assert row["ideal_us"] == pytest.approx(1280 * 4096 / 4056, rel=0.01)
    assert 1 <= row["slowdown"] < 1.5
