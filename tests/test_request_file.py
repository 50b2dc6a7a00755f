"""Request files: what `shallows request` writes for programs without Python."""

import json
import tempfile
from pathlib import Path

import pytest

from each import each
from least_algorithm import Least
from shallows import _core
from shallows.errors import ScenarioError
from shallows.export import request_file
from shallows.scenario import Scenario, examples

ROOT = Path(__file__).parents[1]


def written(scenario, *, traffic):
    with tempfile.TemporaryDirectory() as folder:
        path = request_file.write(scenario, Path(folder, "request.json"), traffic=traffic)
        return json.loads(path.read_text())


def test_the_file_of_the_tests_in_c_is_current(tmp_path):
    """A change of the request after which the file of before cannot be read raises VERSION."""
    scenario = Scenario.load(ROOT / "examples/c/star.toml")
    path = request_file.write(scenario, tmp_path / "star.json")
    assert path.read_bytes() == (ROOT / "crates/capi/tests/star.json").read_bytes()


@each((name,) for name in examples.names())
def test_every_example_is_a_request_with_and_without_its_traffic(name):
    scenario = Scenario.load(examples.find(name))
    if any(used.native or used.user_class for used in scenario.flows.ccs):
        return
    whole, alone = (written(scenario, traffic=traffic) for traffic in (True, False))
    assert [_core.check(file["data"]) for file in (whole, alone)] == [None, None]
    flows, computations = (whole["data"][key] for key in ("flows", "computations"))
    assert flows["src"] == scenario.flows.src.tolist()
    assert len(whole["links"]) == len(whole["data"]["links"]["from"])
    rest = {"path_hashes", "routes", "flows", "computations", "record"}
    assert {key for key in whole["data"] if whole["data"][key] != alone["data"][key]} <= rest
    assert not any(alone["data"]["flows"].values())
    assert not any(alone["data"]["computations"].values())
    assert len(computations["host"]) == len(scenario.flows.computations)


def test_an_algorithm_in_python_is_refused(tmp_path):
    scenario = Scenario.load(ROOT / "examples/c/star.toml").set("cc.name", Least)
    with pytest.raises(ScenarioError, match="a request file holds no Python"):
        request_file.write(scenario, tmp_path / "request.json")
    assert not (tmp_path / "request.json").exists()
