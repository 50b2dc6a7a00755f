"""Scenarios that once broke it: each is refused with a sentence, or runs to its end and says what is true."""

import json
import resource
from pathlib import Path

import pytest

import commands
from shallows import Run

FAULTS = sorted((Path(__file__).parent / "faults").glob("*.toml"))
THOROUGH = {"rows"}
"""Takes 12 s."""
MOST_S, MOST_BYTES, MOST_GBPS = 60, 8 * 2**30, 10
"""Of one run: seconds of processor time, memory, and what any flow has in these networks."""
STILL_S = 600
"""Of one run that waits for a processor, or for nothing."""
REFUSED = {
    "case-1491.min": "inigo does not react to marks",
    "filek": "a known key",
    "marking-kind": "network.marking.kind",
    "rcpmin": "rcp runs over rated",
    "selfk": "a known key",
    "small-frames": "a start before the end",
    "trav": "name",
    "trav2": "name",
}
"""What the sentence of a refusal says."""
RIGHT = {
    "cubic-slow": lambda summary: summary["flows"]["goodput_gbps"] > 0.9 * 0.02 * 1448 / 1502,
    "pause-stuck": lambda summary: summary["flows"]["finished"] == summary["flows"]["offered"],
    "pause-stuck-shared": lambda summary: summary["flows"]["finished"] == summary["flows"]["offered"],
    "pihang": lambda summary: summary["flows"]["finished"] == 3,
    "quick": lambda summary: summary["flows"]["finished"] > 3000,
    "reno-10": lambda summary: summary["flows"]["goodput_gbps"] > 0.9 * 10 * 1460 / 1500,
    "roce-livelock": lambda summary: summary["flows"]["finished"] == summary["flows"]["offered"],
    "roce-livelock-dcqcn": lambda summary: summary["flows"]["finished"] == summary["flows"]["offered"],
    "warm": lambda summary: summary["bottleneck"]["utilization"] is None,
}
"""What must be so in the summary of a run, beside what must be so of every run."""
OPEN = {}
"""Faults that are known and not mended yet; one that is mended must leave this table."""


def cases():
    for path in FAULTS:
        marks = [pytest.mark.xfail(strict=True, reason=OPEN[path.stem])] if path.stem in OPEN else []
        marks += [pytest.mark.nightly] * (path.stem in THOROUGH)
        yield pytest.param(path, marks=marks, id=path.stem)


def _limits():
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_S, MOST_S))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


@pytest.mark.parametrize("path", list(cases()))
def test_a_fault_is_refused_or_runs_right(path, tmp_path):
    home = tmp_path / "a" / "b"
    home.mkdir(parents=True)
    done = commands.run("run", path, "--json", cwd=home, timeout=STILL_S, first=_limits)
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr
    beside = {entry for entry in tmp_path.rglob("*") if home / "results" not in entry.parents}
    assert beside <= {home.parent, home, home / "results"}
    if path.stem in REFUSED:
        assert done.returncode == 2, done.stderr
        assert str(path) in done.stderr
        assert REFUSED[path.stem] in done.stderr
        return
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)["data"]
    assert summary["books"] == {"closed": True, "problems": []}
    assert (summary["bottleneck"]["utilization"] or 0) <= 1
    assert RIGHT.get(path.stem, bool)(summary)
    flows = Run.load(next(home.glob("results/*/*/summary.json")).parent).flows
    assert not (flows.goodput_gbps > MOST_GBPS).any()
