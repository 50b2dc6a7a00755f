"""What several tests stand on."""

import os
import signal
from functools import cache
from pathlib import Path

import pytest

import commands
import measuring
import suites
from shallows.algorithms import algorithm, traits


def pytest_addoption(parser):
    parser.addoption(
        "--measure",
        action="store_true",
        help="write the processor time of each test that has no mark to tests/processor_times.txt",
    )


def pytest_configure(config):
    config.pluginmanager.register(measuring.Plugin(config))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Dear tests are for `make thorough` and `make nightly`, and those with a browser are all dear."""
    measures, rows = config.getoption("--measure"), suites.on_file()
    for item in items:
        for mark in filter(item.get_closest_marker, suites.BY_FILE):
            if f"mark.{mark}" not in source(item.path):
                raise pytest.UsageError(f"{item.nodeid}: expected pytest.mark.{mark} in its file")
        if any(map(item.get_closest_marker, suites.MARKED)):
            continue
        if "browser" in item.fixturenames:
            item.add_marker("thorough")
        elif item.nodeid in rows and not measures:
            item.add_marker(rows[item.nodeid].suite)
    parts = any("::" in word for word in config.args) or config.option.keyword
    if measures and parts:
        raise pytest.UsageError("--measure measures all tests of files: expected no test and no -k")
    gone = suites.without_test(rows, () if parts or measures else [item.nodeid for item in items])
    if gone and not measures:
        raise pytest.UsageError(f"{suites.TIMES.name} names no test: {gone[0]}; {suites.remedy(gone[0])}")


source = cache(Path.read_text)


@pytest.fixture(autouse=True, scope="session")
def _own_record_of_trusted_code(tmp_path_factory):
    """Tests, and the commands that they start, leave the user's record of trusted code alone."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(autouse=True, scope="session")
def _server_of_commands():
    """Commands, and the sweeps of this process, are forks of one server that has imported what they need."""
    commands.start_server()


TRUE_CATALOG = algorithm.catalog


def parameter(name, unit, default, low, high):
    return {
        "name": name,
        "symbol": name,
        "unit": unit,
        "default": default,
        "min": low,
        "max": high,
        "meaning": "",
        "source": "",
    }


def row(name, marking, parameters=(), presets=()):
    port = "" if marking == "none" else "step"
    tables = {"parameters": list(parameters), "presets": list(presets)}
    honours = ["hosts.acks_every", "hosts.rto_min", "cc.receiver"]
    carried = {
        "transport": "tcp",
        "honours": honours,
        "draws": False,
        "trims": False,
        "traits": traits.UNKNOWN,
    }
    return {"name": name, "marking": marking, "port": port, **carried, **tables}


CATALOG = [
    row("fixed", "none", [parameter("window", "pkt", 1.0, 1.0, 1e6)]),
    row("reno", "ecn", [parameter("ecn", "flag", 0.0, 0.0, 1.0)]),
    row(
        "dctcp",
        "required",
        [parameter("g", "1", 0.0625, 1e-6, 1.0), parameter("alpha", "1", 1.0, 0.0, 1.0)],
        [{"name": "ns-2", "values": [("alpha", 0.0)], "source": ""}],
    ),
    row("dx", "none", [parameter("headroom", "s", 0.0, 0.0, 1.0)]),
    row(
        "vegas",
        "none",
        [parameter("alpha", "pkt", 2.0, 0.0, 1e3)],
        [{"name": "ns-2", "values": [("alpha", 1.0)]}],
    ),
    row(
        "paced",
        "none",
        [parameter("floor", "bit/s", 1e7, 1.0, 1e12), parameter("burst", "B", 3100.0, 1.0, 1e9)],
    ),
]
"""The shape of the catalog with a row for every unit, so that these tests do not wait for the algorithms."""


@pytest.fixture
def small_catalog(monkeypatch):
    """The catalog is a small one of every unit."""
    monkeypatch.setattr(algorithm, "catalog", lambda: CATALOG)


@pytest.fixture
def true_catalog(small_catalog, monkeypatch):
    """Shallows' own catalog again, in a file that uses the small one."""
    monkeypatch.setattr(algorithm, "catalog", TRUE_CATALOG)


@pytest.fixture
def interrupted():
    """Runs a command of `shallows` in a folder, sends it Ctrl-C once its runs move packets: (status, stderr).

    It is told to say how far it is at once, so that nothing depends on how fast this machine is.
    """
    code = f"from shallows.printing import progress; progress.SILENT_S = 0; {commands.MAIN}"

    def run(folder, *words, runs=1):
        process = commands.Process(*words, cwd=folder, code=code)
        moving = set()
        for line in process.error_lines():
            moving |= {line.partition(": ")[0]} if " simulated, " in line else set()
            if len(moving) == runs:
                break
        process.send_signal(signal.SIGINT)
        return process.wait(), process.communicate()[1]

    return run
