"""The result of a sweep: the table of its runs, means, intervals and figures."""

import json
import math
import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from shallows.base import names, texts
from shallows.errors import BooksError, ScenarioError
from shallows.results import arrow, statistics, store
from shallows.results import metrics as known
from shallows.results.address import Address
from shallows.results.metrics import PART, RUN_KEYS, is_metric
from shallows.results.summary import bounds, is_of_few
from shallows.runs import Run
from shallows.sweeps import saved
from shallows.sweeps.jobs import name_of, part_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from pyarrow.dataset import Dataset

    from shallows.sweeps.figures import FigureOptions, HeatmapOptions


MOST_SEEDS = 200


class Sweep:
    """The runs of a sweep: `table` has a row for each, `summary` means and intervals over seeds.

    `swept` maps each swept key to its column.
    """

    def __init__(
        self,
        rows: list[dict[str, Any]],
        swept: Mapping[str, str],
        folder: str | os.PathLike[str],
        about: "saved.About",
    ) -> None:
        self.rows, self.swept, self.folder, self.about = rows, dict(swept), Path(folder), about

    def __repr__(self) -> str:
        return f"<Sweep {self.about['name']}: {len(self.rows)} runs, {len(self.failures)} failed>"

    def _repr_html_(self) -> str:
        """The report for a notebook."""
        from shallows.printing.notebook import html
        from shallows.sweeps.report import sweep_report

        return html(sweep_report(self, self.default_metrics()))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "Sweep":
        """The sweep saved in `folder`. Raises `ScenarioError` if there is none."""
        rows, about, swept = saved.load(Path(folder, "table.parquet"))
        return cls(rows, swept, folder, about)

    @property
    def interrupted(self) -> bool:
        """True if the user ended it early; repeating the sweep continues it."""
        return self.about["interrupted"]

    @property
    def set_aside(self) -> dict[str, str]:
        """`{run: problem}` of the runs in the folder that were damaged or not its own, and were repeated."""
        return self.about["set_aside"]

    @property
    def failures(self) -> dict[str, str]:
        """`{run: message}` of the runs that failed."""
        return {row["run"]: row["failure"] for row in self.rows if row["failure"]}

    @cached_property
    def table(self) -> "pd.DataFrame":
        """One row per run (pandas): address `run`, `cc`, the swept keys, `seed`, `failure`, its numbers.

        Numbers of collectives and tasks are those of their traffic table, `traffic.0.busbw_gb_per_s`.
        """
        import pandas

        self._add_parts(known.of_every_job(self._tables))
        table = pandas.DataFrame(self.rows)
        return table.astype({key: float for key in table if is_metric(key)})

    def summary(
        self,
        metrics: str | Sequence[str] | None = None,
        by: str | Sequence[str] | None = None,
        baseline: str | None = None,
        confidence: float = statistics.CONFIDENCE,
    ) -> "pd.DataFrame":
        """Means and intervals over seeds (pandas), a row for each group and metric.

        `by` are the columns that define a group, by default all that differ; each seed is averaged over the
        others first. With `baseline`, an algorithm of the sweep, differences from it are added: paired by
        seed, if both have the same seeds. `few` marks percentiles with fewer than ten flows beyond. Where
        unfinished flows make a number unknown in some run, its mean is NaN, and `more_than` is a lower bound;
        `completed` and `unfinished` count the flows of all runs of the group.
        """
        import pandas

        return pandas.DataFrame(self.intervals(metrics, by, baseline, confidence))

    def intervals(
        self,
        metrics: str | Sequence[str] | None = None,
        by: str | Sequence[str] | None = None,
        baseline: str | None = None,
        confidence: float = statistics.CONFIDENCE,
    ) -> list[dict[str, Any]]:
        """`summary` as a list of dicts."""
        metrics = [self.metric(one) for one in listed(metrics)] or self.default_metrics()
        self._add_parts(metrics)
        columns = [self.column(one) for one in listed(by)] or self.columns
        groups = self._groups(columns)
        if baseline is not None and baseline not in {row["cc"] for row in self.rows}:
            known = ", ".join(dict.fromkeys(row["cc"] for row in self.rows))
            raise ScenarioError("baseline", baseline, f"one of {known}")
        rows: list[dict[str, Any]] = []
        for group, seeds in groups.items():
            named = dict(zip(columns, group, strict=True))
            for metric in metrics:
                values = _by_seed(seeds, metric)
                known = _is_known(seeds, metric)
                if not known:
                    interval = statistics.unfinished(len(values))
                elif _one_run(seeds):
                    interval = statistics.one_run(next(iter(values.values())))
                else:
                    interval = statistics.mean(list(values.values()), confidence)
                few = any(_few(row, metric) for rows_ in seeds.values() for row in rows_)
                entry = {**named, "metric": metric, **interval._asdict(), "few": few}
                entry |= {"more_than": math.nan if known else _least(seeds, metric), **_counts(seeds, metric)}
                if baseline is not None and "cc" in columns:
                    other = tuple(baseline if key == "cc" else value for key, value in named.items())
                    entry |= _difference(seeds, groups.get(other, {}), metric, confidence)
                rows.append(entry)
        return rows

    def _add_parts(self, metrics: list[str]) -> None:
        """Add metrics of traffic tables and size classes to the rows, and the numbers of their flows."""
        parts = [
            metric
            for metric in metrics
            if PART.fullmatch(metric) and not all(metric in row for row in self.rows)
        ]
        wanted = list(dict.fromkeys(key for one in parts for key in (one, *_counting(one))))
        for row in self.rows if parts else ():
            values, least = dict.fromkeys(wanted), dict[str, float]()
            if not row["failure"]:
                values, least = part_of(self._place(row), wanted)
            row |= values
            row["more_than"] = {**bounds(row), **least}
            self.__dict__.pop("table", None)  # it is made again, with these columns

    @property
    def columns(self) -> list[str]:
        """The columns that distinguish runs besides the seed: `cc` if there are several, and swept keys."""
        several = len({row["cc"] for row in self.rows}) > 1 or not self.swept
        return [*(["cc"] if several else []), *self.swept.values()]

    def column(self, name: str) -> str:
        """The column for `name`: a column of the table, or a swept key."""
        columns = ["cc", *self.swept.values()]
        name = self.swept.get(name, name)
        if name not in columns:
            raise ScenarioError("by", name, f"one of {', '.join(columns)}")
        return name

    def default_metrics(self) -> list[str]:
        """The default metrics: those of the only collective, or slowdowns, queue and goodput."""
        if of_job := known.of_jobs(self._tables):
            return of_job
        wanted = ("slowdown_p99", "queue_mean_pkt", "goodput_gbps")
        have = [key for key in wanted if any(row[key] is not None or key in bounds(row) for row in self.rows)]
        return have or ["queue_mean_pkt"]

    def metric(self, name: str) -> str:
        """The full name of a metric, which may be written as reports print it. Raises `ScenarioError`."""
        return known.resolved(name, self._tables)

    @cached_property
    def _tables(self) -> dict[str, object]:
        """The tables of its scenario, as given."""
        return texts.toml(self.about["told"])

    def narrow(self, share: float, metric: str | None = None) -> bool:
        """True if every interval of `metric` is within `share` of its mean to either side."""
        return all(_width(row) <= share for row in self.intervals(metric or self.default_metrics()[0]))

    def seeds_wanted(self, share: float, metric: str | None = None) -> int:
        """The number of seeds that should achieve this, at most twice the present number."""
        have = len(self.about["seeds"])
        widths = [_width(row) for row in self.intervals(metric or self.default_metrics()[0])]
        worst = max((width for width in widths if math.isfinite(width)), default=math.inf)
        wanted = have * (worst / share) ** 2 if math.isfinite(worst) else 2 * have
        return min(max(math.ceil(wanted), have + 1), 2 * have, MOST_SEEDS)

    def runs(self, **chosen: object) -> Iterator[Run]:
        """The `Run`s with these columns (cc="dx", load=0.4, seed=1), read from disk one by one."""
        for row in self.rows:
            if not row["failure"] and all(row[key] == value for key, value in chosen.items()):
                yield Run.load(self._place(row))

    def _place(self, row: Mapping[str, Any]) -> Path:
        """The folder of the run of a row."""
        return self.folder / "runs" / name_of(Address(row["run"]))

    def scan(self, table: str = "flows") -> "Dataset":
        """One table of all runs as a pyarrow data set, read when used; its column `run` refers to `table`.

        Raises `ScenarioError` without pyarrow, which the extra `arrow` brings.
        """
        paths = [str(self._place(row) / f"{table}.parquet") for row in self.rows if not row["failure"]]
        return arrow.data_set(paths, table)

    def latex(self, metrics: str | Sequence[str] | None = None, baseline: str | None = None) -> str:
        """The table of means and intervals as LaTeX, for the package booktabs.

        `metrics` and `baseline` are those of `summary`. What the signs mean is in comments above the table.
        """
        from shallows.sweeps import report

        metrics = [self.metric(one) for one in listed(metrics)] or self.default_metrics()
        return report.latex(self, metrics, baseline)

    def figure(
        self,
        x: str | None = None,
        y: str | Sequence[str] | None = None,
        by: str = "cc",
        baseline: str | None = None,
        **options: "Unpack[FigureOptions]",
    ) -> "Figure":
        """A matplotlib Figure of the mean of `y` against `x`, with its interval as a band.

        `options` are `size`, `names`, `caption`, `bars` and `log`; see `sweeps.figures.figure`.
        """
        from shallows.sweeps import figures

        return figures.figure(self, x, y, by, baseline, **options)

    def heatmap(self, x: str, y: str, of: str, **options: "Unpack[HeatmapOptions]") -> "Figure":
        """A matplotlib Figure: the mean of `of` over two swept keys, a panel for each algorithm.

        `options` are `size`, `names` and `caption`; see `sweeps.figures.figure`.
        """
        from shallows.sweeps import figures

        return figures.heatmap(self, x, y, of, **options)

    def check_books(self) -> Self:
        """Return the sweep; raise `BooksError` if the books of a run do not close."""
        open_books = [
            f"run {run}: {message}"
            for run, message in self.failures.items()
            if message.startswith("the books")
        ]
        if open_books:
            raise BooksError(open_books)
        return self

    def save(self, figure: "Figure | None" = None) -> Path:
        """Write the table and the summary beside the runs, and `figure`; without one an old figure is
        removed.
        """
        for name in ("figure.png", "figure.pdf"):
            (self.folder / name).unlink(missing_ok=True)
        with _replaced(self.folder / "table.parquet") as path:
            saved.save(path, self.rows, self.about, self.swept)
        with _replaced(self.folder / "summary.csv") as path:
            summary = self.summary(RUN_KEYS if self.rows else None)
            for column in summary.columns.intersection(self.columns):
                cells = [names.cell(one) if isinstance(one, str) else one for one in summary[column]]
                summary[column] = cells
            summary.to_csv(path, index=False)
        with _replaced(self.folder / "sweep.toml") as path:
            path.write_text(self.about["told"], "utf-8")
        if figure is not None:
            from shallows import plot

            with store.adding(self.folder, "sweep.toml", self.about["told"]) as filling:
                plot.save(figure, filling)
        return self.folder

    def _groups(self, columns: Sequence[str]) -> dict[tuple[object, ...], dict[int, list[dict[str, Any]]]]:
        """`{values of columns: {seed: rows}}`, without seeds that lack rows of other seeds."""
        groups: dict[tuple[object, ...], dict[int, list[dict[str, Any]]]] = {}
        for row in self.rows:
            if not row["failure"]:
                group = tuple(_in_group(row[key]) for key in columns)
                groups.setdefault(group, {}).setdefault(row["seed"], []).append(row)
        for seeds in groups.values():
            most = max(map(len, seeds.values()))
            for seed in [seed for seed, rows in seeds.items() if len(rows) < most]:
                del seeds[seed]
        return groups


def _in_group(value: object) -> object:
    """A swept value; of a list or a table, which no dict can have as a key, the text."""
    return json.dumps(value) if isinstance(value, list | dict) else value


Seeds = dict[int, list[dict[str, Any]]]
"""The rows of each seed."""


def _by_seed(seeds: Seeds, metric: str) -> dict[int, float]:
    return {seed: _mean([row[metric] for row in rows]) for seed, rows in seeds.items()}


def _one_run(seeds: Seeds) -> bool:
    """True if runs of several seeds are the same: they draw nothing random."""
    drawn = {tuple(row["fingerprint"] for row in rows) for rows in seeds.values()}
    return len(seeds) > 1 and len(drawn) == 1 and all(next(iter(drawn)))


def _difference(seeds: Seeds, others: Seeds, metric: str, confidence: float) -> dict[str, object]:
    """Columns of the difference from the baseline `others`, paired where seeds are shared."""
    values, reference = _by_seed(seeds, metric), _by_seed(others, metric)
    both = [seed for seed in values if seed in reference]
    if not (_is_known(seeds, metric) and _is_known(others, metric)):
        interval = statistics.unfinished(len(both))
    elif both and _one_run(seeds) and _one_run(others):
        interval = statistics.one_run(values[both[0]] - reference[both[0]])
    elif both:
        interval = statistics.paired([values[s] for s in both], [reference[s] for s in both], confidence)
    else:
        interval = statistics.unpaired(list(values.values()), list(reference.values()), confidence)
    return {
        "difference": interval.mean,
        "difference_low": interval.low,
        "difference_high": interval.high,
        "difference_n": interval.n,
        "difference_method": interval.method,
    }


def _width(row: dict[str, Any]) -> float:
    """Half an interval as a share of its mean; 0 where no further seed changes it."""
    if row["method"] in (statistics.ONE_RUN, statistics.UNFINISHED):
        return 0.0
    half = (row["high"] - row["low"]) / 2
    return half / abs(row["mean"]) if row["mean"] else (0.0 if half == 0 else math.inf)


def _few(row: dict[str, Any], metric: str) -> bool:
    return is_of_few(metric.rpartition(".")[2], row.get(_counting(metric)[0]))


def _counting(metric: str) -> tuple[str, str]:
    """The metrics that count the flows of `metric`: those that completed, and those that are unfinished."""
    part = metric.rpartition(".")[0]
    if not part.startswith(("traffic", "size")):
        return "completed", "unfinished"
    return (f"{part}.completed", f"{part}.unfinished") if part else ("completed", "unfinished")


def _counts(seeds: Seeds, metric: str) -> dict[str, int]:
    """Numbers of the flows of all runs, as columns of a summary."""
    rows = [row for rows_of_seed in seeds.values() for row in rows_of_seed]
    named = zip(("completed", "unfinished"), _counting(metric), strict=True)
    return {name: int(sum(row.get(key) or 0 for row in rows)) for name, key in named}


def _is_known(seeds: Seeds, metric: str) -> bool:
    """False if unfinished flows make the metric of some run unknown."""
    return not any(metric in bounds(row) for rows in seeds.values() for row in rows)


def _least(seeds: Seeds, metric: str) -> float:
    """The mean over seeds, with the lower bounds of unknown values."""
    known = [[bounds(row).get(metric, row[metric]) for row in rows] for rows in seeds.values()]
    return statistics.mean([_mean(values) for values in known]).mean


def _mean(values: list[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else math.nan


def listed(value: str | Iterable[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else list(value or [])


@contextmanager
def _replaced(path: Path) -> Generator[Path]:
    new = path.with_name(f".{path.name}.partial")
    with store.naming(path):
        new.unlink(missing_ok=True)  # it may be a link
        yield new
        os.replace(new, path)
