"""What a host in user space takes for a credit, and how even its gaps are."""

import json
import sys

import numpy as np
import pytest

import commands
from shallows.worlds import wire_host

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the wire world needs Linux")


def test_quantiles_are_in_microseconds():
    row = wire_host.row("a", np.array([500.0, 700.0, 800.0, 100_000.0]))
    assert (row.count, row.median_us, row.below_700_ns) == (4, 0.75, 0.5)
    assert row.deviation_us == pytest.approx(np.std([0.5, 0.7, 0.8, 100.0]))


def test_a_gap_needs_both_neighbours():
    """Of credits 0, 1 and 3 only the first two are neighbours: their gap is 30 where it was 10."""
    times = {"number": np.array([0.0, 1.0, 3.0]), "departed": np.array([0.0, 10.0, 30.0])}
    times["returned"] = np.array([5.0, 35.0, 60.0])
    paced, passed = wire_host.gaps(times, "departed", "returned")
    assert (paced.tolist(), passed.tolist()) == ([10.0], [30.0])


def test_each_credit_has_its_times_in_order():
    """Nobody waits for another process here: a credit that is late is late at every later stamp, too."""
    times = wire_host.stamps(500, 200_000, polls=False, answers=True)
    assert len(times["number"]) >= 450
    assert (times["due"] == 200_000 * times["number"]).all()
    for earlier, later in zip(wire_host.STAMPS, wire_host.STAMPS[1:], strict=False):
        # The kernel's clock and the program's are aligned to some tenths of a microsecond.
        assert (times[later] - times[earlier] > -20_000).all(), later


def test_a_busy_machine_is_named():
    row = wire_host.row("a", np.ones(10))
    assert "OTHER WORK" in wire_host.table(wire_host.Host([row], 0.2, 0.0))
    assert "OTHER WORK" in wire_host.table(wire_host.Host([row], 0.01, 0.3))
    assert "OTHER WORK" not in wire_host.table(wire_host.Host([row], 0.03, 0.02))


def test_the_command_prints_json(tmp_path):
    done = commands.run("wire", "host", "--credits", "1000", "--interval", "100us", "--json", cwd=tmp_path)
    content = json.loads(done.stdout)["data"]
    assert {row["name"].split(":")[0] for row in content["rows"]} >= {
        "credit to data, polling",
        "change of a gap by a switch",
    }
