"""`shallows advise`: recommended settings for an algorithm and the ports of a scenario."""

from pathlib import Path
from typing import Annotated

import typer

from shallows.cli.output import Json, print_json
from shallows.cli.run import Overrides, ScenarioFile
from shallows.cli.settings import EXAMPLE, Trust, settings
from shallows.cli.status import DONE, with_status


@with_status
def advise(
    scenario: ScenarioFile,
    flows: Annotated[str, typer.Option(metavar="RANGE", help="Flows that meet at a port.")] = "2:64",
    rtts: Annotated[
        str | None,
        typer.Option(metavar="RANGE", help="Base round trips: 1us:100us. By default the scenario's longest."),
    ] = None,
    candidates: Annotated[int, typer.Option(min=1, max=50, help="Settings to try in packets.")] = 6,
    seeds: Annotated[int, typer.Option(min=2, max=1000, help="Runs of each of them.")] = 3,
    set_: Overrides = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the runs; by default results/NAME/advice.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the Pareto figure.")] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the scenario with the recommended settings.")
    ] = None,
    json_: Json = False,
    trust: Trust = False,
) -> int:
    """Recommend settings of an algorithm and its ports: stable in the fluid model, best in packets."""
    from shallows.base import extras
    from shallows.printing.report import print_parts
    from shallows.results import files
    from shallows.scenario import Scenario
    from shallows.settings import ranges, report
    from shallows.settings.advise import advise as search

    extras.need("fluid", "shallows advise")
    if plot:
        extras.need("plot", "--plot")
        files.check(plot, files.FIGURE)
    if save:
        files.check(save, files.SCENARIO)
    found = search(
        Scenario.load(scenario, settings(set_, EXAMPLE)), ranges.counts(flows, "--flows"),
        ranges.times(rtts, "--rtts") if rtts else None,
        candidates=candidates, seeds=seeds, out=out, progress=True,
    )  # fmt: skip
    if json_:
        print_json("advice", report.as_json(found))
    else:
        print_parts(report.report(found))
    if plot:
        from shallows.settings import figure

        print(f"wrote {files.draw(figure.margins(found), plot)}")
    if save:
        text = f"{files.SAVED_BY_ADVISE}\n{found.scenario.to_toml()}"
        print(f"wrote {files.write_text(save, text, files.SCENARIO)}")
    return DONE
