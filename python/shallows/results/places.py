"""Where results go unless their user says: a folder a run, `results/NAME/…`, and `latest` to the newest."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path

from shallows.results import store
from shallows.results.address import address

ROOT = Path("results")
LATEST = "latest"


def of_run(scenario, world="packet"):
    """The folder of a run: the same run again has the same, any other another."""
    label = scenario.cc.label if scenario.cc else "mix"
    return _place(scenario, [label], [(scenario, world)])


def of_comparison(jobs):
    """The folder of a comparison of `{label: (world, scenario)}`."""
    runs = [(scenario, world) for world, scenario in jobs.values()]
    return _place(runs[0][0], list(jobs), runs)


def interrupted(folder):
    """The place for what a run had done when it was ended early, so that no whole result gives way to it."""
    return folder.with_name(f"{folder.name}-interrupted")


def newest(folder):
    """Make `latest`, beside `folder`, point to it."""
    store.point(folder.parent / LATEST, folder.name)


def _place(scenario, labels, runs):
    digest = hashlib.sha256("".join(address(*run) for run in runs).encode()).hexdigest()[:8]
    real_time = any(world == "kernel" for _, world in runs)
    when = [datetime.now(UTC).strftime("%Y%m%dT%H%M%S")] if real_time else []
    return ROOT / scenario.name / "-".join([*labels[:6], f"seed{scenario.seed}", *when, digest])
