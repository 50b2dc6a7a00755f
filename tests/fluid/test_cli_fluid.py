"""`shallows fluid`: the names it prints, the mistakes it explains."""

import csv
import json

import pytest
from typer.testing import CliRunner

from shallows.cli.fluid import app
from shallows.fluid import MODELS


def shallows_fluid(*arguments):
    return CliRunner().invoke(app, arguments)


def answer(*arguments):
    result = shallows_fluid(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["data"]


def test_fixed_point_in_json():
    found = answer("fixed-point", "dcqcn", "--flows", "10", "--rate", "40Gbps", "--delay", "4us")
    assert found["p"] == pytest.approx(6.031955e-3, rel=1e-6)
    assert found["queue_kb"] == pytest.approx(122.623, abs=1e-3)
    assert found["alpha"] == pytest.approx(0.1532765, rel=1e-6)
    assert found["rate_gbps"] == 4
    assert found["on_ramp"] is True


def test_settings_by_their_papers_names():
    gentle = answer("fixed-point", "dcqcn", "--flows", "64", "--set", "kmax=2000KB", "--set", "pmax=10%")
    assert gentle["queue_kb"] == pytest.approx(1183.119, abs=1e-3)
    extended = answer("fixed-point", "dcqcn", "--flows", "64", "--set", "ramp=extended")
    assert extended["queue_kb"] == pytest.approx(1156.5, abs=0.1)
    assert extended["fixed_point"] is True
    assert extended["on_ramp"] is False
    slope = ("--set", "weight_slope=0.5")
    assert answer("margin", "patched-timely", "--flows", "2", *slope)["stable"] is False
    assert answer("margin", "patched-timely", "--flows", "39", *slope)["stable"] is True


def test_no_fixed_point_is_said_and_is_no_mistake():
    found = answer("margin", "dcqcn", "--flows", "15")
    assert found["queue_kb"] is None
    assert found["on_ramp"] is False
    assert found["phase_margin_deg"] is None
    assert found["rightmost_root"] is None
    assert found["stable"] is False
    assert "no fixed point" in shallows_fluid("fixed-point", "dcqcn", "--flows", "15").stdout


def test_margin_in_json():
    found = answer("margin", "dcqcn", "--flows", "10", "--delay", "85us")
    assert found["phase_margin_deg"] == pytest.approx(-3.35, abs=0.02)
    assert found["crossover_rad_s"] == pytest.approx(2595, abs=1)
    assert found["delay_margin_us"] == pytest.approx(62.5, abs=0.1)
    assert found["rightmost_root"] == pytest.approx([77.4, 2590], abs=1)
    assert found["stable"] is False


def test_margin_beside_the_published_one():
    options = ("--flows", "40", "--delay", "0us", "--set", "ramp=extended", "--as-published")
    found = answer("margin", "dcqcn", *options)
    assert found["as_published"]["phase_margin_deg"] == pytest.approx(27.37, abs=0.1)
    assert found["phase_margin_deg"] != pytest.approx(27.37, abs=1)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_answers(name):
    assert "on_ramp" in answer("fixed-point", name)
    assert "stable" in answer("margin", name)
    assert answer("trajectory", name, "--duration", "2ms")["queue_peak_kb"] >= 0


def test_trajectory_writes_its_columns(tmp_path):
    file = tmp_path / "run.csv"
    found = answer(
        "trajectory", "patched-timely", "--start", "7Gbps,3Gbps", "--duration", "50ms", "--csv", str(file)
    )
    assert len(found["rates_gbps"]) == 2
    rows = list(csv.DictReader(file.open()))
    assert float(rows[0]["rate_bps_0"]) == 7e9
    assert float(rows[-1]["rate_bps_0"]) / 1e9 == pytest.approx(5.29, abs=0.02)
    assert float(rows[-1]["time_us"]) == pytest.approx(50e3, rel=1e-3)


def test_map_over_two_parameters():
    found = answer(
        "map", "dcqcn", "--over", "flows=2:4", "--over", "delay=0us:100us:50us", "--set", "ramp=extended"
    )
    assert found["axes"] == {"flows": [2, 3, 4], "delay": pytest.approx([0, 50e-6, 100e-6])}
    assert found["phase_margin_deg"][0] == pytest.approx([20.42, 8.49, -3.45], abs=0.02)
    assert found["points"] == 9


@pytest.mark.parametrize(
    "arguments",
    [
        ("margin", "dcqcn", "--as-published"),
        ("trajectory", "dcqcn", "--duration", "5ms"),
        ("map", "dcqcn", "--over", "flows=2:20"),
        ("map", "dcqcn", "--over", "flows=2:20", "--over", "delay=0us:90us:30us"),
    ],
)
def test_plots(arguments, tmp_path):
    file = tmp_path / "figure.png"
    result = shallows_fluid(*arguments, "--plot", str(file))
    assert result.exit_code == 0, result.output
    assert file.stat().st_size > 10_000


ONE_MS = ("trajectory", "dcqcn", "--duration", "1ms")
MISTAKES = [
    (("fixed-point", "dqcn"), 'MODEL = "dqcn": expected one of dcqcn'),
    (("fixed-point", "dcqcn", "--set", "kmx=1MB"), 'kmx = "1MB": expected a parameter of dcqcn'),
    (("fixed-point", "dcqcn", "--set", "kmx=1MB"), 'did you mean "kmax"?'),
    (("fixed-point", "dcqcn", "--set", "kmax=1000"), 'kmax = "1000": expected a size with its unit'),
    (("fixed-point", "dcqcn", "--set", "kmax"), '--set = "kmax": expected KEY=VALUE'),
    (("fixed-point", "dcqcn", "--set", "kmax=1KB"), 'kmax = "1KB": expected a size above kmin = 5KB'),
    (("fixed-point", "dcqcn", "--set", "ramp=flat"), 'ramp = "flat": expected cliff or extended'),
    (("fixed-point", "dcqcn", "--set", "pmax=200%"), "pmax = 2.0: expected a number above 0 and at most 1"),
    (("fixed-point", "dcqcn", "--set", "g=nan"), 'g = "nan": expected a number'),
    (("fixed-point", "dcqcn", "--flows", "0"), "flows = 0.0: expected a whole number of at least 1"),
    (("fixed-point", "dcqcn", "--flows", "2.5"), "flows = 2.5: expected a whole number"),
    (("fixed-point", "dcqcn", "--rate", "40"), 'rate = "40": expected a rate with its unit'),
    (("fixed-point", "dcqcn", "--delay", "-1us"), 'delay = "-1us": expected a time of 0 or more'),
    (("margin", "dctcp", "--as-published"), "--as-published"),
    (("margin", "timely", "--plot", "x.png"), "a model with a fixed point"),
    ((*ONE_MS, "--step", "10us"), "no longer than the feedback delay of 4us"),
    (("trajectory", "dcqcn", "--duration", "0s"), "duration = 0.0: expected a time above 0 s"),
    ((*ONE_MS, "--method", "euler"), 'method = "euler": expected rk4 or heun'),
    ((*ONE_MS, "--start", "7Gbps", "--flows", "2"), "one rate for each"),
    (("map", "dcqcn", "--over", "ramp=cliff"), "expected KEY=RANGE with KEY one of flows"),
    (("map", "dcqcn", "--over", "flows=9:2"), "expected FIRST:LAST"),
    (("map", "dcqcn", "--over", "delay=0us:1us:0us"), "a step above 0"),
    (("map", "dcqcn", "--over", "r_ai=1"), 'r_ai = "1": expected a rate'),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_mistakes_are_one_message_and_status_2(arguments, message):
    result = shallows_fluid(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--flows", "x"], '--flows = "x": expected a whole number of at least 1, such as 2'),
        (["--flows", "0"], "--flows = 0.0: expected a whole number of at least 1"),
        (["--delay", "x"], '--delay = "x": expected a time with its unit'),
        (["--set", "g=x"], 'g = "x": expected a number above 0 and at most 1, such as 0.0625'),
    ],
)
def test_a_wrong_number_says_where_it_stands_and_what_to_write(words, expected):
    result = shallows_fluid("margin", "dctcp", *words)
    assert result.exit_code == 2
    assert expected in result.output
