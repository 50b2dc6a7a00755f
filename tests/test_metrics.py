"""Each number of a summary has one definition, which reports, comparisons and sweeps read."""

import pytest

import shallows as sh
from shallows.errors import ScenarioError
from shallows.results import metrics
from shallows.results.metrics import METRICS, label, number, resolved

FABRIC = {
    "duration": "until-done",
    "cc": "dctcp",
    "topology": {"kind": "star", "hosts": 4, "rate": "100Gbps"},
    "traffic": [{"kind": "all-reduce", "size": "1MB"}],
}


@pytest.fixture(scope="module")
def run():
    faults = [{"kind": "loss", "link": "s0->h1", "value": 1e-3}]
    incast = {"kind": "incast", "size": "100KB"}
    return sh.run(sh.Scenario(**{**FABRIC, "faults": faults, "traffic": [*FABRIC["traffic"], incast]}))


def test_a_metric_has_the_value_of_its_place(run):
    summary = run.summary

    def value(name):
        row, key = number(summary, name)
        return row[key]

    assert value("queue_mean_pkt") == summary["bottleneck"]["queue_mean_pkt"]
    assert value("marked") == value("network.marked") == summary["network"]["marked"]
    assert value("bottleneck.marked") == summary["bottleneck"]["marked"]
    assert value("completed") == summary["flows"]["completed"]
    assert value("traffic.0.busbw_gb_per_s") == summary["collectives"][0]["busbw_gb_per_s"]
    assert value("traffic.1.goodput_gbps") == summary["traffic"][1]["goodput_gbps"]
    assert value("size.100KB.completed") == summary["flows_by_size"][1]["count"]


@pytest.mark.parametrize(
    ("written", "full"),
    [
        ("busbw", "traffic.0.busbw_gb_per_s"),
        ("algbw", "traffic.0.algbw_gb_per_s"),
        ("completion", "traffic.0.completion_us"),
        ("ideal_us", "traffic.0.ideal_us"),
        ("recovery", "faults.0.recovery_us"),
        ("goodput", "goodput_gbps"),
        ("queue_mean", "queue_mean_pkt"),
        ("backlog_p99", "backlog_p99_us"),
        ("traffic.1.fct_p99", "traffic.1.fct_p99_us"),
        ("jain", "jain"),
    ],
)
def test_a_name_without_unit_or_part_is_found(written, full):
    tables = {"traffic": [{"kind": "all-reduce"}, {"kind": "incast"}], "faults": [{"kind": "loss"}]}
    assert resolved(written, tables) == full


def test_a_name_that_several_tables_have_asks_which():
    two = {"traffic": [{"kind": "all-reduce"}, {"kind": "all-gather"}]}
    with pytest.raises(ScenarioError, match=r"one of traffic\.0\.busbw_gb_per_s, traffic\.1\.busbw_gb_per_s"):
        resolved("busbw", two)
    with pytest.raises(ScenarioError, match='did you mean "goodput'):
        resolved("goodputt", two)


def test_titles_have_units_and_keys_are_unique():
    keys = [one.key for one in METRICS]
    assert len(keys) == len(set(keys))
    units = {"_us": "(us)", "_gbps": "(Gbit/s)", "_gb_per_s": "(GB/s)", "_pkt": "(packets)"}
    for one in METRICS:
        for ending, unit in units.items():
            assert not one.key.endswith(ending) or unit in one.title, one
    assert label("traffic.0.busbw_gb_per_s") == "busbw (GB/s), traffic.0"


def test_a_sweep_of_a_collective_prints_a_table_as_nccl_tests_do(tmp_path):
    """Size, time, algbw and busbw: of an all-reduce over n ranks busbw is 2(n-1)/n of algbw (1.5 for 4)."""
    sizes = ["1KB", "1MB", "16MB"]
    swept = sh.sweep(sh.Scenario(**FABRIC), over={"traffic.0.size": sizes}, out=tmp_path / "s", workers=1)
    assert swept.default_metrics() == [
        *("traffic.0.completion_us", "traffic.0.algbw_gb_per_s", "traffic.0.busbw_gb_per_s")
    ]
    rows = {(row["size"], row["metric"].rpartition(".")[2]): row["mean"] for row in swept.intervals()}
    for size, amount in zip(sizes, (1e3, 1e6, 16e6), strict=True):
        time_us, algbw, busbw = (
            rows[size, one.key]
            for one in METRICS
            if one.key in ("completion_us", "algbw_gb_per_s", "busbw_gb_per_s")
        )
        assert algbw == pytest.approx(amount / time_us / 1e3)
        assert busbw == pytest.approx(1.5 * algbw)
    assert swept.summary("busbw")["metric"].unique() == ["traffic.0.busbw_gb_per_s"]


def test_comparisons_and_sweeps_have_the_same_titles():
    from shallows.printing.report import ROWS

    assert [title for key, title, _ in ROWS[1:]] == [metrics.label(key) for key, _, _ in ROWS[1:]]
