"""`shallows run` and `shallows compare`: one scenario, under one or several algorithms and worlds."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shallows.base import extras
from shallows.cli import completion
from shallows.cli import report as pages
from shallows.cli.output import Json, print_json
from shallows.cli.settings import EXAMPLE, Algorithms, Runs, Trust, World, at_least, settings
from shallows.cli.status import DONE, FAILED, INTERRUPTED, after_saving, with_status
from shallows.errors import NamedOverrides, ScenarioError

if TYPE_CHECKING:
    from shallows.plot import FigureOptions
    from shallows.printing.report import Part
    from shallows.runs import Run
    from shallows.sweeps.comparison import Comparison


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
        help=f"Replace a key of the scenario: {EXAMPLE}.",
        autocompletion=completion.keys,
    ),
]
Seed = Annotated[int | None, typer.Option(help="Seed of all random numbers; by default the scenario's.")]
Since = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Draw the figure from this time on: 20ms; by default from 0."),
]
Until = Annotated[
    str | None, typer.Option(metavar="TIME", help="Draw the figure up to this time; by default to the end.")
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder for the results; by default results/NAME/… of its own."),
]


@with_status
def run(
    scenario: ScenarioFile,
    cc: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="An algorithm, a preset, or a class: ./mine.py:Aimd; by default the scenario's.",
        ),
    ] = None,
    world: World = "packet",
    set_: Overrides = None,
    seed: Seed = None,
    repeats: Annotated[
        int | None,
        typer.Option(callback=at_least(1), help="Number of runs of a world in real time; by default 3."),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(help="Most threads of the packet world; by default as many as speed it up."),
    ] = None,
    out: Out = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw figure.png and figure.pdf too.")] = False,
    since: Since = None,
    until: Until = None,
    html: pages.Html = None,
    json_: Json = False,
    trust: Trust = False,
) -> int:
    """Run SCENARIO; save summary and tables to a folder of its own in results/<name>, or to --out."""
    from shallows.algorithms import trust as trusted
    from shallows.printing.progress import PREPARING, Progress, report_if_slow
    from shallows.printing.report import run_report
    from shallows.results import paths
    from shallows.runner import in_world, prepare

    window = _window(since, until)
    if plot or window:
        extras.need("plot", "--plot")
    with report_if_slow(PREPARING):
        named = {"cc.name": trusted.named(cc)} if cc else {}
        changes = NamedOverrides(named, "--cc") | settings(set_, EXAMPLE)
        prepared = prepare(scenario, seed=seed, overrides=changes, world=world)
        simulate = in_world(world, repeats, threads)
        folder = _place(out, prepared.file, lambda: paths.of_run(prepared, world))
        if html:
            pages.check(html, folder)
    with Progress() as progress:
        result = simulate(prepared, progress.of(prepared))
    try:
        saved, status = _saved(result, folder, named=out is not None)
    finally:
        _tell("run", result.summary, run_report(result.summary), json_)
    return _finish(result, saved, status, window if plot or window else None, html)


@with_status
def compare(
    scenario: ScenarioFile,
    cc: Annotated[list[str], Algorithms],
    world: Annotated[
        list[str] | None, typer.Option(help="World to run in; further worlds are compared with the first.")
    ] = None,
    set_: Overrides = None,
    seed: Seed = None,
    threads: Runs = None,
    out: Out = None,
    since: Since = None,
    until: Until = None,
    html: pages.Html = None,
    json_: Json = False,
    trust: Trust = False,
) -> int:
    """Run SCENARIO under several algorithms, or in several worlds: one table, one figure, a folder a run."""
    from shallows.printing.progress import PREPARING, Progress, report_if_slow
    from shallows.printing.report import comparison_report
    from shallows.results import paths
    from shallows.scenario.needs import check_runs
    from shallows.sweeps.comparison import Comparison, prepare_all, run_all

    window = _window(since, until)
    with report_if_slow(PREPARING):
        changes = settings(set_, EXAMPLE)
        jobs = prepare_all(scenario, cc, world or ["packet"], seed=seed, overrides=changes)
    runs = [(job.make(), job.world) for job in jobs]
    folder = _place(out, runs[0][0].file, lambda: paths.of_comparison([job.run for job in jobs], runs))
    if html:
        pages.check(html, folder)
    packets = [scenario for scenario, world in runs if world == "packet"]
    check_runs(packets, min(threads or os.cpu_count() or 1, len(packets)), "--threads")
    with Progress() as bars:
        comparison = Comparison(run_all(jobs, bars, threads), len(jobs))
    numbers: dict[str, object] = {label: run.summary for label, run in comparison.runs.items()}
    if comparison.distances:
        numbers["distances"] = comparison.distances
    try:
        saved, status = _saved(comparison, folder, named=out is not None)
    finally:
        _tell("comparison", numbers, comparison_report(comparison), json_)
    return _finish(comparison, saved, status, window if extras.has("plot") else None, html)


def _window(since: str | None, until: str | None) -> "FigureOptions":
    """The window of time of a figure, checked before anything runs. Raises `ScenarioError`."""
    from shallows.units import TIME

    times: dict[str, int] = {}
    window: FigureOptions = {}
    for key, text in (("since", since), ("until", until)):
        if text is None:
            continue
        window[key] = text
        try:
            times[key] = TIME.parse(text)
        except ValueError as error:
            raise ScenarioError(f"--{key}", text, str(error)) from None
    if len(times) == 2 and times["since"] >= times["until"]:
        raise ScenarioError("--until", until, f"a time after --since {since}")
    return window


def _place(out: Path | None, source: str | None, usual: Callable[[], Path]) -> Path:
    """The folder for results. It is tested now, so that a run is not lost because nobody may write there."""
    from shallows.results import store

    folder = out or usual()
    store.check_replaceable(folder, source)
    store.check_writable(folder)
    return folder


def _saved(result: "Run | Comparison", folder: Path, *, named: bool) -> tuple[Path, int]:
    """The folder in which `result` was saved, and the exit status: a temporary folder if `folder` failed."""
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
        return _rescued(result, error), FAILED
    if not named:
        paths.newest(folder)
    return folder, DONE


def _rescued(result: "Run | Comparison", error: ScenarioError | OSError) -> Path:
    """The temporary folder in which `result` was saved because of `error`; raises it if that fails too."""
    import tempfile

    try:
        folder = result.save(Path(tempfile.mkdtemp(prefix="shallows-")), plot=False)
    except (ScenarioError, OSError):
        raise error from None
    print(f"shallows: {error}; what was done is not lost:", file=sys.stderr)
    return folder


def _tell(kind: str, data: object, report: "list[Part]", as_json: bool) -> None:
    from shallows.printing.report import print_parts

    if as_json:
        print_json(kind, data)
    else:
        print_parts(report)


def _finish(
    result: "Run | Comparison", saved: Path, status: int, figure: "FigureOptions | None", html: Path | None
) -> int:
    """Print where `result` was saved, draw figure (with these options) and page, and return the status.

    After an interrupt nothing is drawn, because whoever ended the command waits for its end.
    """
    if result.interrupted:
        undrawn = ", and not drawn" if figure is not None or html else ""
        print(f"interrupted; what was done is saved in {saved}{undrawn}", file=sys.stderr, flush=True)
        result.check_books()
        return INTERRUPTED
    print(f"saved in {saved}", file=sys.stderr, flush=True)
    try:
        drawn = figure is None or after_saving("the figure", lambda: result.draw(saved, **figure))
        drawn &= not html or after_saving("the page", lambda: pages.write(result, html))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"while drawing: the results are saved in {saved}") from None
    result.check_books()
    return status if drawn else FAILED
