"""`shallows settings`: settings of switches and NICs read, written and explained."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from shallows.cli.output import Json, print_json
from shallows.cli.parsing import App
from shallows.cli.status import DONE, with_status
from shallows.errors import ScenarioError
from shallows.units import TIME

app = App(
    help="Read settings of switches and NICs into a scenario, write them, and explain them.",
)

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE…", help="config_db.json, or what mlxconfig or sysfs print.")
]
Port = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The port that stands for all: Ethernet0, P1, eth0; by default one of the most common kind.",
    ),
]
Queue = Annotated[
    int | None,
    typer.Option(metavar="N", help="The queue that stands for all: 3; by default all, which must agree."),
]


@app.command()
@with_status
def read(files: Files, port: Port = None, queue: Queue = None, json_: Json = False) -> int:
    """Print the part of a scenario that settings express, and name what they do not express."""
    from shallows.settings.reading import read_all

    fragment = read_all(files, port, queue)
    if json_:
        sentences = {"assumed": fragment.assumed, "not_expressed": fragment.not_expressed}
        print_json("settings", {"tables": fragment.tables, **sentences})
    else:
        print(fragment.to_toml(), end="")
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
    dscp: Annotated[
        str,
        typer.Option(metavar="NUMBERS", help="DSCP of the packets of each class, in order, such as 46,26."),
    ] = "",
    tier: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Ports of [[ports]], as 'spine*->*'; by default, others."),
    ] = None,
    nic_response: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Time until a NIC acts on a pause, for headroom: 3us; by default 0."
        ),
    ] = None,
    interface: Annotated[str, typer.Option(metavar="NAME", help="Interface of the NIC.")] = "eth0",
) -> int:
    """Print a scenario as settings, and name what is rounded or has no counterpart."""
    import json

    from shallows.scenario import Scenario
    from shallows.settings import mlx5 as nic
    from shallows.settings import sonic_export

    if sonic == mlx5:
        raise ScenarioError("settings write", None, "one of --sonic and --mlx5")
    if mlx5 and tier is not None:
        raise ScenarioError("--tier", tier, "--sonic: the settings of a NIC have no tier")
    if mlx5 and nic_response is not None:
        raise ScenarioError("--nic-response", nic_response, "--sonic: it is part of a switch's headroom")
    try:
        response_ps = TIME.parse(nic_response) if nic_response is not None else 0
    except ValueError as error:
        raise ScenarioError("--nic-response", nic_response, str(error)) from None
    loaded = Scenario.load(scenario)
    if mlx5:
        print(nic.commands(loaded).script(interface), end="")
        return DONE
    numbers = _numbers("--queues", queues, 7, "3,4")
    of_packets = _numbers("--dscp", dscp, 63, "46,26") if dscp else ()
    entries = sonic_export.entries(loaded, ports.split(","), numbers, of_packets, tier, response_ps)
    print(json.dumps(entries.tables, indent=4))
    for line in entries.lines():
        print(line, file=sys.stderr)
    return DONE


@app.command()
@with_status
def explain(
    files: Files,
    on: Annotated[str, typer.Option(metavar="SCENARIO", help="The scenario that these settings are for.")],
    port: Port = None,
    queue: Queue = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with a figure.")] = None,
    json_: Json = False,
) -> int:
    """Print what settings mean on a scenario's network: BDPs, microseconds, headroom, stability."""
    from shallows.base import extras
    from shallows.printing.report import print_parts
    from shallows.results import files as output
    from shallows.scenario import Scenario
    from shallows.settings import explain as settings
    from shallows.settings import report
    from shallows.settings.fragment import on as with_settings
    from shallows.settings.reading import read_all

    if html:
        extras.need("plot", "--html")
        if html.is_dir() or not html.parent.is_dir():
            raise ScenarioError("--html", str(html), "a file, such as settings.html, in a folder that exists")
        output.check(html, output.PAGE)
    explanation = settings.explain(with_settings(Scenario.load(on), read_all(files, port, queue)))
    if json_:
        print_json("settings-explain", explanation.as_dict())
    else:
        print_parts(report.report(explanation))
    if html:
        from shallows.settings import figure

        output.write_text(html, figure.page(explanation))
        print(f"wrote {html}", file=sys.stderr if json_ else sys.stdout)
    return DONE


def _numbers(option: str, text: str, most: int, example: str) -> list[int]:
    numbers = text.split(",")
    if not all(number.isdecimal() and int(number) <= most for number in numbers):
        raise ScenarioError(option, text, f'numbers from 0 to {most}, such as "{example}"')
    return [int(number) for number in numbers]
