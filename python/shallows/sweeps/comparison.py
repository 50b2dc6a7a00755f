"""The same scenario under several algorithms, or in several worlds, with differences between worlds."""

import csv
import json
import os
import tomllib
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Never, Self, Unpack

import numpy as np

from shallows.algorithms import trust, user_algorithms
from shallows.base import extras, names
from shallows.errors import BooksError, NamedOverrides, ScenarioError
from shallows.results import inputs, paths, store
from shallows.results.bottlenecks import bottlenecks
from shallows.results.compared import Distance, Row
from shallows.results.contents import Bottleneck, Summary
from shallows.runner import World, in_world, prepare, refuse_unknown
from shallows.scenario import fitting
from shallows.scenario.overrides import by_user
from shallows.scenario.supported_keys import REAL_TIME
from shallows.sweeps import engine, executors
from shallows.sweeps.plans import Job

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from shallows.plot import FigureOptions
    from shallows.printing.progress import Progress
    from shallows.runner import Given
    from shallows.runs import Run
    from shallows.scenario import Scenario
    from shallows.why.paths import Paths


def compare(
    scenario: "Given",
    cc: str | type[object] | Sequence[str | type[object]],
    *,
    worlds: Sequence[World] = ("packet",),
    seed: int | None = None,
    threads: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool = False,
    overrides: Mapping[str, object] | None = None,
    **unknown: Never,
) -> "Comparison":
    """Run `scenario` once for each algorithm of `cc` in each of `worlds`; return the `Comparison`.

    `scenario`, `seed` and `overrides` are those of `run`. `cc` are names of the catalog or presets,
    "dctcp" or "vegas@ns-2", classes or their places ("./mine.py:Aimd"). `threads` runs go on at a time
    (all cores unless given). With `out` each run is saved to a folder of its own below it, and table and
    figure beside them.

    Ctrl-C ends all runs early and keeps what is done. Raises `ScenarioError` for a wrong scenario
    before anything runs, `BooksError` (after saving; the first bad run is its `run`) where packets or
    flows are unaccounted for.
    """
    from shallows.printing.progress import Progress

    refuse_unknown(unknown, compare)
    jobs = prepare_all(scenario, one_or_more(cc), worlds, seed=seed, overrides=overrides)
    if out is not None:
        store.check_replaceable(out, jobs[0].make().file)
    with Progress(shown=progress) as bars:
        comparison = Comparison(run_all(jobs, bars, threads), len(jobs))
    if out is not None:
        comparison.save(out)
    return comparison.check_books()


def one_or_more(cc: str | type[object] | Sequence[str | type[object]]) -> Sequence[str | type[object]]:
    """The algorithms of a list, or one algorithm as a list."""
    return [cc] if isinstance(cc, str | type) else cc


def prepare_all(
    scenario: "Given",
    ccs: Sequence[str | type[object]],
    worlds: Sequence[str],
    *,
    seed: int | None = None,
    overrides: Mapping[str, object] | None = None,
) -> list[Job]:
    """The jobs of a sweep over `ccs` and `worlds`, which are the user's, checked before the first run starts.

    Their addresses are the labels of the runs: algorithm, and world if there are several.
    """
    named = user_algorithms.labels(trust.named(ccs))
    if not named:
        raise ScenarioError("cc", None, "one algorithm or more")
    given = by_user(NamedOverrides(overrides))
    jobs: list[Job] = []
    refused: list[ScenarioError] = []
    for label, cc in named.items():
        for world in worlds:
            prepared, error = _prepare(scenario, seed, given, cc, world, alone=len(worlds) == 1)
            run = label if len(worlds) == 1 else f"{label}-{world}"
            jobs.append(Job(run, {"cc": label, "world": world}, world, lambda made=prepared: made))
            refused += [error] if error else []
    if len(refused) == len(jobs):  # a key that acts on none of the algorithms
        raise refused[0]
    return jobs


def _prepare(
    scenario: "Given",
    seed: int | None,
    overrides: NamedOverrides,
    cc: str | type[object],
    world: str,
    *,
    alone: bool,
) -> "tuple[Scenario, ScenarioError | None]":
    """The scenario under an algorithm, on the network that it needs, and the error about keys left out.

    Keys of hosts that the algorithm does not use are left out. `alone`: there is no other world.
    """
    overrides = overrides | NamedOverrides({"cc.name": cc}, "--cc")
    error = None
    try:
        prepared = prepare(scenario, seed=seed, overrides=overrides, world=world)
    except ScenarioError as refused:
        without = fitting.defaults(refused)
        if not without:
            raise
        error = refused
        prepared = prepare(scenario, seed=seed, overrides=overrides | NamedOverrides(without), world=world)
    needed = fitting.changes(prepared, pauses=alone and world == "packet")
    return (prepare(prepared, overrides=needed, world=world) if needed else prepared), error


@dataclass(frozen=True)
class _Kept:
    """The `engine.Work` of a comparison: its runs are kept in memory."""

    bars: "Progress"
    done: "dict[str, Run]"

    def find(self, job: Job) -> "Run | None":
        return self.done.get(job.run)

    def perform(self, job: Job) -> "Run":
        scenario = job.make()
        self.done[job.run] = in_world(job.world)(scenario, self.bars.of(scenario, job.run))
        return self.done[job.run]

    def lost(self, job: Job, error: BaseException) -> "Run":
        raise error


def run_all(jobs: Sequence[Job], bars: "Progress", threads: int | None = None) -> "dict[str, Run]":
    """`{label: Run}` in the order of `jobs`, `threads` at a time (all cores unless given).

    Runs that had not started when Ctrl-C came are missing; `KeyboardInterrupt` if that is all of them.
    """
    from concurrent.futures import ThreadPoolExecutor

    kept = _Kept(bars, {})
    in_real_time = any(job.world in REAL_TIME for job in jobs)  # leave one core to the machine
    with ThreadPoolExecutor(1 if in_real_time else threads or min(len(jobs), os.cpu_count() or 1)) as pool:
        executor = partial(executors.through, pool)
        with suppress(KeyboardInterrupt):
            try:
                deque(engine.results(jobs, kept, executor), maxlen=0)
            finally:
                bars.stop.set()  # the runs in progress end early
    if not kept.done:
        raise KeyboardInterrupt
    return {job.run: kept.done[job.run] for job in jobs if job.run in kept.done}


class Comparison:
    """Runs of one scenario under several algorithms: `runs` is `{label: Run}`, in the given order."""

    def __init__(self, runs: "dict[str, Run]", asked: int | None = None) -> None:
        self.runs = runs
        self._missing = asked is not None and len(runs) < asked

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> "Comparison":
        """The comparison saved in `folder`. Raises `ScenarioError` where there is none, or not all of it."""
        from shallows.runs import Run

        table = Path(folder, "comparison.csv")
        if not table.is_file():
            raise ScenarioError(
                "no comparison.csv", None, "a folder saved by a comparison", file=os.fspath(folder)
            )
        try:
            with table.open(encoding="utf-8", newline="") as rows:
                labels = [row["cc"] for row in csv.DictReader(rows)]
        except (KeyError, ValueError, csv.Error):
            labels = []
        if not labels:
            raise ScenarioError("not a table of runs", file=table, expected="one that a comparison saved")
        return cls({label: Run.load(_place(folder, label)) for label in labels})

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.runs)}>"

    def _repr_html_(self) -> str:
        """The report for a notebook."""
        from shallows.printing.notebook import html
        from shallows.printing.report import comparison_report

        return html(comparison_report(self))

    @property
    def interrupted(self) -> bool:
        """True if the user ended one of the runs early, or before it began."""
        return self._missing or any(run.interrupted for run in self.runs.values())

    @property
    def rows(self) -> list[Row]:
        """The table as a list of dicts, a row for each run: `cc`, then the numbers of its summary.

        Columns of ports refer to the same port in every row.
        """
        ports = bottlenecks(self.runs.values())
        rows = zip(self.runs.items(), ports, strict=True)
        return [row(label, run.summary, port) for (label, run), port in rows]

    @property
    def table(self) -> "pd.DataFrame":
        """The table as a pandas DataFrame, a row for each algorithm."""
        import pandas

        rows = [{**row, "more_than": json.dumps(row["more_than"])} for row in self.rows]
        return pandas.DataFrame(rows).set_index("cc")

    def _csv(self) -> str:
        """The text of `comparison.csv`."""
        table = self.table
        table["port"] = table["port"].map(names.cell)
        return table.to_csv()

    @property
    def by_size(self) -> "pd.DataFrame":
        """Slowdown by flow size (pandas): a row for each algorithm and size, as in `flows_by_size`."""
        import pandas

        rows = [{"cc": cc, **row} for cc, run in self.runs.items() for row in run.summary["flows_by_size"]]
        return pandas.DataFrame(rows).set_index(["cc", "below_bytes"])

    @property
    def distances(self) -> list[Distance]:
        """Differences between worlds: a list of dicts, a row for each algorithm, further world and quantity.

        `cc`; `world`, and the first world as `than`; `quantity`; `value` and `reference` in them;
        `difference` (value - reference) and `percent` (of the reference; None if that is 0); `half_width` and
        `reference_half_width` of the intervals over repeated runs in real time, None elsewhere.
        """
        rows: list[Distance] = []
        first: dict[str, Run] = {}
        for label, run in self.runs.items():
            world = run.summary["world"]
            cc = label.removesuffix(f"-{world}")
            if cc not in first:
                first[cc] = run
                continue
            port, reference = bottlenecks([run, first[cc]])
            references, than = _compared(first[cc], reference), first[cc].summary["world"]
            for quantity, value in _compared(run, port).items():
                difference, percent = _difference(value, references[quantity])
                rows.append(
                    {
                        "cc": cc,
                        "world": world,
                        "than": than,
                        "quantity": quantity,
                        "value": value,
                        "reference": references[quantity],
                        "difference": difference,
                        "percent": percent,
                        "half_width": _half_width(run, quantity),
                        "reference_half_width": _half_width(first[cc], quantity),
                    }
                )
        return rows

    @property
    def networks(self) -> list[str]:
        """Sentences on how the networks of the runs differ, or treat them differently; and on unused keys."""
        saved = {label: tomllib.loads(run.scenario_toml) for label, run in self.runs.items()}
        networks = {label: tables["network"] for label, tables in saved.items()}
        return fitting.differences(networks) + fitting.treatments(saved) + fitting.unused(saved)

    def figure(self, **options: "Unpack[FigureOptions]") -> "Figure":
        """The four-panel matplotlib figure, the runs drawn over each other.

        `options` are `size`, `names`, `caption`, `since` and `until`; see `shallows.plot.figure`.
        """
        from shallows import plot

        return plot.figure(list(self.runs.values()), labels=list(self.runs), **options)

    def html(self, file: str | PathLike[str], paths: "Mapping[str, Paths] | None" = None) -> Path:
        """Write a self-contained page of this comparison to `file`; return its path.

        `paths` are `{label: run.why(slowest=10)}`, for a page with critical paths.
        """
        from shallows.why import page as report

        return report.write(file, report.of_comparison(self, paths))

    def check_books(self) -> Self:
        """Return the comparison; raise `BooksError` if the books of a run do not close."""
        for label, run in self.runs.items():
            if not run.summary["books"]["closed"]:
                raise BooksError([f"{label}: {problem}" for problem in run.summary["books"]["problems"]], run)
        return self

    def save(self, folder: str | PathLike[str], *, plot: bool | None = None) -> Path:
        """Save each run below `folder`, table and, where matplotlib is installed, figure; return its path.

        An earlier result there is replaced as `Run.save` does it. `plot` decides on the figure.
        """
        folder = paths.for_result(folder, self.interrupted)
        with store.replacing(folder) as filling:
            for label, run in self.runs.items():
                _place(filling, label).mkdir()
                run.write(_place(filling, label))
            (filling / "comparison.csv").write_text(self._csv(), "utf-8")
            if self.distances:
                import pandas

                pandas.DataFrame(self.distances).to_csv(filling / "distances.csv", index=False)
        for label, run in self.runs.items():
            inputs.trust_copies(_place(folder, label), run)
        if extras.has("plot") if plot is None else plot:
            self.draw(folder)
        return folder

    def draw(self, folder: str | PathLike[str], **options: "Unpack[FigureOptions]") -> None:
        """Add the figure to `folder`, where this comparison is saved; `options` are those of `figure`."""
        from shallows import plot

        plot.add(self.figure(**options), folder, "comparison.csv", self._csv())


def _half_width(run: "Run", quantity: str) -> float | None:
    """Half the width of the interval of a number over repeated runs; None for one run."""
    known: dict[str, float | None] = run.summary.get("spread", {}).get(quantity) or {}
    return known.get("half_width")


def _place(folder: str | PathLike[str], label: str) -> Path:
    """The folder of the run with this label in the folder of a comparison."""
    return Path(folder, names.file(label))


def _compared(run: "Run", port: Bottleneck) -> dict[str, float | None]:
    """{quantity: value} for the comparison of worlds. Goodput is that of flows without an end."""
    flows = run.columns("flows")
    goodput, size = (np.asarray(flows[key], float) for key in ("goodput_gbps", "bytes"))
    goodput = goodput[np.isnan(size) & np.isfinite(goodput)]
    found: dict[str, float | None] = {
        "queue_mean_pkt": port["queue_mean_pkt"],
        "queue_p99_pkt": port["queue_p99_pkt"],
        "utilization": port["utilization"],
    }
    if len(goodput):
        for name, value in (("least", goodput.min()), ("mean", goodput.mean()), ("most", goodput.max())):
            found[f"flow_goodput_{name}_gbps"] = float(value)
    return found


def _difference(value: float | None, reference: float | None) -> tuple[float | None, float | None]:
    """The difference and its percentage of the reference; None for what is unknown."""
    if value is None or reference is None:
        return None, None
    return value - reference, 100 * (value - reference) / reference if reference else None


def row(cc: str, summary: Summary, port: Bottleneck) -> Row:
    """The numbers of one run in a comparison; None for a number that this run does not have."""
    flows = summary["flows"]
    return {
        "cc": cc,
        "port": port["port"],
        "utilization": port["utilization"],
        "queue_mean_pkt": port["queue_mean_pkt"],
        "queue_p99_pkt": port["queue_p99_pkt"],
        "delay_mean_us": port["delay_mean_us"],
        "backlog_p99_us": port["backlog_p99_us"],
        "dropped": port["dropped"],
        "goodput_gbps": flows["goodput_gbps"],
        "jain": flows["jain"],
        "offered": flows["offered"],
        "finished": flows["finished"],
        "completed": flows["completed"],
        "unfinished": flows["unfinished"],
        "more_than": flows["more_than"],
        "fct_mean_us": flows["fct_mean_us"],
        "fct_p99_us": flows["fct_p99_us"],
        "slowdown_p50": flows["slowdown_p50"],
        "slowdown_p99": flows["slowdown_p99"],
        "timeouts": flows["timeouts"],
        "drain_s": summary["drain_s"],
        "drain_share": summary["drain_share"],
    }
