"""Scenarios by name, and what is said where a library is not installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shallows.base import extras
from shallows.errors import ScenarioError
from shallows.scenario import Scenario, examples

SCENARIOS = Path(__file__).parent.parent / "scenarios"


def test_every_scenario_is_an_example_that_says_what_it_shows():
    assert examples.names() == sorted(path.stem for path in SCENARIOS.glob("*.toml"))
    for name in examples.names():
        assert (SCENARIOS / f"{name}.toml").read_text().startswith(f"# {examples.summary(name)}\n")
        assert len(examples.summary(name)) > 30


def test_an_example_is_found_by_name_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Scenario.load("dctcp-40").to_toml() == Scenario.load(SCENARIOS / "dctcp-40.toml").to_toml()


def test_a_file_of_that_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("dctcp-40").write_text((SCENARIOS / "rcp.toml").read_text())
    assert Scenario.load("dctcp-40").cc.label == "rcp"
    with pytest.raises(ScenarioError, match="readable"):
        Scenario.load("elsewhere/dctcp-40")


def test_a_name_misspelt_is_told_its_neighbour():
    with pytest.raises(ScenarioError, match=r'name of an example; did you mean "dctcp-40"'):
        Scenario.load("dctpc-40")


@pytest.mark.parametrize(
    ("missing", "words", "extra"),
    [
        ("matplotlib", "run dctcp-40 --plot", "plot"),
        ("numba", "run dcqcn-2 --world fluid", "fluid"),
        ("numba", "fluid fixed-point dcqcn", "fluid"),
    ],
)
def test_what_is_not_installed_is_named_before_anything_runs(tmp_path, missing, words, extra):
    """As if `missing` were not there: a process whose import system does not find it."""
    hide = f"""
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name == "{missing}":
            raise ModuleNotFoundError(name)
import importlib.util
known = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "{missing}" else known(name, *rest)
sys.meta_path.insert(0, Hidden())
from shallows.cli import main
main()
"""
    command = [sys.executable, "-c", hide, *words.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 2, done.stderr
    assert f"expected {missing} to be installed; write: pip install " in done.stderr
    assert f"[{extra}]" in done.stderr
    assert not list(tmp_path.iterdir())


def test_every_extra_is_one_of_the_package():
    import tomllib

    project = tomllib.loads((SCENARIOS.parent / "pyproject.toml").read_text())["project"]
    for extra, library in extras.LIBRARIES.items():
        assert any(wanted.startswith(library) for wanted in project["optional-dependencies"][extra])
