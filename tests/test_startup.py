"""A short run pays for what it uses: `shallows run` imports nothing that other commands need."""

import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

import shallows

SMALL = """
duration = "10ms"
cc = "dctcp"
[topology]
kind = "dumbbell"
hosts = 4
[[traffic]]
kind = "long-lived"
"""
HEAVY = {
    "asyncio",  # 20 ms
    "concurrent.futures",
    "distributed",
    "filelock",  # 17 ms, with asyncio
    "matplotlib",
    "networkx",
    "numba",
    "numpy.ma",  # 15 ms, of which numpy.unique asks whether an array is masked
    "pandas",
    "pyarrow",  # 80 ms, and only who asks for Arrow has it
    "rich.console",  # 20 ms; flows without an end are shown in plain text
    "scipy",
    "shallows.cli.fluid",
    "shallows.cli.live",
    "shallows.cli.results",
    "shallows.cli.sweep",
    "shallows.sweeps.comparison",
    "shallows.fluid",
    "shallows.scenario.builders",
    "shallows.plot",
    "shallows.sweeps.result",
}
"""With what they cost, of the 140 ms that numpy and pydantic take on the same machine."""


def imported(code, folder):
    """The modules that a Python has imported after `code`."""
    code += "\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


RUN = """
import sys
sys.argv = ["shallows", "run", "small.toml", "--out", "out"]
from shallows.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code
"""


def test_a_run_imports_no_more_than_it_needs(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    assert HEAVY & imported(RUN, tmp_path) == set()


@pytest.mark.parametrize("code", ["import shallows", "import shallows.cli"])
def test_the_package_and_its_command_line_import_neither_tables_nor_figures(tmp_path, code):
    more = {"numpy", "pydantic", "shallows.scenario", "shallows._core"}
    assert (HEAVY | more) & imported(code, tmp_path) == set()


PAIRS, MOST_PAIRS = 9, 45
MOST = {"run small.toml": 2.2, "--help": 1.5}
"""The most processor time of a command, as a multiple of what importing its libraries takes."""


@pytest.mark.nightly
@pytest.mark.parametrize("command", MOST)
def test_a_short_command_takes_little_more_than_its_libraries_take_to_load(tmp_path, command):
    """In processor time, in pairs, more where needed: as installed, no checkout is asked what was edited."""
    installed = tmp_path / "installed"
    shutil.copytree(Path(shallows.__file__).parent, installed / "shallows")
    (installed / "shallows" / "commit.txt").write_text("0123456789")
    (tmp_path / "small.toml").write_text(SMALL)
    bare = ["-c", "import numpy, pydantic, typer"]
    words = ["-c", "from shallows.cli import main; main()", *command.split()]
    for one in (bare, words):  # the first time, Python compiles them
        processor_s(one, tmp_path, installed)
    ratios, most = [], MOST[command]
    while len(ratios) < PAIRS or (statistics.median(ratios) > most and len(ratios) < MOST_PAIRS):
        loading_s = processor_s(bare, tmp_path, installed)
        ratios.append(processor_s(words, tmp_path, installed) / loading_s)
        shutil.rmtree(tmp_path / "results", ignore_errors=True)
    assert statistics.median(ratios) <= most, ratios


def processor_s(words, folder, installed):
    """The processor time that a Python of its own takes, from its start to its end."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(installed)
    options = {"cwd": folder, "env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, *words], **options)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    return used.ru_utime + used.ru_stime
