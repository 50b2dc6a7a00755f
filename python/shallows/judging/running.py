"""A judge: what it runs, in which order, and what it writes."""

import hashlib
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.base import names
from shallows.errors import ScenarioError
from shallows.judging import family, plan, processes, subject, verdict, worst
from shallows.judging.judgement import Failure, Judgement
from shallows.judging.plan import Plan
from shallows.judging.processes import Outcome
from shallows.judging.verdict import Judged
from shallows.judging.worker import LIMITS, Limits, Order
from shallows.results.paths import ROOT
from shallows.sweeps.executors import usable_cores
from shallows.sweeps.running import alone

if TYPE_CHECKING:
    from shallows.sweeps.progress import Progress

OURS = {"judge.html", "judge.json", "runs", "failures"}
"""The files of a judge in its folder."""


def judge(
    algorithm: str | type[object],
    *,
    families: Sequence[str] | None = None,
    quick: bool = False,
    held_out: int | None = None,
    seeds: Sequence[int] | None = None,
    threads: int | None = None,
    budget: int | None = None,
    limits: Limits = LIMITS,
    out: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Judgement:
    """Run the rows of `families` with `algorithm` and with each family's baselines; return the `Judgement`.

    `algorithm` is a name of the catalog, a preset, a class, or its place, "./mine.py:Mine". `families` are
    names or files, all of the package unless given. `quick` takes one seed and fewer rows; `held_out` is the
    seed of further rows with drawn parameters; `seeds` replace 1, 2, 3. With a `budget`, packet-hops, the
    worst row within the families' ranges is searched for, and shrunk. `threads` runs go on at a time (all
    cores). `out` is the folder of the page, by default results/judge/NAME: runs that it holds are not
    repeated. Every run has a process of its own, and a class cannot use the network, files or other
    processes there (docs/judge.md).

    Raises `ScenarioError` before anything runs if the algorithm or a family is wrong.
    """
    from shallows.sweeps.progress import Progress

    asked = planned(algorithm, families, quick=quick, held_out=held_out, seeds=seeds, limits=limits)
    with Progress(shown=progress) as bar:
        how = {"held_out": held_out, "budget": budget, "threads": threads}
        return run(asked, folder_of(asked, out), quick=quick, bar=bar, **how)


def planned(
    algorithm: str | type[object],
    families: Sequence[str] | None = None,
    *,
    quick: bool = False,
    held_out: int | None = None,
    seeds: Sequence[int] | None = None,
    limits: Limits = LIMITS,
) -> Plan:
    """The `Plan` of these arguments of `judge`. Raises `ScenarioError`."""
    chosen = family.chosen(families)
    found = plan.of(subject.of(algorithm), chosen, quick=quick, held_out=held_out, seeds=seeds)
    if not found.rows:
        raise ScenarioError("--quick", ",".join(one.name for one in chosen), "a family with quick rows")
    return replace(found, limits=limits)


def folder_of(asked: Plan, out: str | os.PathLike[str] | None = None) -> Path:
    """The folder of a page: `out`, or one of the label, and of the path of a class."""
    if out is not None:
        return Path(out)
    who = asked.subject
    digest = f"-{hashlib.sha256(who.name.encode()).hexdigest()[:8]}" if who.is_class else ""
    return ROOT / "judge" / names.folder(f"{who.label}{digest}")


def run(
    asked: Plan,
    folder: Path,
    *,
    held_out: int | None = None,
    quick: bool = False,
    budget: int | None = None,
    threads: int | None = None,
    bar: "Progress | None" = None,
) -> Judgement:
    """Perform a plan, and write its page, numbers and failures into `folder`."""
    if budget is not None and budget < 1:
        raise ScenarioError("budget", budget, "packet-hops of the search for the worst row, 1 or more")
    _check_place(folder)
    folder.joinpath("runs").mkdir(parents=True, exist_ok=True)
    with alone(folder, "judge"), _kept(folder / "runs"):
        perform = partial(processes.all_of, folder=folder / "runs", workers=threads or usable_cores())
        if asked.subject.is_class:
            _try(asked, perform)
        outcomes = perform(asked.orders, bar=bar)
        rows = asked.judged(outcomes)
        found = worst.search(asked, held_out or 0, budget, partial(perform, bar=bar)) if budget else None
        failed = [*rows, *([found.smallest] if found and found.fails else [])]
        failures = _failures(asked, failed, perform)
        found = Judgement(asked, tuple(rows), failures, held_out, quick, folder, found)
        found.save()
    return found


@contextmanager
def _kept(runs: Path) -> Generator[None]:
    """Let an interrupt say how many runs there are, not their names."""
    try:
        yield
    except KeyboardInterrupt:
        count = sum(1 for _ in runs.glob("*.json"))
        raise KeyboardInterrupt(
            f"after {count} runs, which {runs} has: the same command goes on with the others"
        ) from None


def _try(asked: Plan, perform: Any) -> None:
    """Raise `ScenarioError` if the class cannot be loaded, before all rows say so."""
    tables: dict[str, Any] = {
        "duration": "1us",
        "topology": {"kind": "star", "hosts": 2},
        "cc": asked.subject.name,
        "traffic": [{"kind": "long-lived", "flows": 1, "jitter": "0s"}],
    }
    given = {"tables": tables, "set": {}}
    address = plan.address(given, 1, {}, asked.subject.digest)
    order = Order(address, given, 1, {}, is_class=True, limits=asked.limits)
    refused = perform([order])[address].get("refused")
    if refused:
        raise ScenarioError("algorithm", asked.subject.name, refused.partition(": expected ")[2] or refused)


def _failures(asked: Plan, rows: Sequence[Judged], perform: Any) -> tuple[Failure, ...]:
    """The rows that failed, each with the scenario of its first seed and the account of a flow."""
    failed = [one for one in rows if one.verdict == verdict.FAIL]
    orders = [_account(asked, one) for one in failed]
    outcomes: dict[str, Outcome] = perform(orders) if orders else {}
    found: list[Failure] = []
    for one, order in zip(failed, orders, strict=True):
        outcome = outcomes[order.run]
        toml = outcome.get("scenario") or _as_given(order)
        account = outcome.get("account") or outcome.get("failure") or outcome["refused"]
        found.append(Failure(one, toml, account))
    return tuple(found)


def _account(asked: Plan, one: Judged) -> Order:
    """The order of the account of a row that failed."""
    main = asked.runs(one.family, one.row, asked.subject.name, one.seeds[0])[family.MAIN]
    changes = one.family.filled(dict(one.family.account.changes), one.row)
    changes = family.replaced(changes, family.JUDGED, asked.subject.name)
    account = (changes, one.family.account.flow)
    address = plan.address([main.run, changes], main.seed, account[1], "account")
    return replace(main, run=address, numbers={}, account=account)


def _as_given(order: Order) -> str:
    """The scenario of an order as TOML, without defaults: a process that failed resolved none."""
    import tomli_w

    from shallows.scenario.overrides import overridden

    return tomli_w.dumps({"seed": order.seed, **overridden(order.tables["tables"], order.tables["set"])})


def _check_place(folder: Path) -> None:
    """Refuse a folder that holds something other than a judge's page."""
    if folder.exists() and not folder.is_dir():
        raise ScenarioError("it is a file", None, "a folder for the page", file=str(folder))
    for entry in sorted(folder.iterdir()) if folder.exists() else ():
        if entry.is_symlink() or (entry.name not in OURS and not entry.name.startswith(".")):
            expected = "a folder that is new, empty or an earlier page's"
            raise ScenarioError(
                f"it holds {entry.name}, which no judge wrote", file=str(folder), expected=expected
            )
