"""Default folders of results: `results/NAME/…` for each run, and `latest` for the newest."""

import hashlib
import json
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from shallows.base import names
from shallows.results import store
from shallows.results.address import address
from shallows.scenario.supported_keys import REAL_TIME

if TYPE_CHECKING:
    from shallows.scenario import Scenario

ROOT = Path("results")
LATEST = "latest"


def of_run(scenario: "Scenario", world: str = "packet") -> Path:
    """The folder of a run: the same for the same run, another for any other."""
    label = scenario.cc.label if scenario.cc else "mix"
    return _place(scenario, [label], [(scenario, world)])


def of_comparison(labels: list[str], runs: "list[tuple[Scenario, str]]") -> Path:
    """The folder of a comparison of `(scenario, world)` with these labels."""
    return _place(runs[0][0], labels, runs)


def interrupted(folder: Path) -> Path:
    """The folder for an interrupted run, so that it does not replace a complete result."""
    return folder.with_name(f"{folder.name}-interrupted")


def for_result(folder: str | PathLike[str], early: bool) -> Path:
    """The folder for a result: `folder`, or another if an interrupted one would replace a complete one."""
    folder = Path(folder)
    return interrupted(folder) if early and _is_complete(folder) else folder


def _is_complete(folder: Path) -> bool:
    """True if `folder` holds a result that was not interrupted, or one that cannot be read."""
    summaries = [*folder.glob("summary.json"), *folder.glob("*/summary.json")]
    try:
        return bool(summaries) and not any(
            json.loads(path.read_text("utf-8")).get("interrupted") for path in summaries
        )
    except (OSError, ValueError, AttributeError):
        return True


def newest(folder: Path) -> None:
    """Make `latest`, beside `folder`, point to it."""
    store.point(folder.parent / LATEST, folder.name)


def _place(scenario: "Scenario", labels: list[str], runs: "list[tuple[Scenario, str]]") -> Path:
    digest = hashlib.sha256("".join(address(*run) for run in runs).encode()).hexdigest()[:8]
    real_time = any(world in REAL_TIME for _, world in runs)
    when = [datetime.now(UTC).strftime("%Y%m%dT%H%M%S")] if real_time else []
    return ROOT / names.folder(scenario.name) / "-".join([*labels[:6], f"seed{scenario.seed}", *when, digest])
