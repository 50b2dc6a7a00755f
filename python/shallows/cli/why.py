"""`shallows why`: where the time of a flow went, to the picosecond, and because of whom."""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shallows.cli.output import Json, print_json
from shallows.cli.settings import Result, Trust, at_least
from shallows.cli.status import DONE, with_status

if TYPE_CHECKING:
    from shallows.why.choice import Choice
    from shallows.why.report import Costs


@with_status
def why(
    result: Result,
    flows: Annotated[
        list[int] | None,
        typer.Argument(metavar="FLOW", help="Numbers of flows, as in flows.parquet."),
    ] = None,
    slowest: Annotated[
        int | None, typer.Option(callback=at_least(1), metavar="N", help="The N flows of largest slowdown.")
    ] = None,
    size: Annotated[
        str | None,
        typer.Option("--class", metavar="SIZES", help='Only flows of a class of sizes: "< 10 KB".'),
    ] = None,
    p99: Annotated[
        bool, typer.Option("--p99", help="Those at or above the 99th percentile of slowdown.")
    ] = False,
    task: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A traffic table such as a collective, or NAME/GROUP."),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT",
            help='Also run without it: "culprits" (the flows that a flow waited behind), or, of a task, '
            "a traffic table, or a fault by its link, node or number: faults[0].",
        ),
    ] = None,
    slack: Annotated[
        bool, typer.Option("--slack", help="Of a task: how much later each message could have ended.")
    ] = False,
    pauses: Annotated[
        bool, typer.Option("--pauses", help="Print the causes of pauses, and the flows that only suffered.")
    ] = False,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File of the figure; by default RESULT-why.png.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Save the record too, as Parquet: packets, causes, frames."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a self-contained HTML page.")
    ] = None,
    json_: Json = False,
    trust: Trust = False,
) -> int:
    """Run RESULT's scenario again, watch some flows, and tell where every picosecond of their time went."""
    from shallows.base import extras
    from shallows.cli import report as pages
    from shallows.errors import ScenarioError
    from shallows.printing.progress import Progress
    from shallows.printing.report import print_parts
    from shallows.results import files
    from shallows.runs import Run
    from shallows.why import json_form, page, paths, report
    from shallows.why import task as tasks
    from shallows.why.record import check_folder
    from shallows.why.record import of_run as record_of

    if pauses:
        run = Run.load(result)
        with Progress() as bars:
            record_ = record_of(run, [], bars.of(run.scenario, "watching pauses"))
        print_parts(report.of_pauses(record_))
        return DONE
    if not (flows or slowest or size or p99 or task):
        expected = 'a flow\'s number, --slowest 10, --class "< 10 KB", --p99, --task NAME or --pauses'
        raise ScenarioError("why", "of no flow", expected)
    extras.need("plot", "why")
    if flows and len(set(flows)) < len(flows):
        twice = next(flow for flow in flows if flows.count(flow) > 1)
        raise ScenarioError("flow", twice, "each flow once")
    if without and not task and without != ["culprits"]:
        expected = '"culprits", the flows that it waited behind; or traffic tables and faults with --task'
        raise ScenarioError("without", without[0], expected)
    if slack and not task:
        raise ScenarioError("slack", "of flows", "--task NAME: flows that wait for none have no slack")
    if html:
        pages.check(html, result)
    drawn = figure or _beside(result)
    files.check(drawn, files.FIGURE)
    if record is not None:
        check_folder(record)
    run = Run.load(result)
    costs: Costs = ()
    slacks: Mapping[int, int] | None = None
    with Progress() as bars, bars.steadily(f"why {task}" if task else "why"):
        watching = partial(bars.of, run.scenario)
        if task:
            found = tasks.of_run(run, task, watching(f"watching {task}"))
            costs = [found.counterfactual(what, watching(f"without {what}")) for what in without or []]
            slacks = found.slack(watching(f"slack of {task}")) if slack else None
        else:
            chosen: Choice = {} if flows else {"slowest": slowest, "size": size, "p99": p99}
            found = paths.of_run(run, flows or None, on_progress=watching("watching flows"), **chosen)
            if without:
                costs = list(found.counterfactuals(watching("without others")).values())
    if json_:
        print_json("why-task" if task else "why", json_form.of_found(found, costs, slacks))
    else:
        print_parts(report.of_found(found, costs, slacks))
    files.draw(found.figure(), drawn, dpi=150)
    written = {"figure": drawn}
    if html:
        written["page"] = page.write(html, page.of_paths(found, costs, slacks))
    if record is not None:
        written["record"] = found.record.save(record)
    for what, file in written.items():
        print(f"{what} in {file}", file=sys.stderr)
    return DONE


def _beside(result: Path) -> Path:
    """The file of the figure, beside the folder: a folder with other files could not be replaced by a new
    run.
    """
    folder = result.resolve()
    return folder.with_name(f"{folder.name}-why.png")
