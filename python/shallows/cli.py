"""The command line: `shallows run | compare | sweep | report | why | results | scenarios | cc | fluid`, ...

Commands only read options, call what Python users call, and print. What goes wrong by a user's
mistake is one message on stderr and status 2; heavy modules are imported by the command that needs them.
"""

import gc
import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from shallows import cli_completion, cli_fluid, cli_live, cli_papers, cli_report, cli_results, extras
from shallows.cli_settings import settings
from shallows.cli_status import DONE, INTERRUPTED, with_status
from shallows.cli_sweep import sweep
from shallows.cli_why import why
from shallows.errors import ScenarioError

EXAMPLE = "traffic.0.flows=20"
WORTH_TELLING_S = 10

app = typer.Typer(
    help="A laboratory for datacenter congestion control.",
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

app.add_typer(cli_fluid.app, name="fluid")
app.add_typer(cli_live.app, name="live")
app.add_typer(cli_results.app, name="results")
app.add_typer(cli_papers.app, name="papers")

ScenarioFile = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="Scenario file (TOML), or the name of an example.",
        autocompletion=cli_completion.scenarios,
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Replace a key: traffic.0.flows=20.",
        autocompletion=cli_completion.keys,
    ),
]
Algorithms = typer.Option(
    metavar="NAME", help="An algorithm or preset; repeat for each.", autocompletion=cli_completion.algorithms
)
Seed = Annotated[int | None, typer.Option(help="Seed of everything random.")]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the results.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def main():
    """Run the command line and exit with its status."""
    # Arrow's own allocator keeps what it frees: 20 MB more in a run with a million samples.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # Looking for plugins of pydantic takes a tenth of a short run.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # What modules define stays: to look through it for garbage while they load takes as long as some of them.
    gc.set_threshold(100_000)
    app()


def _print_version(wanted):
    if wanted:
        from shallows import __version__

        print(f"shallows {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
):
    """A laboratory for datacenter congestion control."""


@app.command()
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
        int | None, typer.Option(min=1, max=100, help="How often the kernel world runs it (3).")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of the packet world; as many as pay if absent.")
    ] = None,
    out: Out = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw figure.png and figure.pdf too.")] = False,
    html: cli_report.Html = None,
    json_: Json = False,
):
    """Run SCENARIO; save summary and tables to a folder of its own in results/<name>, or to --out."""
    from shallows.progress import Progress, said_if_slow
    from shallows.report import run_report
    from shallows.results import places
    from shallows.runner import in_world, prepare

    if plot:
        extras.need("plot", "--plot")
    with said_if_slow("preparing: the network is laid out, flows are drawn"):
        changes = {**({"cc.name": cc} if cc else {}), **settings(set_, EXAMPLE)}
        prepared = prepare(scenario, seed=seed, overrides=changes, world=world)
        simulate = in_world(world, repeats, threads)
        folder = _place(out, prepared.file, lambda: places.of_run(prepared, world))
        if html:
            cli_report.check(html, folder)
    if world == "packet":
        _foretell([prepared])
    with Progress() as progress:
        result = simulate(prepared, progress.of(prepared))
    try:
        saved = _saved(result, folder, named=out is not None, plot=plot)
    finally:
        _tell(result.summary, run_report(result.summary), json_)
    if html:
        cli_report.write(result, html)
    return _finish(result, saved)


@app.command()
@with_status
def compare(
    scenario: ScenarioFile,
    cc: Annotated[list[str], Algorithms],
    world: Annotated[
        list[str] | None, typer.Option(help="World to run in; several are compared with the first.")
    ] = None,
    set_: Overrides = None,
    seed: Seed = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Runs at a time; all cores if absent.")] = None,
    out: Out = None,
    html: cli_report.Html = None,
    json_: Json = False,
):
    """Run SCENARIO under several algorithms, or in several worlds: one table, one figure, a folder a run."""
    from shallows.comparison import Comparison, prepare_all, run_all
    from shallows.progress import Progress
    from shallows.report import comparison_report
    from shallows.results import places

    jobs = prepare_all(scenario, cc, world or ["packet"], seed=seed, overrides=settings(set_, EXAMPLE))
    first = next(iter(jobs.values()))[1]
    folder = _place(out, first.file, lambda: places.of_comparison(jobs))
    if html:
        cli_report.check(html, folder)
    packets = [prepared for world, prepared in jobs.values() if world == "packet"]
    if packets:
        _foretell(packets, threads or os.cpu_count())
    with Progress() as bars:
        comparison = Comparison(run_all(jobs, bars, threads))
    told = {label: run.summary for label, run in comparison.runs.items()}
    if comparison.distances:
        told["distances"] = comparison.distances
    try:
        saved = _saved(comparison, folder, named=out is not None)
    finally:
        _tell(told, comparison_report(comparison), json_)
    if html:
        cli_report.write(comparison, html)
    return _finish(comparison, saved)


app.command()(with_status(sweep))
app.command()(with_status(cli_report.report))
app.command()(with_status(why))


@app.command()
@with_status
def scenarios(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Print this one's file.")] = None,
):
    """List the example scenarios, or print one to start from: shallows scenarios dctcp-40 > mine.toml."""
    from shallows import examples
    from shallows.units import did_you_mean

    names = examples.names()
    if name is None:
        _print(None, [f"{known:20}  {examples.summary(known)}" for known in names], False)
    elif name in names:
        print(examples.find(name).read_text(encoding="utf-8"), end="")
    else:
        expected = "one of the names that `shallows scenarios` prints" + did_you_mean(name, names)
        raise ScenarioError("scenario", name, expected)
    return DONE


@app.command()
@with_status
def schema():
    """Print the JSON Schema of a scenario file, by which editors complete and check it."""
    from shallows.schema import scenario_schema

    _print(scenario_schema(), [], True)
    return DONE


@app.command("cc")
@with_status
def catalog(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="One of them; all if absent.",
            autocompletion=cli_completion.algorithms,
        ),
    ] = None,
    json_: Json = False,
):
    """List algorithms, receivers and markings, or show one: parts, parameters, presets, limits."""
    from shallows import catalog

    if name is None:
        rows = catalog.algorithms()
        _print(rows, [catalog.list_table(rows), *catalog.other_parts()], json_)
    else:
        entry = catalog.entry(name)
        row = entry.pop("cc", None)
        pages = [part for key, beside in entry.items() for part in ("", *catalog.part_page(key, beside))]
        if row:
            _print({**row, **entry}, [*catalog.page(row), *pages], json_)
        else:
            _print(next(iter(entry.values())), pages[1:], json_)
    return DONE


def _foretell(scenarios, at_a_time=1):
    """Say what long runs will take; refuse those that this machine's memory cannot hold."""
    from shallows.sweeps import estimate

    if all(map(estimate.is_small, scenarios)):
        return
    expected = estimate.of_scenarios(scenarios, at_a_time)
    estimate.check(expected, "--threads")
    if expected.cpu_s > WORTH_TELLING_S:
        print(estimate.sentence(expected), file=sys.stderr, flush=True)


def _place(out, source, usual):
    """The folder for results, tried now: a place that cannot be written costs no run."""
    from shallows.results import store

    folder = out or usual()
    store.check_replaceable(folder, source)
    store.check_writable(folder)
    return folder


def _saved(result, folder, *, named, **how):
    """The folder that `result` was saved in: `folder`, a temporary one if that fails."""
    from shallows.results import places

    if result.interrupted and not named:
        folder = places.interrupted(folder)
    try:
        result.save(folder, **how)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"while saving: {folder} is what it was before, or the whole new result"
        ) from None
    except (ScenarioError, OSError) as error:
        return _rescued(result, error)
    if not named:
        places.newest(folder)
    return folder


def _rescued(result, error):
    """The temporary folder that `result` was saved in because of `error`, raised if that fails too."""
    import tempfile

    try:
        folder = result.save(Path(tempfile.mkdtemp(prefix="shallows-")))
    except (ScenarioError, OSError):
        raise error from None
    print(f"shallows: {error}; what was done is not lost:", file=sys.stderr)
    return folder


def _tell(data, report, as_json):
    from shallows.report import print_parts

    if as_json:
        print(json.dumps(data, indent=2))
    else:
        print_parts(report)


def _print(data, report, as_json):
    if as_json:
        print(json.dumps(data, indent=2))
        return
    from rich.console import Console
    from rich.text import Text

    # In a pipe or a file there is no window to fit into.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    for part in report:
        console.print(part, soft_wrap=isinstance(part, str | Text))


def _finish(result, saved):
    """The exit status after `result` was saved; says where, and whether it is whole."""
    early = "interrupted; what was done is " if result.interrupted else ""
    print(f"{early}saved in {saved}", file=sys.stderr)
    result.check_books()
    return INTERRUPTED if result.interrupted else DONE
