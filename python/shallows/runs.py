"""Public `Run`: the data of a run, with one-line methods for `why`, `export`, `pages` and `plot`.

It is a subclass of `results.run.RunData`, so that the functions of the layers below take it as it is.
"""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack, overload

from shallows.results import run as data

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.figure import Figure

    from shallows.export import Taps
    from shallows.export.taps import TapOptions
    from shallows.plot import FigureOptions, Plots
    from shallows.why import Options as WhyOptions
    from shallows.why import Path as FlowPath
    from shallows.why import Paths, Snapshot, TaskPath


class Run(data.RunData):
    """A finished (or interrupted) run.

    `summary` is the dict of `summary.json`, `scenario_toml` the scenario with every default. `flows`,
    `computations`, `queues`, `probes`, `ports`, `classes`, `goodput` and `queue_histograms` are pandas
    tables, built when first used; `shallows.results.tables.ALL_TABLES` names their columns with unit and
    definition.
    """

    @classmethod
    def of(cls, run: data.RunData) -> Self:
        """The run with this data."""
        return cls(run.scenario_toml, run.summary, run.blocks, run.answer)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """The run saved in `folder`. Tables are read when first used.

        Raises `ScenarioError` if the folder holds no result, or files of different runs.
        """
        return cls.saved(folder)

    def number(self, name: str) -> float:
        """A number of the summary by its name, such as "queue_mean_pkt" or "traffic.0.slowdown_p99".

        Names are those of `shallows sweep --metric`. Raises `ScenarioError` for one that this run does not
        have: in `summary` it is None, or its table is missing.
        """
        from shallows.results import metrics

        return metrics.known(self.summary, metrics.resolved(name, self.scenario.tables))

    @overload
    def why(self, flow: int, *, task: None = None, **options: "Unpack[WhyOptions]") -> "FlowPath": ...
    @overload
    def why(
        self, flow: "Iterable[int] | None" = None, *, task: str, **options: "Unpack[WhyOptions]"
    ) -> "TaskPath": ...
    @overload
    def why(
        self, flow: "Iterable[int] | None" = None, *, task: None = None, **options: "Unpack[WhyOptions]"
    ) -> "Paths": ...
    def why(
        self,
        flow: "int | Iterable[int] | None" = None,
        *,
        task: str | None = None,
        **options: "Unpack[WhyOptions]",
    ) -> "FlowPath | Paths | TaskPath":
        """Causes of each picosecond of the time of some flows or a task; see `shallows.why.of_run`."""
        from shallows import why

        return why.of_run(self, flow, task=task, **options)

    def at(self, time: str) -> "Snapshot":
        """Every queue, window, rate and pause at `time`, such as "3.2ms"; see `shallows.why.at`."""
        from shallows import why

        return why.at(self, time)

    def taps(self, ports: "Sequence[str] | None" = None, **options: "Unpack[TapOptions]") -> "Taps":
        """Every frame at these egress ports, or at all; see `shallows.export.of_run`."""
        from shallows import export

        return export.of_run(self, ports, **options)

    def html(self, file: str | PathLike[str], paths: "Paths | None" = None) -> Path:
        """Write a self-contained page of this run to `file`; return its path.

        `paths` are critical paths to show, such as `run.why(slowest=10)`.
        """
        from shallows.why import page as report

        return report.write(file, report.of_run(self, paths))

    def figure(self, **options: "Unpack[FigureOptions]") -> "Figure":
        """The four-panel matplotlib figure of this run; `options` are those of `shallows.plot.figure`."""
        from shallows import plot

        return plot.figure([self], **options)

    @property
    def plot(self) -> "Plots":
        """Single figures, such as `run.plot.queue_over_time()`; see `shallows.plot.PANELS`."""
        from shallows import plot

        return plot.Plots(self)

    def save(self, folder: str | PathLike[str], *, plot: bool = False) -> Path:
        """Write everything to `folder`, with `plot` then the figure too; return its path.

        An earlier result is replaced as a whole after everything is written, except that an interrupted run
        does not replace a complete one: it is saved to `FOLDER-interrupted`. Raises `ScenarioError` if the
        folder holds anything else, and `OSError` if it cannot be written.
        """
        folder = super().save(folder)
        if plot:
            self.draw(folder)
        return folder

    def draw(self, folder: str | PathLike[str], **options: "Unpack[FigureOptions]") -> None:
        """Add the figure to `folder`, where this run is saved; `options` are those of `figure`."""
        from shallows import plot

        plot.add(self.figure(**options), folder, "summary.json", self.summary_json())

    def _repr_html_(self) -> str:
        """The report for a notebook."""
        from shallows.printing.notebook import html
        from shallows.printing.report import run_report

        return html(run_report(self.summary))
