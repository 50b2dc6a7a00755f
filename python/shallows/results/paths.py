"""Where results go unless their user says: a folder a run, `results/NAME/…`, and `latest` to the newest."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from shallows.results import store
from shallows.results.address import address

if TYPE_CHECKING:
    from shallows.scenario import Scenario

ROOT = Path("results")
LATEST = "latest"


def of_run(scenario: "Scenario", world: str = "packet") -> Path:
    """The folder of a run: the same run again has the same, any other another."""
    label = scenario.cc.label if scenario.cc else "mix"
    return _place(scenario, [label], [(scenario, world)])


def of_comparison(jobs: "Mapping[str, tuple[str, Scenario]]") -> Path:
    """The folder of a comparison of `{label: (world, scenario)}`."""
    runs = [(scenario, world) for world, scenario in jobs.values()]
    return _place(runs[0][0], list(jobs), runs)


def interrupted(folder: Path) -> Path:
    """The place for what a run had done when it was ended early, so that no whole result gives way to it."""
    return folder.with_name(f"{folder.name}-interrupted")


def newest(folder: Path) -> None:
    """Make `latest`, beside `folder`, point to it."""
    store.point(folder.parent / LATEST, folder.name)


def _place(scenario: "Scenario", labels: list[str], runs: "list[tuple[Scenario, str]]") -> Path:
    digest = hashlib.sha256("".join(address(*run) for run in runs).encode()).hexdigest()[:8]
    real_time = any(world == "kernel" for _, world in runs)
    when = [datetime.now(UTC).strftime("%Y%m%dT%H%M%S")] if real_time else []
    return ROOT / scenario.name / "-".join([*labels[:6], f"seed{scenario.seed}", *when, digest])
