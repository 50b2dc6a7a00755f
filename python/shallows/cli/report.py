"""`shallows report`, and the pages that `run` and `compare` write with `--html`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shallows.base import extras
from shallows.cli.output import Json, print_json
from shallows.cli.settings import Trust
from shallows.cli.status import DONE, with_status
from shallows.errors import ScenarioError

if TYPE_CHECKING:
    from shallows.printing.progress import Progress
    from shallows.runs import Run
    from shallows.sweeps.comparison import Comparison
    from shallows.why.paths import Paths


Html = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", help="Write a page: tables, figures, why the slowest flows were slow."
    ),
]


@with_status
def report(
    result: Annotated[
        Path, typer.Argument(metavar="RESULT", help="Folder of a run, a comparison or a sweep.")
    ],
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page of a run or a comparison.")
    ] = None,
    json_: Json = False,
    trust: Trust = False,
) -> int:
    """Print the report of a saved result again, or write it as a page that needs no network."""
    from shallows.printing.report import comparison_report, print_parts, run_report
    from shallows.runs import Run
    from shallows.sweeps.comparison import Comparison

    if (result / "sweep.toml").is_file():
        return _of_sweep(result, html, json_)
    if html:
        check(html, result)
    several = (result / "comparison.csv").is_file()
    found = Comparison.load(result) if several else Run.load(result)
    one = isinstance(found, Run)
    if json_:
        summary = found.summary if one else {label: run.summary for label, run in found.runs.items()}
        print_json("run" if one else "comparison", summary)
    else:
        print_parts(run_report(found.summary) if one else comparison_report(found))
    if html:
        write(found, html)
    return DONE


def _of_sweep(folder: Path, html: Path | None, json_: bool) -> int:
    """The report of a saved sweep, with its default metrics."""
    from shallows.cli.sweep import show
    from shallows.sweeps.result import Sweep

    if html:
        run = next((folder / "runs").glob("run=*"), folder / "runs" / "run=…")
        raise ScenarioError("--html", str(html), f"the folder of a run, such as {run}: {folder} is a sweep")
    sweep = Sweep.load(folder)
    show(sweep, sweep.default_metrics(), None, json_)
    return DONE


def check(file: Path, folder: Path | None = None) -> None:
    """Raise, before anything runs, if no page can be drawn or written to `file`."""
    from shallows.results import files, store

    extras.need("plot", "--html")
    if file.is_dir():
        raise ScenarioError("--html", str(file), f"a file, not a folder: {file / 'page.html'}")
    if folder is not None and folder.resolve() in file.resolve().parents:
        expected = f"a file outside the folder of the result, which the next run replaces: {folder}.html"
        raise ScenarioError("--html", str(file), expected)
    files.check(file, files.PAGE)
    store.check_writable(file)


def write(result: "Run | Comparison", file: Path) -> None:
    """Write the page of a `Run` or a `Comparison`, with the critical paths of its slowest flows."""
    import sys

    from shallows.printing.progress import Progress
    from shallows.runs import Run
    from shallows.scenario import needs
    from shallows.why.page import SLOWEST

    runs = [result] if isinstance(result, Run) else result.runs.values()
    needs.check_page(run.scenario for run in runs if run.summary["world"] == "packet")
    with Progress() as bars:
        if isinstance(result, Run):
            page = result.html(file, _paths(result, SLOWEST, bars, "the slowest flows"))
        else:
            found = {label: _paths(run, SLOWEST, bars, label) for label, run in result.runs.items()}
            page = result.html(file, {label: paths for label, paths in found.items() if paths})
    print(f"page in {page}", file=sys.stderr)


def _paths(run: "Run", slowest: int, bars: "Progress", label: str) -> "Paths | None":
    """The critical paths of the slowest flows.

    None if the run cannot be repeated, has no finished flow, or if no path fits into memory.
    """
    import sys

    from shallows.base import names
    from shallows.memory import TooLargeError

    summary = run.summary
    if summary["world"] != "packet" or run.interrupted or not summary["flows"]["finished"]:
        return None
    try:
        return run.why(slowest=slowest, on_progress=bars.of(run.scenario, f"watching {label}"))
    except TooLargeError as error:
        print(f"shallows: the page has no paths of {label}: {names.terminal(str(error))}", file=sys.stderr)
        return None
