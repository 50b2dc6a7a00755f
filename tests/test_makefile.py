"""The targets of the Makefile work in a fresh clone, and long commands print progress."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_a_silent_command_prints_its_time_and_keeps_its_status(capfd):
    spec = importlib.util.spec_from_file_location("heartbeat", HEARTBEAT)
    heartbeat = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(heartbeat)
    command = [sys.executable, "-c", "import time; time.sleep(0.5); raise SystemExit(3)"]
    assert heartbeat.main(command, interval_s=0.1) == 3
    assert 2 <= capfd.readouterr().err.count("… ") <= 40
    assert heartbeat.INTERVAL_S <= 10
