"""A run as data: its scenario, its summary and its tables, in memory or in a folder.

The public `Run` (`shallows.runs`) offers the analyses of it.

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
from typing import TYPE_CHECKING, Self, cast

import numpy as np

from shallows.base.toml import is_table
from shallows.errors import BooksError, ScenarioError
from shallows.results import arrow, disk, inputs, paths, shape, store, tables
from shallows.results.contents import Summary
from shallows.results.summary import Counted
from shallows.results.tables import ALL_TABLES, OPTIONAL
from shallows.scenario import Scenario
from shallows.units import TIME

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from shallows.results.answer import Answer

Blocks = Mapping[str, Callable[[], Iterable[tables.Block]]]

ATTEMPTS = 3
TEXTS = ("scenario.toml", "summary.json")
WHOLE = "a table as its run saved it"


class RunData:
    """The data of a finished (or interrupted) run.

    `summary` is the dict of `summary.json`, `scenario_toml` the scenario with every default. `flows`,
    `computations`, `queues`, `probes`, `ports`, `classes`, `messages`, `goodput` and `queue_histograms` are
    pandas tables, built when first used; `ALL_TABLES` names their columns with unit and definition.

    `blocks` maps the name of a table to a function that yields it in blocks: dicts of equally long columns
    (numpy arrays, NaN for a missing value, or `Names`). `answer` is the answer of the world; None for a run
    that was loaded from a folder.
    """

    def __init__(
        self,
        scenario_toml: str,
        summary: Summary,
        blocks: Blocks,
        answer: "Answer | None" = None,
    ) -> None:
        self.answer = answer
        self.scenario_toml = scenario_toml
        self.summary = summary
        self.blocks = blocks
        self._columns: dict[str, tables.Block] = {}
        self._folder = Path()
        self._texts = "", ""
        self._address: str | None = None

    @classmethod
    def from_answer(cls, answer: "Answer", wall_s: float, world: str = "packet") -> Self:
        """The run of an answer of a world, which took `wall_s` of real time."""
        scenario = answer.scenario
        summary = cast(Summary, {"world": world, **answer.summary(wall_s)})
        return cls(scenario.to_toml(), summary, answer.blocks(), answer)

    @classmethod
    def saved(cls, folder: str | PathLike[str]) -> Self:
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
    def _loaded(cls, folder: Path) -> Self:
        try:
            scenario_toml, summary = ((folder / name).read_text("utf-8") for name in TEXTS)
        except OSError as error:
            missing, expected = Path(error.filename).name, "a folder saved by a run"
            if not folder.exists():
                raise ScenarioError("no such folder", file=folder, expected=expected) from None
            if (folder / "comparison.csv").is_file():
                several = sorted(str(path.parent) for path in folder.glob("*/summary.json"))
                expected += f"; this is a comparison of several: {', '.join(several)}"
            elif (folder / "sweep.toml").is_file():
                expected += f"; this is a sweep, and its runs are in {folder / 'runs'}"
            raise ScenarioError(f"no {missing}", file=folder, expected=expected) from None
        except UnicodeDecodeError:
            raise ScenarioError("not text", file=folder, expected="a folder saved by a run") from None
        try:
            read = json.loads(summary)
            if not is_table(read):
                raise ValueError("no table")
        except (ValueError, RecursionError):
            file = folder / "summary.json"
            raise ScenarioError("not a summary", file=file, expected="one that a run saved") from None
        try:
            run = cls._checked(folder, scenario_toml, summary, read)
        except ScenarioError as error:
            raise shape.of_version(read, error) from None
        return run

    @classmethod
    def _checked(cls, folder: Path, scenario_toml: str, summary: str, read: object) -> Self:
        """The run of these texts and the tables beside them, all as a run saved them."""
        try:
            shape.check(read, Summary)
        except ScenarioError as error:
            raise error.in_file(folder / "summary.json") from None
        run = cls(scenario_toml, cast(Summary, read), {})
        run._folder, run._texts = folder, (scenario_toml, summary)
        for name in ALL_TABLES:
            if not run._lacks(name):
                run._check_saved(name)
        return run

    def columns(self, name: str) -> "tables.Block":
        """One of `ALL_TABLES` as `{column: numpy array}`; texts as `Names`, NaN for a missing value."""
        if name not in self._columns:
            blocks = self.blocks[name]() if name in self.blocks else [self._saved(name)]
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
        path = self._folder / f"{name}.parquet"
        columns = disk.read(path, WHOLE)
        if wrong := tables.impossible(name, columns):
            raise ScenarioError(*wrong, file=path)
        return columns

    def _lacks(self, name: str) -> bool:
        """True for one of `OPTIONAL` without rows, which is not on disk."""
        optional = name in OPTIONAL and name not in self.blocks
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
            if self._marks() == {metadata.get("run")}:
                texts = " or ".join(reversed(TEXTS))
                expected = f"{texts} as the run saved it: all tables are of one run"
                raise ScenarioError(f"{texts} was changed", file=self._folder, expected=expected)
            raise ScenarioError(
                "of another run than summary.json and scenario.toml", file=path, expected=WHOLE
            )
        if columns != list(ALL_TABLES[name]):
            raise ScenarioError("columns", ", ".join(columns), ", ".join(ALL_TABLES[name]), file=path)

    def _marks(self) -> set[str | None]:
        """The digests in all tables: one, unless a table is of another run."""
        tables = (self._folder / f"{name}.parquet" for name in self._names())
        return {disk.header(table, WHOLE)[0].get("run") for table in tables}

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
        """Statistics of every traffic class, or of both queues of `dualpi2`, at every port (pandas)."""
        return tables.frame(self.columns("classes"))

    @cached_property
    def messages(self) -> "pandas.DataFrame":
        """The messages of collectives with queue pairs (pandas); empty without."""
        return tables.frame(self.columns("messages"))

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
        duration = TIME.about(s["duration_s"] * 1e12)
        return f"<Run {s['name']}, seed {s['seed']}, {s['world']} world, {duration}>"

    @cached_property
    def scenario(self) -> "Scenario":
        """The `Scenario` of this run, every default resolved."""
        return Scenario.from_toml(self.scenario_toml, file=self._file)

    @property
    def interrupted(self) -> bool:
        """True if the user ended the run early."""
        return self.summary.get("interrupted", False)

    def check_books(self) -> Self:
        """Return the run; raise `BooksError` if packets or flows are unaccounted for."""
        if not self.summary["books"]["closed"]:
            raise BooksError(self.summary["books"]["problems"], self)
        return self

    def save(self, folder: str | PathLike[str]) -> Path:
        """Write everything to `folder`; return its path.

        An earlier result is replaced as a whole after everything is written, except that an interrupted run
        does not replace a complete one: it is saved to `FOLDER-interrupted`. Raises `ScenarioError` if the
        folder holds anything else, and `OSError` if it cannot be written.
        """
        folder = paths.for_result(folder, self.interrupted)
        with store.replacing(folder) as filling:
            self.write(filling)
        inputs.trust_copies(folder, self)
        return folder

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
        limit = inputs.LIMIT_IN_SWEEP if address else inputs.LIMIT
        scenario_toml, rows, copies = inputs.relative(self, folder, limit)
        if rows:
            self.summary["inputs"] = rows
        summary = self.summary_json()
        metadata = {
            "run": _mark(scenario_toml, summary, address or "", self._names()),
            "fingerprint": self.summary["fingerprint"] or "",
            **({"address": address} if address else {}),
        }
        for name in self._names():
            blocks = self.blocks[name]() if name in self.blocks else [self.columns(name)]
            disk.write(folder / f"{name}.parquet", ALL_TABLES[name], metadata, blocks)
        for name, text in zip(TEXTS, (scenario_toml, summary), strict=True):
            (folder / name).write_text(text, "utf-8")
        for name, content in copies.items():
            (folder / name).write_bytes(content)

    @property
    def _file(self) -> str | None:
        """The scenario on the disk, to which paths are relative; None for a new run."""
        return str(self._folder / TEXTS[0]) if self.folder is not None else None

    def summary_json(self) -> str:
        """The text of `summary.json`."""
        return json.dumps(self.summary, indent=2) + "\n"


def _mark(scenario_toml: str, summary: str, address: str, names: Iterable[str]) -> str:
    """A digest of the texts, the address and the tables of a saved run, which is stored in each table."""
    return hashlib.sha256("\0".join([scenario_toml, summary, address, *names]).encode()).hexdigest()[:32]
