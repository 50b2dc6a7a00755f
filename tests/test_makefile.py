"""The targets of the Makefile work in a fresh clone, and long commands print progress."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from itertools import combinations
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

from nightly import PARTS

pytestmark = pytest.mark.repository

ROOT = Path(__file__).parent.parent
HEARTBEAT = ROOT / "packaging" / "heartbeat.py"
TARGETS = re.findall(
    r"[\w-]+", re.search(r"^\.PHONY:((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text(), re.M)[1]
)


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_makes_the_environment_before_it_uses_it(target, tmp_path):
    for path in (ROOT / "Makefile", *ROOT.glob("requirements*.lock")):
        shutil.copy(path, tmp_path)
    said = subprocess.run(
        ["make", "--dry-run", target], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    lines = said.stdout.splitlines()
    uses = [i for i, line in enumerate(lines) if ".venv/bin/" in line]
    makes = [i for i, line in enumerate(lines) if line.endswith("-m venv .venv")]
    assert not uses or (makes and makes[0] < uses[0]), lines[uses[0]]


def test_some_target_runs_each_test():
    """Whatever markers a test has: those that no target asks for would leave it out in silence."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    asks = r"-m pytest[^\n&]*? -m (?:\"([^\"]+)\"|'([^']+)'|(\w+))(?= ?$)"
    by_target = [max(found) for found in re.findall(asks, (ROOT / "Makefile").read_text(), re.M)]
    by_night = [
        max(found) for part in PARTS.values() for step in part.steps for found in re.findall(asks, step)
    ]
    assert len(by_target) == 6  # kernel, landing, papers, repository, thorough, types
    assert "kernel" in by_night
    chosen = [shlex.split(options["addopts"])[-1], *by_target, *by_night]
    markers = [marker.partition(":")[0] for marker in options["markers"]]
    expressions = [Expression.compile(one) for one in chosen]
    for count in range(len(markers) + 1):
        for marked in combinations(markers, count):
            assert any(one.evaluate(lambda name, marked=marked: name in marked) for one in expressions), (
                marked
            )


def test_continuous_integration_runs_each_target_with_tests():
    commands = re.findall(
        r"^([\w-]+):.*\n(?:[\t#i].*\n)*?\t.*-m pytest", (ROOT / "Makefile").read_text(), re.M
    )
    assert {"test-python", "papers", "repository", "thorough"} <= set(commands)
    run = (ROOT / ".ci" / "run").read_text()
    stages = set(re.findall(r"\bmake ([\w-]+)", run))
    # The first is in make nightly, the second measures, and make landing has the tests of the others.
    assert set(commands) - stages == {"soak-attach", "suites", "test-python", "thorough"}


def test_a_landing_runs_what_its_targets_run_one_by_one():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    asks = r"^{}:.*\n(?:[\t#i].*\n)*?\t.*-m pytest .*-m \"(.*)\"$"

    def find(target):
        return re.search(asks.format(target), (ROOT / "Makefile").read_text(), re.M)[1]

    parts = [shlex.split(options["addopts"])[-1], find("thorough"), find("papers")]
    parts, whole = [Expression.compile(one) for one in parts], Expression.compile(find("landing"))
    markers = [marker.partition(":")[0] for marker in options["markers"]]
    for count in range(len(markers) + 1):
        for marked in combinations(markers, count):
            has = marked.__contains__
            if any(one.evaluate(has) for one in parts) and not {"kernel", "types", "repository"} & {*marked}:
                assert whole.evaluate(has), marked


def test_the_bytecode_of_tests_is_kept():
    show = ["make", "--no-print-directory", "--eval", "show:; @echo [$${PYTHONDONTWRITEBYTECODE-}]", "show"]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    said = subprocess.run(show, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"


def test_a_silent_command_prints_its_time_and_keeps_its_status(capfd):
    spec = importlib.util.spec_from_file_location("heartbeat", HEARTBEAT)
    heartbeat = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(heartbeat)
    command = [sys.executable, "-c", "import time; time.sleep(0.5); raise SystemExit(3)"]
    assert heartbeat.main(command, interval_s=0.1) == 3
    assert 2 <= capfd.readouterr().err.count("… ") <= 40
    assert heartbeat.INTERVAL_S <= 10


@pytest.mark.parametrize(
    "workflow", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.name
)
def test_a_workflow_names_what_it_runs_by_its_digest(workflow):
    """A tag or a branch of an action can be moved, and a package of an index replaced."""
    lines = workflow.read_text().splitlines()
    actions = [line.partition("uses:")[2].strip() for line in lines if "uses:" in line]
    assert actions
    for action in actions:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
    for line in lines:
        assert "pip install" not in line or "--require-hashes" in line, line


PYTHON_SAYS = {"name": "six", "version": "1.0", "vulns": []}
RUST_SAYS = {"lockfile": {"dependency-count": 3}, "vulnerabilities": {"list": []}}
SICK = {"package": {"name": "tar", "version": "0.1"}, "advisory": {"id": "RUSTSEC-1"}}
ANSWERS = {
    "nothing": (PYTHON_SAYS, RUST_SAYS, 0, "0 advisories for 3 locked"),
    "of Python": (PYTHON_SAYS | {"vulns": [{"id": "PYSEC-1"}]}, RUST_SAYS, 1, "six 1.0: PYSEC-1"),
    "of Rust": (PYTHON_SAYS, RUST_SAYS | {"vulnerabilities": {"list": [SICK]}}, 1, "tar 0.1: RUSTSEC-1"),
    "not known": ({"name": "six", "skip_reason": "not found on PyPI"}, RUST_SAYS, 77, "(not found on PyPI)"),
    "no network": (PYTHON_SAYS, None, 77, "skipped (error: could not fetch)"),
    "no tool": (None, RUST_SAYS, 77, "No such file"),
}


@pytest.mark.parametrize(("python", "rust", "status", "said"), ANSWERS.values(), ids=ANSWERS)
def test_advisories_are_found_or_their_absence_has_a_reason(tmp_path, python, rust, status, said):
    """Status 0 only if both databases were asked about every locked dependency."""
    answers = {"python": python and {"dependencies": [python]}, "rust": rust}
    for name, answer in answers.items():
        tool = f"echo '{json.dumps(answer)}'" if answer else "echo 'error: could not fetch' >&2; exit 2"
        (tmp_path / name).write_text(f"#!/bin/sh\n{tool}\n")
        (tmp_path / name).chmod(0o755)
    if python is None:
        (tmp_path / "python").unlink()
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "advisories.py", *(tmp_path / name for name in answers)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stderr
    assert said in done.stdout
