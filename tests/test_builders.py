"""The builders of a scenario: the same as its tables, with units, from texts, numbers and arrays."""

import importlib.util
import inspect
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shallows as sh
from shallows.units import Gbps, KiB, ns, pkt, us

ROOT = Path(__file__).parents[1]
TEXT = """
name = "two"
duration = "until-done"
[topology]
kind = "dumbbell"
hosts = 4
rate = "2.5Gbps"
rtt = "80us"
[network]
marking = { kind = "step", threshold = "20pkt" }
[cc]
name = "dctcp"
g = 0.05
[[traffic]]
kind = "incast"
size = "20KiB"
start = "0.5us"
[[traffic]]
kind = "long-lived"
from = [0, "h1"]
stop = "1ms"
"""


def two():
    return sh.Scenario(
        name="two",
        duration="until-done",
        topology=sh.Dumbbell(hosts=4, rate=2.5 * Gbps, rtt=np.int64(80) * us),
        network=sh.Network(marking=sh.Marking("step", threshold=20 * pkt)),
        cc=sh.CC("dctcp", g=0.05),
        traffic=[
            sh.Incast(size=20 * KiB, start=500 * ns),
            sh.LongLived(from_=[0, "h1"], stop="1ms"),
        ],
    )


def test_parts_say_what_a_file_says():
    assert two() == sh.Scenario.from_toml(TEXT)
    assert two().topology.rate == 2_500_000_000
    assert two().traffic[0].size == 20_480


def test_a_scenario_shows_itself_as_python_writes_it():
    text = repr(two())
    assert "Dumbbell(hosts=4, rate='2.5Gbps', rtt='80us')" in text
    assert eval(text, {name: getattr(sh, name) for name in sh.__all__}) == two()
    assert "rtt='80us'" in repr(two().topology)
    assert "start='500ns'" in repr(two().traffic[0])


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").glob("*.toml")), ids=lambda path: path.stem)
def test_every_example_shows_itself(path):
    scenario = sh.Scenario.load(path)
    again = eval(repr(scenario), {name: getattr(sh, name) for name in sh.__all__})
    assert again == scenario


def test_parts_can_be_overrides_and_single_keys_of_them_too():
    changes = {"topology": sh.Star(hosts=6), "topology.rtt": 40 * us, "traffic": [sh.Shuffle(size="1KB")]}
    scenario = two().replace(changes)
    assert (scenario.topology.kind, scenario.topology.hosts, scenario.topology.rtt) == ("star", 6, 40 * 10**6)
    assert pickle.loads(pickle.dumps(scenario)) == scenario


FLOWS = {"start_s": [0.0, 1e-6, 2e-6], "src": [0, 1, 2], "dst": [4, 4, 5], "bytes": [1000, 2_000_000, 3]}


@pytest.mark.parametrize(
    "flows",
    [
        FLOWS,
        pd.DataFrame(FLOWS),
        np.array(list(FLOWS.values())).T,
        pd.DataFrame(FLOWS).to_records(index=False),
    ],
    ids=["dict", "DataFrame", "array", "named array"],
)
def test_flows_from_a_table(flows):
    scenario = two().replace({"traffic": [sh.Trace(flows=flows)]})
    assert scenario.flows.start_ps.tolist() == [0, 10**6, 2 * 10**6]
    assert scenario.flows.src.tolist() == [0, 1, 2]
    assert scenario.flows.dst.tolist() == [4, 4, 5]
    assert scenario.flows.bytes.tolist() == [1000, 2_000_000, 3]
    assert sh.Scenario.from_toml(scenario.to_toml()) == scenario


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        ({"flows": {**FLOWS, "src": [0, 1]}}, "columns of one length, not 3 of start_s, 2 of src"),
        ({"flows": {"start_s": [0], "src": [0], "dst": [1]}}, "; bytes is missing"),
        ({"flows": {**FLOWS, "dst": [4, 4, 9]}}, 'in flow 3, dst: a host from 0 to 7, not "9"'),
        ({"flows": FLOWS, "file": "x.csv"}, "an existing file"),
        ({}, "either a file or flows"),
    ],
)
def test_a_broken_table_of_flows_is_named(table, wrong):
    with pytest.raises(sh.ScenarioError, match=wrong):
        two().replace({"traffic": [{"kind": "trace", **table}]})


CDF = [(1000, 0.0), (2000, 0.5), (10_000, 1.0)]


@pytest.mark.parametrize(
    "sizes",
    [
        CDF,
        np.array(CDF),
        {"size_bytes": [1000, 2000, 10_000], "cum_prob": [0, 0.5, 1]},
        pd.DataFrame({"size_bytes": [1000, 2000, 10_000], "cum_prob": [0, 50, 100]}),
    ],
    ids=["pairs", "array", "columns", "percents"],
)
def test_sizes_from_a_distribution(sizes):
    changes = {"traffic": [sh.Poisson(sizes=sizes, load=0.3, load_of="bottleneck", flows=2000)]}
    scenario = two().replace(changes)
    # Half of the flows are uniform from 1 to 2 KB, half from 2 to 10 KB: 0.5 * 1500 + 0.5 * 6000.
    assert scenario.flows.loads[0].mean_bytes > 3750
    assert scenario.flows.bytes.mean() == pytest.approx(3750, rel=0.05)
    assert sh.Scenario.from_toml(scenario.to_toml()) == scenario


def test_a_distribution_with_blanks_and_percents_is_read(tmp_path):
    (tmp_path / "mine.txt").write_text("# as the HPCC generator has them\n1000 0\n2000 50\n10000 100\n")
    (tmp_path / "x.toml").write_text(TEXT.replace('"incast"\nsize = "20KiB"\nstart = "0.5us"', KIND))
    flows = sh.Scenario.load(tmp_path / "x.toml").flows
    assert flows.bytes[:900].mean() == pytest.approx(3750, rel=0.1)


KIND = '"poisson"\nsizes = "mine.txt"\nload = 0.3\nload_of = "bottleneck"\nflows = 900'


def test_a_part_refuses_a_key_that_it_does_not_have():
    with pytest.raises(sh.ScenarioError, match=r'Dumbbell.hots = 4: .*; did you mean "hosts"\?'):
        sh.Dumbbell(hots=4)
    with pytest.raises(sh.ScenarioError, match=r'duraton = "1s": .*; did you mean "duration"\?'):
        sh.Scenario(duraton="1s", topology=sh.Star(), traffic=[sh.LongLived()])


def test_a_part_without_a_required_key_says_which():
    with pytest.raises(sh.ScenarioError, match=r"Poisson.sizes: expected a value"):
        sh.Poisson(load=0.4)


def test_a_part_lists_its_keys_for_help_and_completion():
    assert inspect.signature(sh.Poisson).parameters["sizes"].default is inspect.Parameter.empty
    assert inspect.signature(sh.Incast).parameters["start"].default == "0s"
    assert "\nsize: " in sh.Incast.__doc__
    assert pickle.loads(pickle.dumps(sh.Incast(size="1KB"))) == sh.Incast(size="1KB")


def test_the_parts_are_those_of_the_models():
    pytest.importorskip("ruff", reason="ruff comes with make lint")
    spec = importlib.util.spec_from_file_location("builders_from_models", ROOT / "packaging" / "builders.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.FILE.read_text() == made.written(), "run `make generated`"


def test_every_name_of_the_package_is_there():
    for name in sh.__all__:
        assert getattr(sh, name) is not None
