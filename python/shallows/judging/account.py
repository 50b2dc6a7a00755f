"""The account of a failure: the scenario of the row as a file, and where the time of a flow went in it."""

import io
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from shallows.base import names
from shallows.core.progress import OnProgress
from shallows.errors import NamedOverrides, ScenarioError
from shallows.runner import in_world, prepare
from shallows.why import paths, report

if TYPE_CHECKING:
    from shallows.printing.report import Part
    from shallows.scenario import Scenario

WIDTH = 100
"""Columns of the text of an account."""


def of(
    scenario: "Scenario", changes: Mapping[str, Any], flow: int | None, on_progress: OnProgress
) -> dict[str, str]:
    """The scenario with every default, and `why`'s account of a flow of it with `changes`, as texts.

    Only a flow that ends has an account: `changes` give one an end, or add one. It is the flow of this
    number, or the slowest.
    """
    toml = scenario.to_toml()
    try:
        varied = prepare(scenario, overrides=NamedOverrides(changes)) if changes else scenario
        run = in_world("packet")(varied, on_progress)
        if flow is None:
            found = paths.of_run(run, slowest=1, on_progress=on_progress)
        else:
            found = paths.of_run(run, [flow], on_progress=on_progress)
        account = rendered(report.of_paths(found))
    except ScenarioError as error:
        account = f"there is no account of a flow: {error}"
    return {"scenario": toml, "account": account}


def rendered(parts: "Iterable[Part]") -> str:
    """The parts of a report as text without colours."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=WIDTH, highlight=False, markup=False, emoji=False, color_system=None)
    for part in parts:
        console.print(names.terminal(part) if isinstance(part, str) else part)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())
