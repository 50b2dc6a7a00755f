"""Options of several commands: KEY=VALUE of `--set`, and numbers with a lower bound."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from shallows.cli import completion
from shallows.errors import NamedOverrides, ScenarioError


def _trust(wanted: bool) -> bool:
    if wanted:
        from shallows.algorithms import trust

        trust.everything()
    return wanted


Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        callback=_trust,
        help="Run Python files that the scenario or result names.",
    ),
]


def at_least(least: float) -> Callable[[float | None], float | None]:
    """An option callback that refuses values below `least`. None, an absent option, passes."""

    def checked(value: float | None) -> float | None:
        if value is not None and value < least:
            raise typer.BadParameter(f"{value:g}: expected {least:g} or more")
        return value

    return checked


Algorithms = typer.Option(
    metavar="NAME", help="An algorithm or preset; repeat for each.", autocompletion=completion.algorithms
)
World = Annotated[str, typer.Option(help="World to run in: packet, fluid, kernel or wire.")]
Runs = Annotated[int | None, typer.Option(callback=at_least(1), help="Runs at a time; all cores if absent.")]
Result = Annotated[Path, typer.Argument(metavar="RESULT", help="Folder of a run of the packet world.")]
EXAMPLE = "traffic.0.flows=20"
"""A KEY=VALUE of a scenario."""


def settings(texts: list[str] | None, example: str) -> NamedOverrides:
    """{key: text} of a list of KEY=VALUE, or of None; classes are relative to the working folder.

    Raises `ScenarioError` with `example`.
    """
    from shallows.scenario.overrides import by_user

    pairs = [text.partition("=") for text in texts or []]
    for key, equals, value in pairs:
        if not (key and equals and value):
            raise ScenarioError("--set", key + equals + value, f"KEY=VALUE, such as {example}")
    named = [key.strip() for key, _, _ in pairs]
    if twice := [key for key in named if named.count(key) > 1]:
        values = " and ".join(value for key, _, value in pairs if key.strip() == twice[0])
        expected = f"each key once, not {values}: `shallows sweep --over` runs several values"
        raise ScenarioError("--set", twice[0], expected)
    return by_user(NamedOverrides({key.strip(): value.strip() for key, _, value in pairs}, "--set"))
