"""Sweep files: a scenario with a table `[sweep]`, or a file that names its scenario."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.base import texts
from shallows.base.toml import is_table
from shallows.errors import ScenarioError
from shallows.scenario.examples import find
from shallows.scenario.origin import Origin
from shallows.sweeps.plans import together

if TYPE_CHECKING:
    from shallows.scenario import Scenario

KEYS = ("scenario", "cc", "over", "together", "seeds", "until", "metric")


def of_file(
    path: str | os.PathLike[str], overrides: Mapping[str, object]
) -> "tuple[Scenario, dict[str, Any]]":
    """`(Scenario, {"cc", "over", "seeds", "until", "metric"})` of a TOML file. Raises `ScenarioError`."""
    from shallows.scenario import Scenario

    path = find(path)
    try:
        tables = texts.toml(texts.read(path))
    except (OSError, ValueError):
        return Scenario.load(path, overrides), {}  # which reports what is wrong
    if "sweep" not in tables:
        return Scenario.load(path, overrides), {}
    try:
        settings = _sweep(tables.pop("sweep"))
        if "scenario" in settings:
            if tables:
                raise ScenarioError(
                    next(iter(tables)),
                    None,
                    "no table but [sweep], because sweep.scenario names the scenario",
                )
            return _beside(path, settings.pop("scenario"), overrides), settings
        tables.setdefault("name", path.stem)
        return Scenario.made(tables, Origin(str(path)), overrides), settings
    except ScenarioError as error:
        raise error.in_file(str(path)) from None


def _beside(path: Path, scenario: str, overrides: Mapping[str, object]) -> "Scenario":
    """The scenario that a sweep's file names: a file beside it, or an example."""
    from shallows.scenario import Scenario

    beside = path.parent / scenario
    return Scenario.load(beside if beside.exists() else scenario, overrides)


def _sweep(table: object) -> dict[str, Any]:
    if not is_table(table):
        raise ScenarioError("sweep", table, "a table")
    for key in table:
        if key not in KEYS:
            from shallows.units import did_you_mean

            raise ScenarioError(
                f"sweep.{key}", table[key], f"one of {', '.join(KEYS)}{did_you_mean(key, KEYS)}"
            )
    over = table.get("over", {})
    settings = dict(table)
    if not is_table(over):
        raise ScenarioError("sweep.over", over, 'a table such as { "traffic.0.load" = [0.2, 0.4] }')
    over = {**over}
    for group in settings.pop("together", []):
        over |= together(group)
    settings["over"] = over
    return settings


def share_of(text: object, key: str) -> float | None:
    """0.05 of "5%" or 0.05; None of None."""
    if text is None:
        return None
    from shallows.units import share

    try:
        return share(text if isinstance(text, float) or "%" in str(text) else float(str(text)))
    except ValueError as error:
        raise ScenarioError(key, text, str(error)) from None
