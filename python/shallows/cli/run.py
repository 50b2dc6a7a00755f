"""`shallows run` and `shallows compare`: one scenario, under one or several algorithms and worlds."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shallows.base import extras
from shallows.cli import completion
from shallows.cli import report as pages
from shallows.cli.settings import Trust, at_least, settings
from shallows.cli.status import DONE, FAILED, INTERRUPTED, after_saving, with_status
from shallows.errors import NamedOverrides, ScenarioError

if TYPE_CHECKING:
    from shallows.runs import Run
    from shallows.sweeps.comparison import Comparison


EXAMPLE = "traffic.0.flows=20"

ScenarioFile = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="Scenario file (TOML), or the name of an example.",
        autocompletion=completion.scenarios,
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Replace a key: traffic.0.flows=20.",
        autocompletion=completion.keys,
    ),
]
Algorithms = typer.Option(
    metavar="NAME", help="An algorithm or preset; repeat for each.", autocompletion=completion.algorithms
)
Seed = Annotated[int | None, typer.Option(help="Seed of all random numbers.")]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the results.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


@with_status
def run(
    scenario: ScenarioFile,
    cc: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="An algorithm, a preset, or a class: ./mine.py:Aimd."),
    ] = None,
    world: Annotated[str, typer.Option(help="World to run in: packet, fluid or kernel.")] = "packet",
    set_: Overrides = None,
    seed: Seed = None,
    repeats: Annotated[
        int | None, typer.Option(callback=at_least(1), help="Number of runs in the kernel world (3).")
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(help="Most threads of the packet world; by default as many as speed it up."),
    ] = None,
    out: Out = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw figure.png and figure.pdf too.")] = False,
    html: pages.Html = None,
    json_: Json = False,
    trust: Trust = False,
) -> int:
    """Run SCENARIO; save summary and tables to a folder of its own in results/<name>, or to --out."""
    from shallows.algorithms.user_algorithms import location_or_name
    from shallows.printing.progress import Progress, report_if_slow
    from shallows.printing.report import run_report
    from shallows.results import paths
    from shallows.worlds.runner import in_world, prepare

    if plot:
        extras.need("plot", "--plot")
    with report_if_slow("preparing: building the network and drawing flows"):
        named = {"cc.name": location_or_name(cc)} if cc else {}
        changes = NamedOverrides(named, "--cc") | settings(set_, EXAMPLE)
        prepared = prepare(scenario, seed=seed, overrides=changes, world=world)
        simulate = in_world(world, repeats, threads)
        folder = _place(out, prepared.file, lambda: paths.of_run(prepared, world))
        if html:
            pages.check(html, folder)
    with Progress() as progress:
        result = simulate(prepared, progress.of(prepared))
    try:
        saved = _saved(result, folder, named=out is not None)
    finally:
        _tell(result.summary, run_report(result.summary), json_)
    return _finish(result, saved, plot, html)


@with_status
def compare(
    scenario: ScenarioFile,
    cc: Annotated[list[str], Algorithms],
    world: Annotated[
        list[str] | None, typer.Option(help="World to run in; further worlds are compared with the first.")
    ] = None,
    set_: Overrides = None,
    seed: Seed = None,
    threads: Annotated[
        int | None, typer.Option(callback=at_least(1), help="Runs at a time; all cores if absent.")
    ] = None,
    out: Out = None,
    html: pages.Html = None,
    json_: Json = False,
    trust: Trust = False,
) -> int:
    """Run SCENARIO under several algorithms, or in several worlds: one table, one figure, a folder a run."""
    from shallows.memory.needs import check_runs
    from shallows.printing.progress import Progress
    from shallows.printing.report import comparison_report
    from shallows.results import paths
    from shallows.sweeps.comparison import Comparison, prepare_all, run_all

    jobs = prepare_all(scenario, cc, world or ["packet"], seed=seed, overrides=settings(set_, EXAMPLE))
    first = next(iter(jobs.values()))[1]
    folder = _place(out, first.file, lambda: paths.of_comparison(jobs))
    if html:
        pages.check(html, folder)
    packets = [prepared for world, prepared in jobs.values() if world == "packet"]
    check_runs(packets, min(threads or os.cpu_count() or 1, len(packets)), "--threads")
    with Progress() as bars:
        comparison = Comparison(run_all(jobs, bars, threads), len(jobs))
    numbers: dict[str, Any] = {label: run.summary for label, run in comparison.runs.items()}
    if comparison.distances:
        numbers["distances"] = comparison.distances
    try:
        saved = _saved(comparison, folder, named=out is not None)
    finally:
        _tell(numbers, comparison_report(comparison), json_)
    return _finish(comparison, saved, extras.has("plot"), html)


def _place(out: Path | None, source: str | None, usual: Callable[[], Path]) -> Path:
    """The folder for results. It is tested now, so that a run is not lost because nobody may write there."""
    from shallows.results import store

    folder = out or usual()
    store.check_replaceable(folder, source)
    store.check_writable(folder)
    return folder


def _saved(result: "Run | Comparison", folder: Path, *, named: bool) -> Path:
    """The folder in which `result` was saved: `folder`, or a temporary one if that failed."""
    from shallows.results import paths

    if result.interrupted and not named:
        folder = paths.interrupted(folder)
    try:
        folder = result.save(folder, plot=False)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"while saving: {folder} is what it was before, or the whole new result"
        ) from None
    except (ScenarioError, OSError) as error:
        return _rescued(result, error)
    if not named:
        paths.newest(folder)
    return folder


def _rescued(result: "Run | Comparison", error: ScenarioError | OSError) -> Path:
    """The temporary folder in which `result` was saved because of `error`; raises it if that fails too."""
    import tempfile

    try:
        folder = result.save(Path(tempfile.mkdtemp(prefix="shallows-")), plot=False)
    except (ScenarioError, OSError):
        raise error from None
    print(f"shallows: {error}; what was done is not lost:", file=sys.stderr)
    return folder


def _tell(data: Any, report: list[Any], as_json: bool) -> None:
    from shallows.printing.report import print_parts

    if as_json:
        print(json.dumps(data, indent=2))
    else:
        print_parts(report)


def _finish(result: "Run | Comparison", saved: Path, plot: bool, html: Path | None) -> int:
    """Print where `result` was saved, draw its figure and page, and return the exit status."""
    early = "interrupted; what was done is " if result.interrupted else ""
    print(f"{early}saved in {saved}", file=sys.stderr, flush=True)
    try:
        drawn = not plot or after_saving("the figure", lambda: result.draw(saved))
        drawn &= not html or after_saving("the page", lambda: pages.write(result, html))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"while drawing: the results are saved in {saved}") from None
    result.check_books()
    return INTERRUPTED if result.interrupted else DONE if drawn else FAILED
