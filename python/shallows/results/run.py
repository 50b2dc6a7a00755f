"""One run: its scenario, its summary and its tables, in memory or in a folder.

The tables of a new run stay in the columns of the core. They are joined, or converted to pandas or Arrow,
only when used, and are written in batches, so that a run with millions of samples needs no more memory to be
saved.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from shallows.errors import BooksError, ScenarioError
from shallows.results import arrow, disk, paths, store, tables
from shallows.results.answer import Answer
from shallows.results.summary import Counted
from shallows.results.tables import ALL_TABLES, OPTIONAL

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from matplotlib.figure import Figure

    from shallows.core import contract
    from shallows.export import Taps
    from shallows.faults.goodput import Record
    from shallows.plot import Plots
    from shallows.scenario import Scenario
    from shallows.topology import Network
    from shallows.traffic import Flows
    from shallows.why.path import Path as FlowPath
    from shallows.why.paths import Paths
    from shallows.why.snapshot import Snapshot
    from shallows.why.task import TaskPath

ATTEMPTS = 3
TEXTS = ("scenario.toml", "summary.json")
WHOLE = "a table as its run saved it"


class Run:
    """A finished (or interrupted) run.

    `summary` is the dict of `summary.json`, `scenario_toml` the scenario with every default. `flows`,
    `computations`, `queues`, `probes`, `ports`, `classes`, `goodput` and `queue_histograms` are pandas
    tables, built when first used; `ALL_TABLES` names their columns with unit and definition.

    `blocks` maps the name of a table to a function that yields it in blocks: dicts of equally long columns
    (numpy arrays, NaN for a missing value, or `Names`). `answer` is the answer of the world; None for a run
    that was loaded from a folder.
    """

    def __init__(
        self,
        scenario_toml: str,
        summary: dict[str, Any],
        blocks: Mapping[str, Callable[[], Iterable[Mapping[str, Any]]]],
        answer: Answer | None = None,
    ) -> None:
        self.answer = answer
        self.scenario_toml = scenario_toml
        self.summary = summary
        self._blocks = blocks
        self._columns: dict[str, tables.Block] = {}
        self._folder = Path()
        self._texts = "", ""
        self._address: str | None = None

    @classmethod
    def from_answer(
        cls,
        scenario: "Scenario",
        network: "Network",
        flows: "Flows",
        answer: "contract.Answer",
        wall_s: float,
        world: str = "packet",
        record: "Record | None" = None,
    ) -> "Run":
        """The run of an `answer` of the packet world (docs/crossing.md) or of another world.

        `network` has `port_names`, `host_names` and the columns of the links, `flows` the columns of the
        flows and `cc_names`; times are in picoseconds, sizes in bytes. `wall_s` is the real time of the run,
        `record` the groups of flows whose goodput was sampled.
        """
        results = Answer(scenario, network, flows, answer, record)
        return cls(scenario.to_toml(), {"world": world, **results.summary(wall_s)}, results.blocks(), results)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> "Run":
        """The run saved in `folder`. Tables are read when first used.

        Raises `ScenarioError` if the folder holds no result, or files of different runs.
        """
        folder = Path(folder)
        if "\0" in str(folder):
            raise ScenarioError("folder", str(folder), "a path: no path has a NUL in it")
        store.restore(folder)
        for _ in range(ATTEMPTS - 1):
            with suppress(ScenarioError):  # another run may have replaced the folder in the meantime
                return cls._loaded(folder)
        return cls._loaded(folder)

    @classmethod
    def _loaded(cls, folder: Path) -> "Run":
        try:
            scenario_toml, summary = ((folder / name).read_text("utf-8") for name in TEXTS)
        except OSError as error:
            missing, expected = Path(error.filename).name, "a folder saved by a run"
            if (folder / "comparison.csv").is_file():
                several = sorted(str(path.parent) for path in folder.glob("*/summary.json"))
                expected += f"; this is a comparison of several: {', '.join(several)}"
            elif (folder / "sweep.toml").is_file():
                expected += f"; this is a sweep, and its runs are in {folder / 'runs'}"
            raise ScenarioError(f"no {missing}", file=folder, expected=expected) from None
        except UnicodeDecodeError:
            raise ScenarioError("not text", file=folder, expected="a folder saved by a run") from None
        try:
            run = cls(scenario_toml, json.loads(summary), {})
            _ = run.summary["fingerprint"], run.summary["books"]["closed"]
        except (ValueError, TypeError, KeyError):
            file = folder / "summary.json"
            raise ScenarioError("not a summary", file=file, expected="one that a run saved") from None
        run._folder, run._texts = folder, (scenario_toml, summary)
        for name in ALL_TABLES:
            if not run._lacks(name):
                run._check_saved(name)
        return run

    def columns(self, name: str) -> "tables.Block":
        """One of `ALL_TABLES` as `{column: numpy array}`; texts as `Names`, NaN for a missing value."""
        if name not in self._columns:
            blocks = self._blocks[name]() if name in self._blocks else [self._saved(name)]
            self._columns[name] = tables.joined(name, blocks)
        return self._columns[name]

    @property
    def counted(self) -> Counted:
        """The flows that statistics of completion times are over."""
        summary, columns = self.summary, self.columns("flows")
        wanted = ("start_us", "fct_us", "bytes", "ideal_us", "slowdown")
        flows = {name: np.asarray(columns[name], float) for name in wanted}
        ends_s = summary["cooldown_at_s"]
        ends_us = None if ends_s is None else ends_s * 1e6
        return Counted.of(flows, summary["warmup_s"] * 1e6, ends_us, summary["duration_s"] * 1e6)

    def table(self, name: str) -> "pyarrow.Table":
        """One of `ALL_TABLES` as a pyarrow table, with unit and definition in the metadata of each column.

        Raises `ScenarioError` without pyarrow, which the extra `arrow` brings.
        """
        return arrow.table(ALL_TABLES[name], self.columns(name))

    def _saved(self, name: str) -> "tables.Block":
        """A table from the disk, checked."""
        if self._lacks(name):
            return tables.joined(name, [])
        self._check_saved(name)
        return disk.read(self._folder / f"{name}.parquet", WHOLE)

    def _lacks(self, name: str) -> bool:
        """True for one of `OPTIONAL` without rows, which is not on disk."""
        optional = name in OPTIONAL and name not in self._blocks
        return optional and not (self._folder / f"{name}.parquet").exists()

    def _names(self) -> list[str]:
        """The tables that are on disk, or that `write` saves."""
        return [name for name in ALL_TABLES if not self._lacks(name)]

    def _check_saved(self, name: str) -> None:
        """Raise `ScenarioError` unless the table is on disk, unchanged, and belongs to this run."""
        path = self._folder / f"{name}.parquet"
        metadata, columns = disk.header(path, WHOLE)
        self._address = metadata.get("address")
        if metadata.get("run") != _mark(*self._texts, self._address or "", self._names()):
            raise ScenarioError(
                "of another run than summary.json and scenario.toml", file=path, expected=WHOLE
            )
        if columns != list(ALL_TABLES[name]):
            raise ScenarioError("columns", ", ".join(columns), ", ".join(ALL_TABLES[name]), file=path)

    @cached_property
    def flows(self) -> "pandas.DataFrame":
        """The flow table (pandas): a row for each flow, finished or not."""
        return tables.frame(self.columns("flows"))

    @cached_property
    def computations(self) -> "pandas.DataFrame":
        """The table of computations (pandas): a row for each, ended or not."""
        return tables.frame(self.columns("computations"))

    @cached_property
    def queues(self) -> "pandas.DataFrame":
        """Samples of the recorded queues (pandas)."""
        return tables.frame(self.columns("queues"))

    @cached_property
    def probes(self) -> "pandas.DataFrame":
        """Samples of what the algorithms measure and decide (pandas): windows, rates, alpha, delays."""
        return tables.frame(self.columns("probes"))

    @cached_property
    def ports(self) -> "pandas.DataFrame":
        """Exact statistics of every egress port after the warm-up (pandas)."""
        return tables.frame(self.columns("ports"))

    @cached_property
    def classes(self) -> "pandas.DataFrame":
        """Statistics of every traffic class at every port (pandas); empty without classes."""
        return tables.frame(self.columns("classes"))

    @cached_property
    def goodput(self) -> "pandas.DataFrame":
        """Goodput over time of the flows of each fault, and of the others (pandas); empty without faults."""
        return tables.frame(self.columns("goodput"))

    @cached_property
    def queue_histograms(self) -> "pandas.DataFrame":
        """How long each recorded queue had each length (pandas), exact, after the warm-up."""
        return tables.frame(self.columns("queue_histograms"))

    def __repr__(self) -> str:
        s = self.summary
        return f"<Run {s['name']}, seed {s['seed']}, {s['world']} world, {s['duration_s']:g} s>"

    def _repr_html_(self) -> str:
        """The report for a notebook."""
        from shallows.printing.notebook import html
        from shallows.printing.report import run_report

        return html(run_report(self.summary))

    @cached_property
    def scenario(self) -> "Scenario":
        """The `Scenario` of this run, every default resolved."""
        from shallows.scenario import Scenario

        return Scenario.from_toml(self.scenario_toml)

    def why(
        self, flow: int | None = None, *, task: str | None = None, **choose: Any
    ) -> "FlowPath | Paths | TaskPath":
        """Causes of each picosecond of the time of a flow: its `shallows.why.Path` (docs/why.md).

        The scenario runs again for this. For several flows, `why([812, 900])`, `why(slowest=10)` or
        `why(size="< 10 KB", p99=True)`, it returns the `Paths`: a mapping from flow numbers.
        `why(task="NAME")` is the `TaskPath` of a collective, through all messages on the way.
        """
        if task is not None:
            from shallows.why import task as tasks

            return tasks.of_run(self, task)
        from shallows.why import paths as found

        if isinstance(flow, int):
            return found.of_run(self, [flow])[flow]
        return found.of_run(self, flow, **choose)

    def at(self, time: str) -> "Snapshot":
        """Every queue, window, rate and pause at `time`, such as "3.2ms" (docs/timelines.md).

        The state includes everything that happens at or before the time. The scenario runs again for this.
        Raises `ScenarioError` for a time outside of the run, and if the second run was not the same.
        """
        from shallows.why import snapshot

        return snapshot.of_run(self, time)

    def taps(self, ports: Any = None, **how: Any) -> "Taps":
        """Every frame at these egress ports, given by names or patterns, or at all ports:
        `shallows.export.Taps`.

        Write them with `run.taps(["s0->h8"]).pcap("one.pcapng")`, `.perfetto(file)` or `.csv(folder)`. The
        scenario runs again for this. `flows`, `since`, `until` and `every` are those of `shallows export`
        (docs/timelines.md).
        """
        from shallows.export import taps

        return taps.of_run(self, ports, **how)

    @property
    def interrupted(self) -> bool:
        """True if the user ended the run early."""
        return self.summary.get("interrupted", False)

    def check_books(self) -> Self:
        """Return the run; raise `BooksError` if packets or flows are unaccounted for."""
        if not self.summary["books"]["closed"]:
            raise BooksError(self.summary["books"]["problems"], self)
        return self

    def save(self, folder: str | PathLike[str], *, plot: bool = False) -> Path:
        """Write everything to `folder`, with `plot` then the figure too; return its path.

        An earlier result is replaced as a whole after everything is written, except that an interrupted run
        does not replace a complete one: it is saved to `FOLDER-interrupted`. Raises `ScenarioError` if the
        folder holds anything else, and `OSError` if it cannot be written.
        """
        folder = paths.for_result(folder, self.interrupted)
        with store.replacing(folder) as filling:
            self.write(filling)
        if plot:
            self.draw(folder)
        return folder

    def draw(self, folder: str | PathLike[str]) -> None:
        """Add the figure to `folder`, where this run is saved."""
        from shallows import plot

        figure = self.figure()
        with store.adding(folder, "summary.json", self._summary_json()) as filling:
            plot.save(figure, filling)

    def html(self, file: str | PathLike[str], paths: Any = None) -> Path:
        """Write a self-contained page of this run to `file`; return its path.

        `paths` are critical paths to show, such as `run.why(slowest=10)`.
        """
        from shallows.pages import report

        return report.write(file, report.of_run(self, paths))

    @property
    def folder(self) -> Path | None:
        """The folder from which this run was loaded; None for a new run."""
        return self._folder if self.answer is None else None

    @property
    def address(self) -> str | None:
        """The address for which a sweep saved this run; None if no sweep did."""
        return self._address

    def write(self, folder: Path, address: str | None = None) -> None:
        """Write texts and tables into `folder`, which must be empty; see `save`. `address` is a sweep's."""
        summary = self._summary_json()
        metadata = {
            "run": _mark(self.scenario_toml, summary, address or "", self._names()),
            "fingerprint": self.summary["fingerprint"] or "",
            **({"address": address} if address else {}),
        }
        for name in self._names():
            blocks = self._blocks[name]() if name in self._blocks else [self.columns(name)]
            disk.write(folder / f"{name}.parquet", ALL_TABLES[name], metadata, blocks)
        for name, text in zip(TEXTS, (self.scenario_toml, summary), strict=True):
            (folder / name).write_text(text, "utf-8")

    def _summary_json(self) -> str:
        return json.dumps(self.summary, indent=2) + "\n"

    def figure(self, **options: Any) -> "Figure":
        """The four-panel matplotlib figure of this run.

        `options` are `size`, `names`, `caption`, `since` and `until`; see `shallows.plot.figure`.
        """
        from shallows import plot

        return plot.figure([self], **options)

    @property
    def plot(self) -> "Plots":
        """Single figures, such as `run.plot.queue_over_time()`; see `shallows.plot.PANELS`."""
        from shallows import plot

        return plot.Plots(self)


def _mark(scenario_toml: str, summary: str, address: str, names: Iterable[str]) -> str:
    """A digest of the texts, the address and the tables of a saved run, which is stored in each table."""
    return hashlib.sha256("\0".join([scenario_toml, summary, address, *names]).encode()).hexdigest()[:32]
