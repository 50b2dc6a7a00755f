"""`shallows fit`: costs of hosts from measured times."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from shallows.cli.output import Json, print_json
from shallows.cli.run import Overrides, ScenarioFile
from shallows.cli.settings import EXAMPLE, Trust, settings
from shallows.cli.status import DONE, with_status


@with_status
def fit(
    scenario: ScenarioFile,
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="Log of nccl-tests, output of ib_write_lat or ib_write_bw, or CSV: size, time_us.",
        ),
    ],
    test: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="TEST",
            help="By default all, each with a collective of the scenario; else one by its test or place.",
        ),
    ] = None,
    set_: Overrides = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the scenario with costs.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw measured and predicted.")] = None,
    json_: Json = False,
    trust: Trust = False,
) -> int:
    """Find the costs of hosts with which SCENARIO takes the measured times of TABLE."""
    from shallows.base import extras, names
    from shallows.errors import ScenarioError
    from shallows.fit import fit as search
    from shallows.fit import matched, measured, output, with_costs
    from shallows.printing.report import print_parts
    from shallows.results import files
    from shallows.scenario import Scenario

    if plot:
        extras.need("plot", "--plot")
        files.check(plot, files.FIGURE)
    if out:
        files.check(out, files.SCENARIO)
    given = Scenario.load(scenario, settings(set_, EXAMPLE))
    try:
        tables = matched(given, measured.read(table), test)
    except ScenarioError as error:
        raise error.in_file(table) from None
    found = [search(given, one, traffic) for traffic, one in tables.items()]
    fitted = with_costs(given, found)
    if json_:
        shown = [output.as_json(one) for one in found]
        print_json("fit", shown[0] if len(shown) == 1 else {"tables": shown})
    else:
        print_parts(line for one in found for line in output.lines(one))
    for one in found:
        for text in one.table.left:
            print(f"not expressed: {names.line(text)}", file=sys.stderr)
    if plot:
        print(f"wrote {files.draw(output.figure(found), plot)}", file=sys.stderr if json_ else sys.stdout)
    if out:
        text = f"{files.SAVED_BY_FIT}\n{fitted.to_toml()}"
        print(
            f"wrote {files.write_text(out, text, files.SCENARIO)}", file=sys.stderr if json_ else sys.stdout
        )
    return DONE
