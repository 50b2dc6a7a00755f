"""Running a sweep: missing runs on any executor, and more seeds until intervals are narrow enough."""

import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, TypedDict

from shallows.algorithms import trust
from shallows.base import names
from shallows.base.version import version
from shallows.errors import ScenarioError
from shallows.results import inventory, store
from shallows.results.metrics import resolved
from shallows.results.paths import ROOT
from shallows.runner import World, given, refuse_unknown
from shallows.scenario.needs import check_runs
from shallows.scenario.overrides import by_user
from shallows.sweeps import plans
from shallows.sweeps.engine import results
from shallows.sweeps.executors import performed, usable_cores
from shallows.sweeps.file import of_file, share_of
from shallows.sweeps.jobs import SET_ASIDE, Saved, place_of
from shallows.sweeps.result import Sweep, listed

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from shallows.runner import Given
    from shallows.scenario import Scenario
    from shallows.sweeps.plans import Job, Plan
    from shallows.sweeps.progress import Progress
    from shallows.sweeps.saved import About

FIRST_SEEDS = 5


def sweep(
    scenario: "Given",
    cc: str | type[object] | Sequence[str | type[object]] = (),
    over: Mapping[str | tuple[str, ...], Sequence[object] | str] | None = None,
    *,
    seeds: int | Sequence[int] | None = None,
    until: float | str | None = None,
    metric: str | Sequence[str] | None = None,
    executor: "Executor | str | None" = None,
    workers: int | None = None,
    world: World = "packet",
    out: str | os.PathLike[str] | None = None,
    progress: bool = False,
    overrides: Mapping[str, object] | None = None,
    shard: tuple[int, int] | None = None,
    **unknown: Never,
) -> Sweep:
    """Run `scenario` with each algorithm of `cc`, at each point of `over`, with each of `seeds`: a `Sweep`.

    `over` maps a key of the scenario to its values, as a list or a text: `{"traffic.0.load": "0.2:0.8:0.1"}`;
    keys in a tuple change together: `{("network.buffer", "hosts.nic"): [("90pkt", "fair"), …]}`. `seeds` is a
    number of seeds, counted from the scenario's own, or a list (by default 1). All algorithms get the same
    arrivals. `overrides` are those of `run`, the same in all runs. `until` (0.05) adds seeds until the
    interval of the mean of `metric` is that narrow, as a share of the mean, at every point.

    `executor` is any `concurrent.futures.Executor`, or "dask://HOST:PORT" or "slurm:…"; by default runs use
    `workers` processes (all cores). `out` is the folder of the sweep, by default `results/NAME/sweep`: runs
    that it holds are not repeated. `shard` (2, 4) runs the second of four parts, for machines that share no
    disk; `shallows.sweeps.merge` makes one sweep of all parts.

    Ctrl-C ends the sweep and keeps finished runs. Failed runs are rows with a message in `failure`. Raises
    `ScenarioError` before anything runs if a point is wrong, or memory cannot suffice; after saving
    `RuntimeError` with the cause if all runs failed.
    """
    from shallows.sweeps.progress import Progress

    refuse_unknown(unknown, sweep)
    plan, options = asked(
        scenario,
        cc,
        over,
        seeds=seeds,
        until=until,
        metric=metric,
        world=world,
        overrides=overrides,
        shard=shard,
    )
    check_memory(missing(plan, out or default_folder(plan)), workers, executor)
    first = options["metric"][0] if options["metric"] else None
    with Progress(shown=progress) as bar:
        result = run(plan, out, on=executor, workers=workers, until=options["until"], metric=first, bar=bar)
    causes = result.failures
    if causes and len(causes) == len(result.rows) and not result.interrupted:
        raise RuntimeError(f"all {len(causes)} runs failed: {next(iter(causes.values()))}")
    return result


class Options(TypedDict):
    """The options of a sweep that are not part of its plan."""

    until: float | None
    metric: list[str]


def asked(
    scenario: "Given",
    cc: Any = (),
    over: Any = None,
    *,
    seeds: object = None,
    until: object = None,
    metric: str | Sequence[str] | None = None,
    world: str = "packet",
    overrides: Mapping[str, object] | None = None,
    shard: tuple[int, int] | None = None,
) -> "tuple[Plan, Options]":
    """`(Plan, {"until", "metric"})` of the arguments of `sweep`, or else of the file.

    The arguments are the user's: classes that they name are trusted.
    """
    base, settings = read(scenario, by_user(overrides or {}))
    ours = {"cc": trust.named(cc), "over": plans.by_user(over or {}), "seeds": seeds}
    settings |= {key: value for key, value in ours.items() if value}
    until = share_of(until or settings.get("until"), "until")
    metrics = [resolved(one, base.tables) for one in listed(metric or settings.get("metric"))]
    seeds = settings.get("seeds", FIRST_SEEDS if until else 1)
    if shard and until:
        raise ScenarioError(
            "until", until, "no such option with a shard, which knows the runs of no other one"
        )
    plan = plans.plan(base, settings.get("cc", ()), settings.get("over"), seeds, world)
    return replace(plan, shard=shard), {
        "until": until,
        "metric": metrics,
    }


def missing(plan: "Plan", folder: str | os.PathLike[str]) -> "list[Job]":
    """The jobs of a `Plan` whose results are not in `folder`."""
    return [job for job in plan.jobs() if not place_of(job, Path(folder, "runs")).exists()]


def check_memory(jobs: "list[Job]", workers: int | None = None, on: object = None) -> None:
    """Raise `ScenarioError` if this machine lacks the memory for `jobs`; other machines are not checked.

    The first seed of each point stands for the others.
    """
    if on not in (None, "local"):
        return
    points: dict[str, Job] = {}
    for job in jobs:
        if job.world == "packet":
            points.setdefault(repr([value for key, value in job.settings.items() if key != "seed"]), job)
    at_a_time = min(workers or usable_cores(), len(jobs))
    check_runs(_made(points.values()), at_a_time, "--workers")


def _made(jobs: "Iterable[Job]") -> "Iterator[Scenario]":
    """The scenarios of jobs, without those that are wrong with their seed: these become failed rows."""
    for job in jobs:
        with suppress(ScenarioError):
            yield job.make()


def read(scenario: "Given", overrides: Mapping[str, object]) -> "tuple[Scenario, dict[str, Any]]":
    """`(Scenario, its table [sweep])` of what `run` accepts."""
    if isinstance(scenario, str | os.PathLike):
        return of_file(scenario, overrides)
    return given(scenario, overrides), {}


def default_folder(plan: "Plan") -> Path:
    """`results/NAME/sweep`, or `results/NAME/sweep-2-of-4` of a shard."""
    part = "-{}-of-{}".format(*plan.shard) if plan.shard else ""
    return ROOT / names.folder(plan.scenario.name) / f"sweep{part}"


def run(
    asked: "Plan",
    out: str | os.PathLike[str] | None = None,
    *,
    on: object = None,
    workers: int | None = None,
    until: float | None = None,
    metric: str | None = None,
    bar: "Progress | None" = None,
) -> Sweep:
    """Run a `Plan` in the folder `out`; see `sweep`. `bar` receives rows as they finish."""
    folder = Path(os.path.realpath(out or default_folder(asked)))
    check_place(folder)
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    with alone(folder):
        inventory.remove(_leftovers(folder / "runs"))
        result = _run(asked, folder, on, workers, bar)
        while until and not result.interrupted and not result.narrow(until, metric):
            more = result.seeds_wanted(until, metric)
            if more == len(asked.seeds):
                break
            asked = asked.with_seeds(range(asked.seeds[0], asked.seeds[0] + more))
            wrong = result.set_aside
            result = _run(asked, folder, on, workers, bar)
            result.about["set_aside"] = wrong | result.set_aside
        result.save()
    return result


def _run(plan: "Plan", folder: Path, on: object, workers: int | None, bar: "Progress | None") -> Sweep:
    jobs = plan.jobs()
    saved = Saved(folder)
    executor = partial(performed, on=on, workers=workers, folder=folder / "runs")
    rows: dict[str, dict[str, object]] = {}
    interrupted = False
    try:
        # Closing the generator stops the workers.
        with closing(results(jobs, saved, executor, bar)) as coming:
            for job, row in coming:
                rows[job.run] = row
                store.note(folder)
    except KeyboardInterrupt:
        interrupted = True
    return Sweep(
        [rows[job.run] for job in jobs if job.run in rows],
        plan.names,
        folder,
        _about(plan, interrupted, saved.wrong),
    )


def _about(plan: "Plan", interrupted: bool, wrong: dict[str, str]) -> "About":
    return {
        "name": plan.scenario.name,
        "world": plan.world,
        "version": version(),
        "seeds": list(plan.seeds),
        "shard": list(plan.shard) if plan.shard else None,
        "interrupted": interrupted,
        "told": plan.text(),
        "set_aside": wrong,
    }


def check_place(folder: Path) -> None:
    """Refuse a folder that holds something other than a sweep, or a link, which may lead out of it."""
    ours = {
        "runs",
        SET_ASIDE,
        "slurm",
        "table.parquet",
        "summary.csv",
        "sweep.toml",
        "figure.png",
        "figure.pdf",
    }
    if folder.exists() and not folder.is_dir():
        raise ScenarioError("it is a file", None, "a folder for the sweep", file=str(folder))
    for entry in sorted(folder.iterdir()) if folder.exists() else ():
        expected = "a folder that is new, empty or an earlier sweep's"
        if entry.is_symlink():
            raise ScenarioError(f"its {entry.name} is a link", None, expected, file=str(folder))
        if entry.name not in ours and not entry.name.startswith("."):
            raise ScenarioError(
                f"it holds {entry.name}, which no sweep wrote", None, expected, file=str(folder)
            )


def _leftovers(runs: Path) -> list[Path]:
    """Folders of runs that killed processes did not finish. Nobody else uses them: the sweep is locked."""
    return [path for path in sorted(runs.glob(".run=*.partial")) if store.is_ours(path)]


@contextmanager
def alone(folder: Path, what: str = "sweep") -> Generator[None]:
    """Allow only one sweep at a time in a folder, or one of another kind of work."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(folder / ".lock", timeout=0):
            yield
    except Timeout:
        raise ScenarioError(
            f"another {what} is running in it", None, "another folder: --out", file=str(folder)
        ) from None
