"""`shallows results`: list, compare and remove saved results."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shallows.cli.output import Json, print_json
from shallows.cli.parsing import App
from shallows.cli.status import with_status

if TYPE_CHECKING:
    from shallows.results.inventory import Found


app = App(
    help="List, compare and remove results.",
    invoke_without_command=True,
    no_args_is_help=False,
)

Root = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of results.")]


@app.callback()
def results(context: typer.Context):
    """List, compare and remove results. Alone it lists those in `results`."""
    if context.invoked_subcommand is None:
        list_()


@app.command("list")
@with_status
def list_(root: Root = Path("results"), json_: Json = False) -> int:
    """List runs, with what their scenarios differ in, and sweeps."""
    return _list(root, json_)


@app.command()
@with_status
def diff(
    one: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")],
    other: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of another.")],
    json_: Json = False,
) -> int:
    """Tell how two runs differ, in their scenarios and in their numbers."""
    return _diff(one, other, json_)


@app.command()
@with_status
def clean(
    root: Root = Path("results"),
    all_: Annotated[bool, typer.Option("--all", help="Every run except the latest of each name.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> int:
    """Remove what killed saves left, interrupted runs and runs of other code, after asking."""
    return _clean(root, all_, yes)


def _list(root: Path, as_json: bool) -> int:
    from shallows.printing.report import plain_table, print_parts
    from shallows.results import inventory

    found = inventory.found(root)
    runs = [_listed(run, found, root) for run in found]
    folders = inventory.sweeps(root)
    sweeps = [{"folder": str(one.relative_to(root)), "runs": _runs_in(one)} for one in folders]
    if as_json:
        print_json("results", {"runs": runs, "sweeps": sweeps})
        return 0
    if not runs and not sweeps:
        print(f"no results in {root}")
        return 0
    table = plain_table("folder", ["world", "cc", "seed", "saved", "differs in"])
    for run in runs:
        differences = ", ".join(f"{key}={value}" for key, value in run["differs_in"].items())
        state = " (latest)" if run["latest"] else ""
        cells = [run["world"], ", ".join(run["cc"]), str(run["seed"]), run["saved"], differences]
        table.add_row(run["folder"] + state, *cells)
    lines = [f"{one['folder']}: a sweep, {one['runs']} runs" for one in sweeps]
    print_parts([*([table] if runs else []), *lines])
    return 0


def _listed(run: "Found", every: "list[Found]", root: Path) -> dict[str, Any]:
    """What the list says of a run."""
    from datetime import datetime

    from shallows.results import inventory

    same = [one for one in every if _kind(one) == _kind(run)]
    its = {key: of[same.index(run)] for key, of in inventory.differences(same).items() if key != "seed"}
    return {
        "folder": str(run.folder.relative_to(root)),
        **{key: run.summary[key] for key in ("world", "cc", "seed")},
        "saved": datetime.fromtimestamp(run.saved).strftime("%Y-%m-%d %H:%M"),
        "latest": run.latest,
        "differs_in": {key: value for key, value in its.items() if value is not None},
    }


def _kind(run: "Found") -> tuple[object, object]:
    """The key of runs whose scenarios are compared with each other."""
    return run.summary["name"], run.summary["cc"]


def _runs_in(folder: Path) -> int:
    return sum(1 for _ in (folder / "runs").glob("run=*"))


def _diff(one: Path, other: Path, as_json: bool) -> int:
    from shallows.printing.report import ROWS, plain_table, print_parts
    from shallows.results import inventory
    from shallows.runs import Run
    from shallows.sweeps.comparison import Comparison

    runs = [inventory.of_folder(folder) for folder in (one, other)]
    changed = inventory.differences(runs)
    compared = Comparison({str(place): Run.load(folder) for place, folder in enumerate((one, other))})
    rows = [{**run.summary, **row} for run, row in zip(runs, compared.rows, strict=True)]
    every = ("version", "fingerprint", *(key for key, *_ in ROWS))
    kept = [key for key in every if rows[0][key] != rows[1][key]]
    if as_json:
        numbers = {key: [row[key] for row in rows] for key in kept}
        print_json("results-diff", {"scenario": changed, "results": numbers})
        return 0
    table = plain_table("scenario", [str(one), str(other)])
    for key, values in changed.items():
        table.add_row(key, *("-" if value is None else str(value) for value in values))
    numbers = plain_table("result", [str(one), str(other)])
    for key, title, form in (("version", "version", "{}"), ("fingerprint", "fingerprint", "{}"), *ROWS):
        if key in kept:
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
