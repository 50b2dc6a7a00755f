"""The command line: `shallows run | compare | cc | fluid`.

Commands only read options, call what Python users call, and print. What goes wrong by a user's
mistake is one message on stderr and status 2; heavy modules are imported by the command that needs them.
"""

import json
import os
import sys
from functools import wraps
from pathlib import Path
from typing import Annotated

import typer

from shallows import cli_fluid, cli_live
from shallows.cli_settings import settings
from shallows.errors import BooksError, ScenarioError

DONE, FAILED, MISTAKE, INTERRUPTED = 0, 1, 2, 130
EXAMPLE = "traffic.0.flows=20"

app = typer.Typer(
    help="A laboratory for datacenter congestion control.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.add_typer(cli_fluid.app, name="fluid")
app.add_typer(cli_live.app, name="live")

ScenarioFile = Annotated[str, typer.Argument(metavar="SCENARIO", help="Scenario file (TOML).")]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Replace a key: traffic.0.flows=20.")
]
Seed = Annotated[int | None, typer.Option(help="Seed of everything random.")]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the results.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def main():
    """Run the command line and exit with its status."""
    # Arrow's own allocator keeps what it frees: 20 MB more in a run with a million samples.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    app()


def with_status(command):
    """`command` for typer: it returns its exit status; what it raises becomes a message on stderr."""

    @wraps(command)
    def told(**options):
        raise typer.Exit(_status(command, options))

    return told


def _status(command, options):
    try:
        return command(**options)
    except KeyboardInterrupt:
        return _complain("interrupted before there was anything to save", INTERRUPTED)
    except BooksError as error:
        return _complain(str(error), FAILED)
    except (ScenarioError, OSError) as error:
        return _complain(str(error), MISTAKE)
    except RuntimeError as error:
        if type(error).__name__ != "Bug":
            raise
        return _complain("\n".join([f"a bug in Shallows: {error}", *error.__notes__]), FAILED)


def _complain(message, status):
    print(f"shallows: {message}", file=sys.stderr)
    return status


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
    world: Annotated[str, typer.Option(help="World to run in: packet, fluid or kernel.")] = "packet",
    set_: Overrides = None,
    seed: Seed = None,
    out: Out = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw figure.png and figure.pdf too.")] = False,
    json_: Json = False,
):
    """Run SCENARIO; save summary and tables to results/<name> or --out."""
    from shallows.progress import Progress
    from shallows.report import run_report
    from shallows.run import in_world, prepare

    overrides, simulate = settings(set_, EXAMPLE), in_world(world)
    prepared = prepare(scenario, seed=seed, overrides=overrides, world=world)
    told_cc = f"-{prepared.cc.label}" if any(key.split(".")[0] == "cc" for key in overrides) else ""
    folder = _folder(out, prepared.name + told_cc)
    with Progress() as progress:
        result = simulate(prepared, progress.of(prepared))
    result.save(folder)
    saved = [folder]
    if plot:
        from shallows.plot import save

        saved = [folder, *save(result.figure(), folder)]
    _print(result.summary, run_report(result.summary), json_)
    return _finish(result, saved)


@app.command()
@with_status
def compare(
    scenario: ScenarioFile,
    cc: Annotated[list[str], typer.Option(metavar="NAME", help="An algorithm or preset; repeat for each.")],
    world: Annotated[
        list[str] | None, typer.Option(help="World to run in; several are compared with the first.")
    ] = None,
    set_: Overrides = None,
    seed: Seed = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Runs at a time; all cores if absent.")] = None,
    out: Out = None,
    json_: Json = False,
):
    """Run SCENARIO under several algorithms, or in several worlds: one table, one figure, a folder a run."""
    from shallows.compare import Comparison, prepare_all, run_all
    from shallows.progress import Progress
    from shallows.report import comparison_report

    jobs = prepare_all(scenario, cc, world or ["packet"], seed=seed, overrides=settings(set_, EXAMPLE))
    name = next(iter(jobs.values()))[1].name
    folder = _folder(out, "-".join([name, *cc]))
    with Progress() as bars:
        comparison = Comparison(run_all(jobs, bars, threads))
    saved = comparison.save(folder)
    told = {label: run.summary for label, run in comparison.runs.items()}
    if comparison.distances:
        told["distances"] = comparison.distances
    _print(told, comparison_report(comparison), json_)
    return _finish(comparison, saved)


@app.command("cc")
@with_status
def catalog(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One of them; all if absent.")] = None,
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


def _folder(out, name):
    """The folder for results, made now: a place that cannot be written costs no run."""
    folder = out or Path("results", name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


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
    print(f"{early}saved in {', '.join(map(str, saved))}", file=sys.stderr)
    result.check_books()
    return INTERRUPTED if result.interrupted else DONE
