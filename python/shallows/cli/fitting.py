"""`shallows fit`: costs of hosts from measured times."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from shallows.cli.output import Json, print_json
from shallows.cli.run import EXAMPLE, Overrides, ScenarioFile
from shallows.cli.settings import Trust, settings
from shallows.cli.status import DONE, with_status


@with_status
def fit(
    scenario: ScenarioFile,
    table: Annotated[
        Path,
        typer.Argument(metavar="TABLE", help="Output of nccl-tests or ib_write_lat, or CSV: size, time_us."),
    ],
    set_: Overrides = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the scenario with costs.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw measured and predicted.")] = None,
    json_: Json = False,
    trust: Trust = False,
) -> int:
    """Find the costs of hosts with which SCENARIO takes the measured times of TABLE."""
    from shallows.base import extras, names
    from shallows.fit import fit as search
    from shallows.fit import measured, output
    from shallows.printing.report import print_parts
    from shallows.results import files
    from shallows.scenario import Scenario

    if plot:
        extras.need("plot", "--plot")
        files.check(plot, files.FIGURE)
    if out:
        files.check(out, files.SCENARIO)
    sizes, times, left = measured.read(table)
    found = search(Scenario.load(scenario, settings(set_, EXAMPLE)), sizes, times)
    if json_:
        print_json("fit", output.as_json(found))
    else:
        print_parts(output.lines(found))
    for text in left:
        print(f"not expressed: {names.line(text)}", file=sys.stderr)
    if plot:
        print(f"wrote {files.draw(output.figure(found), plot)}", file=sys.stderr if json_ else sys.stdout)
    if out:
        text = f"{files.SAVED_BY_FIT}\n{found.scenario.to_toml()}"
        print(
            f"wrote {files.write_text(out, text, files.SCENARIO)}", file=sys.stderr if json_ else sys.stdout
        )
    return DONE
