"""Comparisons, on runs of the real packet world that take milliseconds."""

import csv
import re
import sys
import threading
from pathlib import Path

import pytest

import shallows as sh
from shallows.printing import report
from shallows.printing.progress import Progress
from shallows.printing.report import comparison_report, fit, print_parts, run_report
from shallows.sweeps.comparison import run_all
from shallows.sweeps.plans import Job
from shallows.sweeps.report import plus_minus

SCENARIO = Path(__file__).with_name("small.toml")


@pytest.fixture
def scenario():
    return sh.Scenario.load(SCENARIO)


def test_each_algorithm_meets_the_same_traffic(scenario):
    comparison = sh.compare(scenario, ["dctcp", "dx"])
    assert list(comparison.runs) == ["dctcp", "dx"]
    first, second = (run.flows for run in comparison.runs.values())
    assert set(first.cc) == {"dctcp"}
    assert set(second.cc) == {"dx"}
    assert list(first.start_us) == list(second.start_us)
    assert list(first.bytes) == [60_000] * 4


def test_the_table_repeats_the_summaries(scenario):
    comparison = sh.compare(scenario, ["dctcp", "dx"])
    for cc, run in comparison.runs.items():
        assert comparison.table.loc[cc, "queue_mean_pkt"] == run.summary["bottleneck"]["queue_mean_pkt"]
        assert comparison.table.loc[cc, "slowdown_p99"] == run.summary["flows"]["slowdown_p99"]
    assert comparison.by_size.loc[("dx", 100_000), "count"] == 4


def test_threads_change_nothing(scenario):
    one, three = (sh.compare(scenario, ["dctcp", "dx", "reno"], threads=threads) for threads in (1, 3))
    prints = [[run.summary["fingerprint"] for run in both.runs.values()] for both in (one, three)]
    assert prints[0] == prints[1]


def test_saving_makes_a_folder_for_each_run_and_table_and_figure(scenario, tmp_path):
    sh.compare(scenario, ["dctcp", "dx"], out=tmp_path)
    assert sh.Run.load(tmp_path / "dx").summary["cc"] == ["dx"]
    rows = list(csv.DictReader((tmp_path / "comparison.csv").open()))
    assert [row["cc"] for row in rows] == ["dctcp", "dx"]
    assert (tmp_path / "figure.png").stat().st_size > 10_000
    assert (tmp_path / "figure.pdf").exists()


@pytest.mark.parametrize(
    ("ccs", "message"),
    [
        ([], "one algorithm or more"),
        (["dx", "dx"], "each algorithm once"),
        (["dx", "dctpc"], 'did you mean "dctcp"'),
    ],
)
def test_wrong_algorithms_are_found_before_anything_runs(scenario, ccs, message, tmp_path):
    with pytest.raises(sh.ScenarioError, match=re.escape(message)):
        sh.compare(scenario, ccs, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_run_that_fails_stops_the_others(scenario, monkeypatch):
    others_stopped = threading.Event()

    def fails(scenario, on_progress):
        raise RuntimeError("broken")

    def runs_until_stopped(scenario, on_progress):
        try:
            while True:
                on_progress(0, 0, 0)
        except KeyboardInterrupt:
            others_stopped.set()

    worlds = {"packet": runs_until_stopped, "fluid": fails}
    monkeypatch.setattr(sys.modules["shallows.sweeps.comparison"], "in_world", worlds.get)
    with Progress() as bars, pytest.raises(RuntimeError, match="broken"):
        run_all([Job(world, {}, world, lambda: scenario) for world in worlds], bars, threads=2)
    assert others_stopped.is_set()


def test_one_port_is_compared_in_all_runs():
    """By its own bottleneck, one of these runs would show another port than the others."""
    scenario = sh.Scenario(
        duration="5ms",
        topology={"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4},
        cc="reno",
        traffic=[{"kind": "shuffle", "size": "50KB"}, {"kind": "long-lived", "flows": 4}],
    )
    comparison = sh.compare(scenario, ["reno", "dctcp", "dx", "timely"])
    own = {run.summary["bottleneck"]["port"] for run in comparison.runs.values()}
    assert len(own) > 1
    (port,) = set(comparison.table.port)
    assert port in own
    for cc, run in comparison.runs.items():
        row, compared = run.ports.set_index("port").loc[port], comparison.table.loc[cc]
        for key in ("utilization", "queue_mean_pkt", "queue_p99_pkt", "delay_mean_us", "dropped"):
            assert compared[key] == row[key]


def test_slow_links_have_units_that_show_something(capsys):
    """At 1 Mbps 250 packets of 1500 bytes take 3 s; 1460 of 1538 bytes on the wire are goodput."""
    scenario = sh.Scenario(
        duration="60s",
        warmup="20s",
        topology={"kind": "dumbbell", "hosts": 2, "rate": "1Mbps", "rtt": "2ms"},
        network={"pfc": False},
        cc="reno",
        traffic=[{"kind": "long-lived", "flows": 2}],
    )
    comparison = sh.compare(scenario, ["reno", "dcqcn@sigcomm15"])
    print_parts(comparison_report(comparison))
    text = capsys.readouterr().out
    assert re.search(r"goodput \(Mbit/s\) +0\.9\d\d", text)
    assert re.search(r"backlog p99 \(ms\) +\d{3,4}\.\d", text)
    # A rate of at least 10 Mbps a flow is too much here, and only the preset of DCQCN has one.
    (warning,) = [line for line in text.splitlines() if "sent again" in line]
    assert warning.startswith("warning     dcqcn@sigcomm15: ")
    report = run_report(comparison.runs["reno"].summary)[0]
    assert re.search(r"goodput +0\.9\d\d Mbit/s", report)
    assert re.search(r"backlog p99 \d{3,4}\.\d ms", report)


@pytest.mark.parametrize(
    ("title", "values", "fitted"),
    [
        ("goodput (Gbit/s)", [9.5, 0.05, None], ("goodput (Gbit/s)", ["9.500", "0.050", "-"])),
        ("goodput (Gbit/s)", [0.05, 0.002], ("goodput (Mbit/s)", ["50.000", "2.000"])),
        ("goodput (Gbit/s)", [2e-5], ("goodput (kbit/s)", ["20.000"])),
        ("goodput (Gbit/s)", [0], ("goodput (Gbit/s)", ["0.000"])),
        ("fct p99 (us)", [999_999], ("fct p99 (us)", ["999999.000"])),
        ("fct p99 (us)", [2_500_000, 1], ("fct p99 (ms)", ["2500.000", "0.001"])),
        ("fct p99 (us)", [3e8], ("fct p99 (s)", ["300.000"])),
        ("timeouts", [7], ("timeouts", ["7.000"])),
    ],
)
def test_a_unit_fits_the_largest_number(title, values, fitted):
    assert fit(title, values, "{:.3f}") == fitted


@pytest.mark.parametrize(
    ("metric", "count", "mark"),
    [
        ("slowdown_p99", 999, "*"),  # 9.99 flows beyond it
        ("slowdown_p99", 1000, ""),
        ("fct_p50_us", 19, "*"),
        ("fct_p50_us", 20, ""),
        ("fct_mean_us", 1, ""),
        ("slowdown_p99", 0, ""),
        ("slowdown_p99", None, ""),
    ],
)
def test_a_percentile_that_fewer_than_ten_flows_exceed_has_a_mark(metric, count, mark):
    assert report._mark(metric, count) == mark


def test_each_world_of_a_distance_has_its_own_interval(capsys):
    row = {"cc": "dctcp", "than": "packet", "world": "kernel", "quantity": "queue_mean_pkt"}
    packet = {"reference": 20.25, "reference_half_width": 0.52}
    kernel = {"value": 25.0, "half_width": None, "difference": 4.75, "percent": 23.456}
    print_parts(report._distances([row | packet | kernel]))
    title, numbers = (line.split("  ") for line in capsys.readouterr().out.strip().splitlines())
    words = [[word.strip() for word in line if word.strip()] for line in (title, numbers)]
    assert words[0] == ["dctcp: distance", "packet", "kernel", "difference", "percent"]
    assert words[1][1:] == ["20.250 ± 0.52", "25.000", "+4.750", "+23.5"]


def test_the_time_of_each_tenant_is_in_the_table():
    """Two traces of 1 MB, side by side and one 50 us later: 100 Gbps and 4 us of round trip."""
    from shallows.results.tenants import completion_us

    star = {"kind": "star", "hosts": 6, "rate": "100Gbps", "rtt": "4us"}
    flows = {"a": [[0, 0, 1, 1_000_000]], "b": [[50e-6, 2, 3, 1_000_000], [0, 4, 5, 1_000_000]]}
    traffic = [{"kind": "trace", "name": name, "flows": rows} for name, rows in flows.items()]
    tables = {"duration": "until-done", "topology": star, "cc": "reno", "traffic": traffic}
    comparison = sh.compare(sh.Scenario(**tables), ["dcqcn", "ndp"])
    alone = 1e6 * 1500 / 1460 * 8 / 100e3 + 2
    for run in comparison.runs.values():
        times = completion_us(run)
        assert times["a"] == pytest.approx(alone, rel=0.02)
        assert times["b"] == pytest.approx(alone + 50, rel=0.02)
    table = comparison_report(comparison)[0]
    assert list(table.columns[0].cells) == ["a: completion (us)", "b: completion (us)"]


@pytest.mark.parametrize(("begin", "known"), [("0s", False), ("100us", True)])
def test_faults_of_which_no_recovery_is_known_have_no_row(scenario, capsys, begin, known):
    """Before a fault at time zero there is no goodput to which flows could return."""
    fault = {"link": "h0->s0", "kind": "down", "at": begin}
    broken = scenario.replace({"duration": "2ms", "faults": [fault]})
    print_parts(comparison_report(sh.compare(broken, ["reno", "dctcp"])))
    assert ("faults[0]: recovery" in capsys.readouterr().out) == known


def test_equal_values_have_no_interval():
    """Sums of equal numbers differ in their last bits."""
    assert plus_minus(237.248, 237.248 - 1e-13, 237.248 + 1e-13) == "237.248 ± 0.000"
    assert plus_minus(14.3, 13.1, 15.5) == "14.3 ± 1.2"
