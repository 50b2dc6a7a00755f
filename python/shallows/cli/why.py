"""`shallows why`: where the time of a flow went, to the picosecond, and because of whom."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shallows.cli.output import Json, print_json
from shallows.cli.settings import Trust, at_least
from shallows.cli.status import DONE, with_status

if TYPE_CHECKING:
    from shallows.runs import Run
    from shallows.why.choice import Choice
    from shallows.why.counterfactual import Counterfactual
    from shallows.why.paths import Paths
    from shallows.why.task import TaskPath


@with_status
def why(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="Folder of a run of the packet world.")],
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
    from shallows.why import paths, report
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
    if task:
        _task(run, task, without or [], slack=slack, json_=json_, drawn=drawn, html=html, record=record)
        return DONE
    with Progress() as bars, bars.steadily("why"):
        on_progress = bars.of(run.scenario, "watching flows")
        chosen: Choice = {} if flows else {"slowest": slowest, "size": size, "p99": p99}
        found = paths.of_run(run, flows or None, on_progress=on_progress, **chosen)
        costs = found.counterfactuals(bars.of(run.scenario, "without others")) if without else {}
    if json_:
        _print_json(found, costs)
    else:
        print_parts([*report.of_paths(found), *(report.of_without(costs.values()) if costs else [])])
    _draw(found, drawn)
    if html:
        _say(f"page in {found.html(html, list(costs.values()))}")
    if record is not None:
        _say(f"record in {found.record.save(record)}")
    return DONE


def _beside(result: Path) -> Path:
    """The file of the figure, beside the folder: a folder with other files could not be replaced by a new
    run.
    """
    folder = result.resolve()
    return folder.with_name(f"{folder.name}-why.png")


def _task(
    run: "Run",
    name: str,
    without: list[str],
    *,
    slack: bool,
    json_: bool,
    drawn: Path,
    html: Path | None,
    record: Path | None,
) -> None:
    """Print and draw the critical path of a task."""
    from shallows.printing.progress import Progress
    from shallows.printing.report import print_parts
    from shallows.why import task, task_report

    with Progress() as bars, bars.steadily(f"why {name}"):
        path = task.of_run(run, name, bars.of(run.scenario, f"watching {name}"))
        costs = [path.counterfactual(what, bars.of(run.scenario, f"without {what}")) for what in without]
        slacks = path.slack(bars.of(run.scenario, f"slack of {name}")) if slack else None
    if json_:
        print_json("why-task", task_report.as_json(path, costs, slacks))
    else:
        parts = [*task_report.of_task(path), *(task_report.of_without(costs) if costs else [])]
        print_parts([*parts, *(task_report.of_slack(path, slacks) if slacks is not None else [])])
    _draw(path, drawn)
    if html:
        _say(f"page in {path.html(html, costs, slacks)}")
    if record is not None:
        _say(f"record in {path.record.save(record)}")


def _say(text: str) -> None:
    import sys

    print(text, file=sys.stderr)


def _draw(found: "Paths | TaskPath", file: Path) -> None:
    from shallows.results import files

    files.draw(found.figure(), file, dpi=150)
    _say(f"figure in {file}")


def _print_json(found: "Paths", costs: "Mapping[int, Counterfactual]") -> None:
    from shallows.why.pauses import pausers

    names = found.record.names
    flows = [
        {
            "flow": one.flow,
            "start_ps": one.start_ps,
            "fct_ps": one.fct_ps,
            "ideal_ps": one.ideal_ps,
            "causes_ps": one.by_cause(),
            "behind_flows_ps": one.by_flow(),
            "ports_ps": {names[port]: length for port, length in one.by_port().items()},
            "pauses": [
                {"port": port, "by": by, "began_at": root, "ps": length}
                for (port, by, root), length in pausers(one, found.record).items()
            ],
            **_without(costs.get(one.flow)),
        }
        for one in found.values()
    ]
    print_json("why", flows)


def _without(cost: "Counterfactual | None") -> dict[str, object]:
    if cost is None:
        return {}
    times = {"alone_ps": cost.alone_ps, "expected_ps": cost.expected_ps, "ran_ps": cost.ran_ps}
    return {"without": {"culprits": cost.culprits, "share_ps": cost.share_ps, **times}}
