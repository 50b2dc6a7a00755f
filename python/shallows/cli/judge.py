"""`shallows judge`: an algorithm under families of tests, beside baselines."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shallows.cli import completion
from shallows.cli.output import Json, print_json
from shallows.cli.settings import Runs
from shallows.cli.status import DONE, FAILED, with_status
from shallows.errors import ScenarioError

if TYPE_CHECKING:
    from shallows.judging.judgement import Judgement


BUDGET, BUDGET_QUICK = 1_800_000_000, 50_000_000
"""Packet-hops of the search for the worst row."""


@with_status
def judge(
    algorithm: Annotated[
        str,
        typer.Argument(
            metavar="ALGORITHM",
            help="A name, a preset such as cubic@linux, or a class: ./mine.py:Mine.",
            autocompletion=completion.algorithms,
        ),
    ],
    families: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Families, as D2,D7, or files; by default all.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="One seed, and fewer rows.")] = False,
    held_out: Annotated[
        str | None,
        typer.Option(
            metavar="SEED", help="Also judge rows whose parameters this seed draws; by default none."
        ),
    ] = None,
    worst: Annotated[
        bool, typer.Option("--worst", help="Also search the worst row within the families' ranges.")
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(metavar="HOPS", help="Packet-hops of --worst, as 200M; by default 1.8G, 50M if quick."),
    ] = None,
    threads: Runs = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the page; by default results/judge/NAME.")
    ] = None,
    json_: Json = False,
) -> int:
    """Judge ALGORITHM: which rules it keeps, beside baselines; what is done already is not repeated.

    The status is 1 if a row failed.
    """
    from shallows.judging import running
    from shallows.sweeps.progress import Progress

    seed, hops = _seed(held_out), _budget(budget, worst=worst, quick=quick)
    asked = running.planned(algorithm, _names(families), quick=quick, held_out=seed)
    folder = running.folder_of(asked, out)
    with Progress() as bar:
        found = running.run(asked, folder, held_out=seed, quick=quick, budget=hops, threads=threads, bar=bar)
    _show(found, json_)
    return FAILED if found.failures else DONE


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def _seed(text: str | None) -> int | None:
    if text is not None and not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ScenarioError("--held-out", text, "the seed of the draws, a whole number of 0 or more")
    return None if text is None else int(text)


def _budget(text: str | None, *, worst: bool, quick: bool) -> int | None:
    """The packet-hops of the search, None without one."""
    if text is None:
        return (BUDGET_QUICK if quick else BUDGET) if worst else None
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)([kMG]?)", text)
    hops = float(found[1]) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[found[2]] if found else 0
    if not worst:
        raise ScenarioError("--budget", text, "--worst with it: it limits that search")
    if hops < 1:
        raise ScenarioError("--budget", text, "packet-hops, 1 or more, such as 200M or 1.8G")
    return int(hops)


def _show(found: "Judgement", json_: bool) -> None:
    from shallows.judging import report
    from shallows.printing.report import print_parts

    if json_:
        print_json("judgement", found.data())
    else:
        print_parts(report.parts(found))
