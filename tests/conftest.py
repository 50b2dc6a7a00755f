"""What several tests stand on."""

import os
import signal
import subprocess
import sys

import pytest

from shallows import algorithm


@pytest.fixture(autouse=True, scope="session")
def _own_record_of_trusted_code(tmp_path_factory):
    """Tests, and the commands that they start, leave the user's record of trusted code alone."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


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
    carried = {"transport": "tcp", "honours": honours, "draws": False}
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
    code = "from shallows import progress; progress.SILENT_S = 0; from shallows.cli import main; main()"
    # What a shell starts in the background ignores Ctrl-C, and so would this.
    hear = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}

    def run(folder, *words, runs=1):
        command = [sys.executable, "-c", code, *words]
        process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, **hear)
        said, moving = [], set()
        for line in process.stderr:
            said.append(line)
            moving |= {line.partition(": ")[0]} if " simulated, " in line else set()
            if len(moving) == runs:
                break
        process.send_signal(signal.SIGINT)
        said.append(process.stderr.read())
        return process.wait(timeout=600), "".join(said)

    return run
