"""`shallows scenarios`, `cc`, `schema` and `explain`: what a user can choose from, and what it means."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from shallows.cli import completion
from shallows.cli.output import Json, print_json
from shallows.cli.status import DONE, with_status
from shallows.errors import ScenarioError

if TYPE_CHECKING:
    from shallows.printing.report import Part


@with_status
def scenarios(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Print the file of this example.")
    ] = None,
    json_: Json = False,
) -> int:
    """List the example scenarios, or print one to start from: shallows scenarios dctcp-40 > mine.toml."""
    from shallows.scenario import examples
    from shallows.units import did_you_mean

    names = examples.names()
    if name is None:
        rows = [{"name": known, "summary": examples.summary(known)} for known in names]
        _print("scenarios", rows, [f"{row['name']:20}  {row['summary']}" for row in rows], json_)
    elif name in names:
        text = examples.find(name).read_text(encoding="utf-8")
        if json_:
            print_json("scenario", {"name": name, "toml": text})
        else:
            print(text, end="")
    else:
        expected = "one of the names that `shallows scenarios` prints" + did_you_mean(name, names)
        raise ScenarioError("scenario", name, expected)
    return DONE


@with_status
def schema() -> int:
    """Print the JSON Schema of a scenario file, with which editors complete and check it."""
    import json

    from shallows.registry.schema import scenario_schema

    print(json.dumps(scenario_schema(), indent=2))  # the schema itself, as editors read it
    return DONE


@with_status
def explain(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Such as network.pfc.watchdog, pfc.watchdog or busbw_gb_per_s."),
    ],
    json_: Json = False,
) -> int:
    """Say what a key of a scenario, a column or a number of a result means: type, default, worlds, text."""
    from shallows.registry import explain as registry

    found = registry.explain(name)
    _print("explanations", found, registry.page(found), json_)
    return DONE


@with_status
def cc(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="One of them; all if absent.",
            autocompletion=completion.algorithms,
        ),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(metavar="SCENARIO", help="Print the values that a run of this scenario uses."),
    ] = None,
    json_: Json = False,
) -> int:
    """List algorithms, receivers and markings, or show one: parts, parameters, presets, limits."""
    from shallows.registry import catalog

    if on and not name:
        raise ScenarioError("--on", on, "the name of an algorithm or a marking before it")
    if on and name:
        from shallows.registry import in_use
        from shallows.scenario import Scenario

        values = in_use.values(name, Scenario.load(on))
        _print("values", values, in_use.page(name, values), json_)
    elif name is None:
        rows = catalog.algorithms()
        _print("algorithms", rows, [catalog.list_table(rows), *catalog.other_tables()], json_)
    else:
        entry = catalog.entry(name)
        is_algorithm = entry.pop("cc", None) is not None
        pages = [part for key, beside in entry.items() for part in ("", *catalog.other_page(key, beside))]
        if is_algorithm:
            row = catalog.algorithm(name)
            _print("algorithm", {**row, **entry}, [*catalog.page(row), *pages], json_)
        else:
            _print("algorithm", next(iter(entry.values())), pages[1:], json_)
    return DONE


def _print(kind: str, data: object, report: "Sequence[Part]", as_json: bool) -> None:
    if as_json:
        print_json(kind, data)
        return
    from rich.console import Console
    from rich.text import Text

    # A pipe or a file has no width.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    for part in report:
        console.print(part, soft_wrap=isinstance(part, str | Text))
