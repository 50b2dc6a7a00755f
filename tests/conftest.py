"""What several tests stand on."""

import os
import signal
import sys
from pathlib import Path

import pytest

import commands
from shallows.algorithms import algorithm, traits

DEAR = {
    test: target
    for target, _, test in (
        line.partition(" ") for line in Path(__file__).with_name("dear.txt").read_text().splitlines()
    )
}
"""Tests that took a third of a second or, where they simulate, half of one, and the target that runs them.

It is `thorough`, and `nightly` for those that took a second and neither simulate nor need a browser. These
8 % of all tests take two thirds of the time.
"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """The dear tests are for `make thorough` and `make nightly`, and those with a browser are all dear."""
    for item in items:
        if item.nodeid in DEAR:
            item.add_marker(DEAR[item.nodeid])
        elif "browser" in item.fixturenames:
            item.add_marker(pytest.mark.thorough)
    if gone := names_of_no_test({item.nodeid for item in items}):
        raise pytest.UsageError(f"tests/dear.txt names no test: {', '.join(gone[:5])}")


def names_of_no_test(collected):
    """The names of `DEAR` without a test, though other tests of their file were collected whole.

    A file that is collected in part, or that a missing library skips, says nothing.
    """
    asked = any("::" in word for word in sys.argv)
    files = {} if asked else {name.partition("::")[0] for name in collected}
    return sorted(name for name in DEAR.keys() - collected if name.partition("::")[0] in files)


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
