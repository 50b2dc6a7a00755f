"""`shallows settings`: settings of switches and NICs read, written and explained."""

from pathlib import Path
from typing import Annotated

import typer

from shallows.cli.status import DONE, with_status
from shallows.errors import ScenarioError

app = typer.Typer(
    help="Read settings of switches and NICs into a scenario, write them, and explain them.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE…", help="config_db.json, or what mlxconfig or sysfs print.")
]
Port = Annotated[str | None, typer.Option(metavar="NAME", help="The port that stands for all: Ethernet0.")]
Queue = Annotated[int | None, typer.Option(metavar="N", help="The queue that stands for all: 3.")]


@app.command()
@with_status
def read(files: Files, port: Port = None, queue: Queue = None) -> int:
    """Print the part of a scenario that settings express, and name what they do not express."""
    from shallows.settings.reading import read_all

    print(read_all(files, port, queue).to_toml(), end="")
    return DONE


@app.command()
@with_status
def write(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="A scenario, or an example's name.")],
    sonic: Annotated[bool, typer.Option("--sonic", help="Print entries for config_db.json.")] = False,
    mlx5: Annotated[bool, typer.Option("--mlx5", help="Print commands for a NIC of NVIDIA.")] = False,
    ports: Annotated[str, typer.Option(metavar="NAMES", help="Ports of the switch.")] = "Ethernet0",
    queues: Annotated[
        str,
        typer.Option(
            metavar="NUMBERS", help="Queues of the traffic, such as 3,4; with classes one for each, in order."
        ),
    ] = "3",
    interface: Annotated[str, typer.Option(metavar="NAME", help="Interface of the NIC.")] = "eth0",
) -> int:
    """Print a scenario as settings, and name what is rounded or has no counterpart."""
    import json
    import sys

    from shallows.scenario import Scenario
    from shallows.settings import mlx5 as nic
    from shallows.settings import sonic_export

    if sonic == mlx5:
        raise ScenarioError("settings write", None, "one of --sonic and --mlx5")
    loaded = Scenario.load(scenario)
    if mlx5:
        print(nic.commands(loaded).script(interface), end="")
        return DONE
    entries = sonic_export.entries(loaded, ports.split(","), _queues(queues))
    print(json.dumps(entries.tables, indent=4))
    for text in entries.rounded:
        print(f"rounded: {text}", file=sys.stderr)
    for text in entries.not_expressed:
        print(f"not expressed: {text}", file=sys.stderr)
    return DONE


@app.command()
@with_status
def explain(
    files: Files,
    on: Annotated[str, typer.Option(metavar="SCENARIO", help="The scenario that these settings are for.")],
    port: Port = None,
    queue: Queue = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with a figure.")] = None,
) -> int:
    """Print what settings mean on a scenario's network: BDPs, microseconds, headroom, stability."""
    from shallows import extras
    from shallows.report import print_parts
    from shallows.results import files as output
    from shallows.scenario import Scenario
    from shallows.settings import explain as settings
    from shallows.settings import page
    from shallows.settings.reading import read_all

    if html:
        extras.need("plot", "--html")
        if html.is_dir() or not html.parent.is_dir():
            raise ScenarioError("--html", str(html), "a file, such as settings.html, in a folder that exists")
        output.check(html, output.PAGE)
    explanation = settings.explain(settings.on(Scenario.load(on), read_all(files, port, queue)))
    print_parts(page.report(explanation))
    if html:
        output.write_text(html, page.page(explanation))
        print(f"wrote {html}")
    return DONE


def _queues(text: str) -> list[int]:
    numbers = text.split(",")
    if not all(number.isdigit() and int(number) < 8 for number in numbers):
        raise ScenarioError("--queues", text, 'numbers from 0 to 7, such as "3,4"')
    return [int(number) for number in numbers]
