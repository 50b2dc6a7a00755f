"""One run: its scenario, its summary and its tables, in memory or in a folder.

The tables of a run that was just made stay in the columns the packet world returned; they become whole
columns, pandas or Arrow only when asked for, and reach the disk in batches, so that a run with millions of
samples is saved in the memory it already has.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from shallows.errors import BooksError, ScenarioError
from shallows.results import arrow, disk, store, tables
from shallows.results.answer import Answer
from shallows.results.tables import TABLES

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from matplotlib.figure import Figure

    from shallows import contract
    from shallows.export import Taps
    from shallows.plot import Plots
    from shallows.scenario import Scenario
    from shallows.topology import Network
    from shallows.traffic import Flows
    from shallows.why.path import Path as FlowPath
    from shallows.why.paths import Paths
    from shallows.why.snapshot import Snapshot

ATTEMPTS = 3
TEXTS = ("scenario.toml", "summary.json")
WHOLE = "a table as its run saved it"


class Run:
    """A finished (or interrupted) run.

    `summary` is the dict of `summary.json`, `scenario_toml` the scenario with every default resolved.
    `flows`, `queues`, `probes`, `ports` and `queue_histograms` are pandas tables, built when first
    asked for; `TABLES` names their columns with unit and definition.

    `blocks` maps the name of a table to a function that yields it piecewise, as dicts of equally long
    columns (numpy arrays, NaN for what does not exist, or `Names`). `answer` is what the world returned; a
    run that was read from a folder has none.
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
        self._mark = ""

    @classmethod
    def from_answer(
        cls,
        scenario: "Scenario",
        network: "Network",
        flows: "Flows",
        answer: "contract.Answer",
        wall_s: float,
        world: str = "packet",
    ) -> "Run":
        """The run that the `answer` of the packet world (docs/crossing.md), or one like it, describes.

        `network` has `port_names`, `host_names` and the columns of the links, `flows` the columns of
        the flows and `cc_names`; times in picoseconds, sizes in bytes. `wall_s` is how long it took.
        """
        results = Answer(scenario, network, flows, answer)
        return cls(scenario.to_toml(), {"world": world, **results.summary(wall_s)}, results.blocks(), results)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> "Run":
        """The run saved in `folder`. Tables are read when first asked for.

        Raises `ScenarioError` where the folder holds no result, or not all of it is of one run.
        """
        folder = Path(folder)
        if "\0" in str(folder):
            raise ScenarioError("folder", str(folder), "a path: no path has a NUL in it")
        store.restore(folder)
        for _ in range(ATTEMPTS - 1):
            with suppress(ScenarioError):  # another run may have taken the folder's place while it was read
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
            run.summary.setdefault("warnings", run.summary.pop("doubts", []))  # its name before 0.1.0
            _ = run.summary["fingerprint"], run.summary["books"]["closed"]
        except (ValueError, TypeError, KeyError):
            file = folder / "summary.json"
            raise ScenarioError("not a summary", file=file, expected="one that a run saved") from None
        run._folder, run._mark = folder, _mark(scenario_toml, summary)
        for name in TABLES:
            run._check_saved(name)
        return run

    def columns(self, name: str) -> "tables.Block":
        """One of `TABLES` as `{column: numpy array}`; names as `Names`, NaN for what does not exist."""
        if name not in self._columns:
            blocks = self._blocks[name]() if name in self._blocks else [self._saved(name)]
            self._columns[name] = tables.joined(name, blocks)
        return self._columns[name]

    def table(self, name: str) -> "pyarrow.Table":
        """One of `TABLES` as a pyarrow table, with unit and definition in the metadata of each column.

        Raises `ScenarioError` without pyarrow, which the extra `arrow` brings.
        """
        return arrow.table(TABLES[name], self.columns(name))

    def _saved(self, name: str) -> "tables.Block":
        """A table from the disk, checked."""
        self._check_saved(name)
        return disk.read(self._folder / f"{name}.parquet", WHOLE)

    def _check_saved(self, name: str) -> None:
        """Raise `ScenarioError` unless the table on disk is there, and of this run."""
        path = self._folder / f"{name}.parquet"
        metadata, columns = disk.header(path, WHOLE)
        if metadata.get("run") != self._mark:
            raise ScenarioError(
                "of another run than summary.json and scenario.toml", file=path, expected=WHOLE
            )
        if columns != list(TABLES[name]):
            raise ScenarioError("columns", ", ".join(columns), ", ".join(TABLES[name]), file=path)

    @cached_property
    def flows(self) -> "pandas.DataFrame":
        """The flow table (pandas): a row for each flow, also for those that did not finish."""
        return tables.frame(self.columns("flows"))

    @cached_property
    def queues(self) -> "pandas.DataFrame":
        """Samples of the recorded queues (pandas)."""
        return tables.frame(self.columns("queues"))

    @cached_property
    def probes(self) -> "pandas.DataFrame":
        """Samples of what the algorithms know and decide (pandas): windows, rates, alpha, delays."""
        return tables.frame(self.columns("probes"))

    @cached_property
    def ports(self) -> "pandas.DataFrame":
        """Exact statistics of every egress port after the warm-up (pandas)."""
        return tables.frame(self.columns("ports"))

    @cached_property
    def queue_histograms(self) -> "pandas.DataFrame":
        """How long each recorded queue had which length (pandas), exact, after the warm-up."""
        return tables.frame(self.columns("queue_histograms"))

    def __repr__(self) -> str:
        s = self.summary
        return f"<Run {s['name']}, seed {s['seed']}, {s['world']} world, {s['duration_s']:g} s>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from shallows.notebook import html
        from shallows.report import run_report

        return html(run_report(self.summary))

    @property
    def scenario(self) -> "Scenario":
        """The `Scenario` of this run, every default resolved."""
        from shallows.scenario import Scenario

        return Scenario.from_toml(self.scenario_toml)

    def why(self, flow: int | None = None, **choose: Any) -> "FlowPath | Paths":
        """Where the time of a flow went, every picosecond: its `shallows.why.Path` (docs/why.md).

        Runs the scenario again to find out. Of several flows, `why([812, 900])`, `why(slowest=10)` or
        `why(size="< 10 KB", p99=True)`, it gives the `Paths`: a mapping from their numbers.
        """
        from shallows.why import paths

        if isinstance(flow, int):
            return paths.of_run(self, [flow])[flow]
        return paths.of_run(self, flow, **choose)

    def at(self, time: str) -> "Snapshot":
        """What every queue, window, rate and pause was at `time`, such as "3.2ms" (docs/timelines.md).

        After everything that happens at or before it. Runs the scenario again to find out. Raises
        `ScenarioError` for a time that is not one of the run, and where the second run was not the same.
        """
        from shallows.why import snapshot

        return snapshot.of_run(self, time)

    def taps(self, ports: Any = None, **how: Any) -> "Taps":
        """Every frame at these egress ports, named or by pattern, or at all: its `shallows.export.Taps`.

        They become files: `run.taps(["s0->h8"]).pcap("one.pcapng")`, `.perfetto(file)`, `.csv(folder)`. Runs
        the scenario again. `flows`, `since`, `until` and `every` as in `shallows export` (docs/timelines.md).
        """
        from shallows.export import taps

        return taps.of_run(self, ports, **how)

    @property
    def interrupted(self) -> bool:
        """Whether the run was ended early by its user."""
        return self.summary.get("interrupted", False)

    def check_books(self) -> Self:
        """Return the run; raise `BooksError` if packets or flows are unaccounted for."""
        if not self.summary["books"]["closed"]:
            raise BooksError(self.summary["books"]["problems"], self)
        return self

    def save(self, folder: str | PathLike[str], *, plot: bool = False) -> Path:
        """Write everything to `folder`, with `plot` the figure too; return its path.

        An earlier result there is replaced as a whole, when all is written; until then it stays. Raises
        `ScenarioError` where the folder holds anything else, and `OSError` where it cannot be written.
        """
        with store.replacing(folder) as filling:
            self.write(filling)
            if plot:
                from shallows import plot as figures

                figures.save(self.figure(), filling)
        return Path(folder)

    def html(self, file: str | PathLike[str], paths: Any = None) -> Path:
        """Write a page of this run to `file`, one that needs nothing else; return its path.

        `paths` are those of flows that it shall tell of, such as `run.why(slowest=10)`.
        """
        from shallows.pages import report

        return report.write(file, report.of_run(self, paths))

    def write(self, folder: Path) -> None:
        """Write texts and tables into `folder`, an empty one that nobody reads yet; see `save`."""
        summary = json.dumps(self.summary, indent=2) + "\n"
        metadata = {
            "run": _mark(self.scenario_toml, summary),
            "fingerprint": self.summary["fingerprint"] or "",
        }
        for name, columns in TABLES.items():
            blocks = self._blocks[name]() if name in self._blocks else [self.columns(name)]
            disk.write(folder / f"{name}.parquet", columns, metadata, blocks)
        for name, text in zip(TEXTS, (self.scenario_toml, summary), strict=True):
            (folder / name).write_text(text, "utf-8")

    def figure(self) -> "Figure":
        """The four-panel matplotlib figure of this run; see `shallows.plot.figure`."""
        from shallows import plot

        return plot.figure([self])

    @property
    def plot(self) -> "Plots":
        """Single figures, such as `run.plot.queue_over_time()`; see `shallows.plot.PANELS`."""
        from shallows import plot

        return plot.Plots(self)


def _mark(scenario_toml: str, summary: str) -> str:
    """What every table of a saved run carries: a digest of the two texts beside it."""
    return hashlib.sha256(f"{scenario_toml}\0{summary}".encode()).hexdigest()[:32]
