"""`shallows papers list | run | report`: claims of five papers."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shallows.cli.settings import at_least, settings
from shallows.cli.status import DONE, with_status

if TYPE_CHECKING:
    from shallows.papers.claim import Measured, Row
    from shallows.papers.reach import Extent
    from shallows.papers.survey import Outcome
    from shallows.papers.verdict import Finding

app = typer.Typer(
    help="Five papers, claim by claim.", no_args_is_help=True, rich_markup_mode=None, add_completion=False
)

STORE = Path("results", "papers")
Quick = Annotated[bool, typer.Option("--quick", help="Fewer seeds and flows; marked in every output.")]
Threads = Annotated[
    int | None, typer.Option(callback=at_least(1), help="Measurements at a time; all cores if absent.")
]
Folder = Annotated[Path, typer.Option("--store", metavar="DIR", help="Where measurements are kept.")]
Ids = Annotated[
    list[str] | None, typer.Argument(metavar="ID", help="Rows (DX7) or papers (dx); all if absent.")
]


@app.command("list")
@with_status
def list_(ids: Ids = None, json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> int:
    """List claims with verdict, our interval, the paper's value and the commit, as last recorded."""
    from shallows.papers import recorded
    from shallows.papers.claim import Row
    from shallows.papers.survey import rows

    content = recorded.load()
    lines = [_line(row, content) for row in rows(ids) if isinstance(row, Row)]
    if json_:
        print(json.dumps(lines, indent=2))
        return DONE
    _table(lines)
    print(recorded.origins(content) if content else "nothing recorded")
    return DONE


def _line(row: "Row", content: dict[str, Any]) -> dict[str, str]:
    from shallows.papers import recorded

    entry = content.get("rows", {}).get(row.id)
    check = row.checks[0] if row.checks else None
    line = {"id": row.id, "figure": row.figure, "verdict": entry["verdict"] if entry else "not recorded"}
    line |= {
        "measured": check.metric if check else "",
        "here": "",
        "paper": "",
        "commit": entry["commit"] if entry else "",
    }
    if check and entry:
        line["here"] = recorded.interval(entry, check.metric)
    if check:
        line["paper"] = check.said or check.expected
    return line


def _table(lines: Sequence[Mapping[str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="")
    for name in ("id", "figure", "verdict", "measured", "here", "paper", "commit"):
        table.add_column(name, overflow="fold")
    for line in lines:
        table.add_row(*line.values())
    Console(highlight=False, width=None if sys.stdout.isatty() else 160).print(table)


@app.command()
@with_status
def run(
    ids: Ids = None,
    quick: Quick = False,
    perturb: Annotated[
        list[str] | None,
        typer.Option(
            "--perturb",
            metavar="CC.PARAMETER=VALUE",
            help="Change a constant, to see whether the verdicts change.",
        ),
    ] = None,
    threads: Threads = None,
    store: Folder = STORE,
) -> int:
    """Measure rows, and print their checks."""
    from shallows.papers.reach import Extent

    constants = settings(perturb, "dx.headroom=50us")
    for finding, _ in _survey(ids, store, quick, threads, constants):
        if isinstance(finding, Extent):
            _print_reach(finding)
            continue
        print(f"{finding.row.id}, {finding.row.figure}: {finding.verdict}. {finding.row.claim}")
        for check, ok in finding.checked:
            said = f", the paper {check.said}" if check.said else ""
            here, expected = finding.estimates[check.metric].text, finding.expected(check)
            print(f"  {'yes' if ok else 'NO '} {check.metric}: {here}, expected {expected}{said}")
    return DONE


def _print_reach(found: "Extent") -> None:
    print(f"{found.row.id}: {found.row.headline} {found.summary}")
    for axis, points in found.axes.items():
        for point in points:
            numbers = ", ".join(f"{name} {one.text}" for name, one in point.estimates.items())
            print(f"  {'NO ' if point.missed else 'yes'} {axis.at(point.value)}: {numbers}")


def _survey(
    ids: Sequence[str] | None,
    store: Path,
    quick: bool,
    threads: int | None,
    perturb: Mapping[str, str] | None = None,
) -> "Iterator[Outcome]":
    from shallows.papers.store import Store
    from shallows.papers.survey import rows, seeds, survey

    chosen, kept = rows(ids, reaches=True), Store(store)
    missing = sum(
        kept.get(row, seed, quick, perturb) is None
        for row in chosen
        if not row.cannot
        for seed in seeds(row, quick)
    )
    done = 0

    def tick(row: "Measured", seed: int) -> None:
        nonlocal done
        done += 1
        shown = sys.stderr.isatty()
        if shown or done % 50 == 0:
            line = f"{done} of {missing} measured ({row.id}, seed {seed})"
            print(f"\r{line}    " if shown else line, end="" if shown else "\n", file=sys.stderr, flush=True)

    try:
        yield from survey(chosen, kept, quick=quick, threads=threads, perturb=perturb, on_done=tick)
    finally:
        if done and sys.stderr.isatty():
            print(file=sys.stderr)


@app.command()
@with_status
def report(
    ids: Ids = None,
    quick: Quick = False,
    threads: Threads = None,
    store: Folder = STORE,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page.")] = Path("results", "papers.html"),
    record: Annotated[
        bool, typer.Option("--record", help="Record the findings, and update the documentation.")
    ] = False,
) -> int:
    """Measure what is missing, and write one HTML page that needs nothing else."""
    from shallows import __version__
    from shallows.papers import PAPERS
    from shallows.papers.page import page
    from shallows.papers.reach import Extent
    from shallows.papers.survey import rows
    from shallows.results import store as folders

    folders.check_file(out, *folders.PAGE)
    order = [row.id for row in rows(reaches=True)]
    every = sorted(_survey(ids, store, quick, threads), key=lambda pair: order.index(pair[0].row.id))
    results = {one.row.id: (one, samples) for one, samples in every if not isinstance(one, Extent)}
    extents = [(one, samples) for one, samples in every if isinstance(one, Extent)]
    out.parent.mkdir(parents=True, exist_ok=True)
    with folders.naming(out):
        out.write_text(page(PAPERS, results, __version__, quick, extents), "utf-8")
    if record:
        from shallows.papers.documentation import picture

        _record([finding for finding, _ in every], __version__, quick)
        picture(results)
    verdicts = [finding.verdict for finding, _ in results.values()]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    print(f"{counts}: {out}")
    return DONE


def _record(found: "Sequence[Finding | Extent]", commit: str, quick: bool) -> None:
    from shallows.papers import recorded
    from shallows.papers.documentation import write

    content, kept = recorded.record(recorded.load(), found, commit, quick)
    recorded.save(content)
    write(content)
    if kept:
        print(f"{', '.join(kept)}: left on file as full mode found it")
