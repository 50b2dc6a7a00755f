"""`shallows results`: list, compare and remove saved results."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shallows.cli.status import with_status

if TYPE_CHECKING:
    from shallows.results.inventory import Found


app = typer.Typer(
    help="List, compare and remove results.",
    invoke_without_command=True,
    rich_markup_mode=None,
    add_completion=False,
)

Root = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of results.")]


@app.callback()
def results(context: typer.Context):
    """List, compare and remove results. Alone it lists those in `results`."""
    if context.invoked_subcommand is None:
        list_()


@app.command("list")
@with_status
def list_(root: Root = Path("results")) -> int:
    """List runs, with what their scenarios differ in, and sweeps."""
    return _list(root)


@app.command()
@with_status
def diff(
    one: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")],
    other: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of another.")],
) -> int:
    """Tell how two runs differ, in their scenarios and in their numbers."""
    return _diff(one, other)


@app.command()
@with_status
def clean(
    root: Root = Path("results"),
    all_: Annotated[bool, typer.Option("--all", help="Every run except the latest of each name.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> int:
    """Remove what killed saves left, interrupted runs and runs of other code, after asking."""
    return _clean(root, all_, yes)


def _list(root: Path) -> int:
    from datetime import datetime

    from shallows.printing.report import plain_table, print_parts
    from shallows.results import inventory

    runs, sweeps = inventory.found(root), inventory.sweeps(root)
    if not runs and not sweeps:
        print(f"no results in {root}")
        return 0
    table = plain_table("folder", ["world", "cc", "seed", "saved", "differs in"])
    for run in runs:
        same = [one for one in runs if _kind(one) == _kind(run)]
        its = {key: of[same.index(run)] for key, of in inventory.differences(same).items() if key != "seed"}
        differences = ", ".join(f"{key}={value}" for key, value in its.items() if value is not None)
        saved = datetime.fromtimestamp(run.saved).strftime("%Y-%m-%d %H:%M")
        state = " (latest)" if run.latest else ""
        cells = [
            run.summary["world"],
            ", ".join(run.summary["cc"]),
            str(run.summary["seed"]),
            saved,
            differences,
        ]
        table.add_row(str(run.folder.relative_to(root)) + state, *cells)
    lines = [f"{folder.relative_to(root)}: a sweep, {_runs_in(folder)} runs" for folder in sweeps]
    print_parts([*([table] if runs else []), *lines])
    return 0


def _kind(run: "Found") -> tuple[str, list[str]]:
    """The key of runs whose scenarios are compared with each other."""
    return run.summary["name"], run.summary["cc"]


def _runs_in(folder: Path) -> int:
    return sum(1 for _ in (folder / "runs").glob("run=*"))


def _diff(one: Path, other: Path) -> int:
    from shallows.printing.report import ROWS, plain_table, print_parts
    from shallows.results import inventory
    from shallows.runs import Run
    from shallows.sweeps.comparison import Comparison

    runs = [inventory.of_folder(folder) for folder in (one, other)]
    changed = inventory.differences(runs)
    table = plain_table("scenario", [str(one), str(other)])
    for key, values in changed.items():
        table.add_row(key, *("-" if value is None else str(value) for value in values))
    numbers = plain_table("result", [str(one), str(other)])
    compared = Comparison({str(place): Run.load(folder) for place, folder in enumerate((one, other))})
    rows = [{**run.summary, **row} for run, row in zip(runs, compared.rows, strict=True)]
    for key, title, form in (("version", "version", "{}"), ("fingerprint", "fingerprint", "{}"), *ROWS):
        if rows[0][key] != rows[1][key]:
            numbers.add_row(title, *("-" if of[key] is None else form.format(of[key]) for of in rows))
    same = ["the scenarios are the same", ""] if not changed else [table, ""]
    print_parts([*same, numbers if numbers.row_count else "the results are the same"])
    return 0


def _clean(root: Path, everything: bool, yes: bool) -> int:
    from shallows.results import inventory

    folders = inventory.removable(root, everything)
    if not folders:
        print(f"nothing to remove in {root}")
        return 0
    for folder in folders:
        print(folder)
    amount = f"{len(folders)} folders, {sum(map(inventory.size, folders)) / 1e6:.1f} MB"
    if not yes and not typer.confirm(f"Remove these {amount}?", default=False):
        print("nothing was removed")
        return 1
    inventory.remove(folders)
    print(f"removed {amount}")
    return 0
