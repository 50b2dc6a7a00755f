"""`shallows sweep`: algorithms, swept keys and seeds, with intervals and a figure."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shallows.base import names
from shallows.cli import completion
from shallows.cli.output import Json, print_json
from shallows.cli.settings import EXAMPLE, Algorithms, Trust, World, at_least, settings
from shallows.cli.status import after_saving, with_status
from shallows.errors import ScenarioError

if TYPE_CHECKING:
    from shallows.sweeps.figures import FigureOptions
    from shallows.sweeps.plans import Plan
    from shallows.sweeps.result import Sweep


Baseline = Annotated[
    str | None, typer.Option(metavar="NAME", help="Also print paired differences from this algorithm.")
]
Plot = Annotated[bool, typer.Option("--plot", help="Draw figure.png and figure.pdf.")]


@with_status
def sweep(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO",
            help="Scenario file, or one with [sweep].",
            autocompletion=completion.scenarios,
        ),
    ],
    cc: Annotated[list[str] | None, Algorithms] = None,
    over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUES",
            help="Sweep a key: traffic.0.load=0.2:0.8:0.1 or network.buffer=100pkt,250pkt. "
            'Several keys in one option change together: "a=1,2 b=3,4".',
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            callback=at_least(1),
            help="Number of seeds, counted from the scenario's own; by default 1, with --until 5.",
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Add seeds until intervals are this narrow: 5%.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Metric of --until, table and figure: slowdown_p99."),
    ] = None,
    x: Annotated[
        str | None,
        typer.Option(
            "--x", metavar="KEY", help="The swept key along the figure's axis; by default the first."
        ),
    ] = None,
    heatmap: Annotated[
        str | None, typer.Option(metavar="KEY", help="A second swept key: draw a heat map over both.")
    ] = None,
    baseline: Baseline = None,
    plot: Plot = False,
    bars: Annotated[bool, typer.Option("--bars", help="Draw intervals as error bars.")] = False,
    log: Annotated[str, typer.Option(metavar="AXES", help="Logarithmic axes: x, y or xy.")] = "",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Replace a key of the scenario for all runs."),
    ] = None,
    world: World = "packet",
    on: Annotated[
        str, typer.Option(metavar="WHERE", help="local, dask://HOST:PORT, or slurm:KEY=VALUE,… for submitit.")
    ] = "local",
    workers: Annotated[
        int | None, typer.Option(callback=at_least(1), help="Processes; all cores if absent.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the sweep; by default results/NAME/sweep.")
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            help="Run the I-th of N parts, which `shallows merge` puts together; by default all.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would run, and with Slurm the script.")
    ] = False,
    json_: Json = False,
    trust: Trust = False,
) -> int:
    """Run SCENARIO for every combination; what is done already is not repeated."""
    from shallows.base import extras
    from shallows.printing.progress import PREPARING, report_if_slow
    from shallows.sweeps import running, shards
    from shallows.sweeps.progress import Progress

    plot = plot or bars or bool(log)
    if plot or x or heatmap:
        extras.need("plot", "--plot")
    with report_if_slow(PREPARING):
        asked, given = running.asked(
            scenario, cc, _axes(over), seeds=seeds, until=until, metric=metric, world=world,
            overrides=settings(set_, EXAMPLE), shard=shards.shard_of(shard),
        )  # fmt: skip
        if plot or x or heatmap:
            _check_figure(asked, x, heatmap)
        if not set(log) <= set("xy"):
            raise ScenarioError("--log", log, "x, y or xy")
        folder = out or running.default_folder(asked)
        missing = running.missing(asked, folder)
    _say(f"{len(missing)} run{'s'[: len(missing) != 1]}" if missing else "0 runs: all are there already")
    for warning in asked.warnings():
        _say(f"warning     {names.terminal(warning)}")
    if dry_run:
        return _rehearse(asked, folder, on)
    running.check_memory(missing, workers, on)
    with Progress() as bar:
        result = running.run(asked, folder, on=on, workers=workers, until=given["until"],
                              metric=given["metric"][0] if given["metric"] else None, bar=bar)  # fmt: skip
    drawn: FigureOptions = {"bars": bars, "log": log}
    return _finish(result, given["metric"], x, heatmap, baseline, plot, json_, drawn)


@with_status
def merge(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER...", help="The folders of all shards.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the sweep.")],
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Metric of the table and the figure: slowdown_p99."),
    ] = None,
    baseline: Baseline = None,
    plot: Plot = False,
    json_: Json = False,
) -> int:
    """Make one sweep of the shards that `shallows sweep --shard` ran."""
    from shallows.base import extras
    from shallows.sweeps import shards

    if plot:
        extras.need("plot", "--plot")
    result = shards.merge(folders, out)
    metrics = [result.metric(one) for one in metric or []]
    return _finish(result, metrics, None, None, baseline, plot, json_)


def _axes(over: list[str] | None) -> dict[str | tuple[str, ...], object]:
    """The `over` argument of `shallows.sweeps` from options."""
    from shallows.sweeps import plans

    axes: dict[str | tuple[str, ...], object] = {}
    for text in over or []:
        pairs = plans.pairs(text)
        known = {key for axis in axes for key in ([axis] if isinstance(axis, str) else axis)}
        for key, _ in pairs:
            if key in known:
                expected = f"each key once: write its values with commas, {key}=A,B,C"
                raise ScenarioError("--over", key, expected)
        axes |= plans.together(dict(pairs)) if len(pairs) > 1 else dict(pairs)
    return axes


def _check_figure(asked: "Plan", x: str | None, heatmap: str | None) -> None:
    """Raise `ScenarioError`, before anything runs, if the sweep lacks an axis of its figure."""
    columns = list(asked.names.values())
    if not columns:
        raise ScenarioError("--plot", None, "a swept key for the axis of the figure: --over KEY=VALUES")
    for option, name in (("--x", x), ("--heatmap", heatmap)):
        if name is not None and asked.names.get(name, name) not in ("cc", *columns):
            raise ScenarioError(option, name, f"one of the swept keys: {', '.join(asked.names)}")


def _rehearse(asked: "Plan", folder: Path, on: str) -> int:
    if on.partition(":")[0] == "slurm":
        from shallows.sweeps import executors

        print(
            executors.slurm_script(
                asked.jobs(), folder / "runs", **executors.slurm_parameters(on.partition(":")[2])
            )
        )
    return 0


def _finish(
    result: "Sweep",
    metrics: list[str],
    x: str | None,
    heatmap: str | None,
    baseline: str | None,
    plot: bool,
    json_: bool,
    options: "FigureOptions | None" = None,
) -> int:
    """Print, draw and save; return the exit status."""
    metrics = metrics or result.default_metrics()
    for problem in result.set_aside.values():
        _say(f"set aside and repeated: {names.terminal(problem)}")
    show(result, metrics, baseline, json_)
    early = "interrupted; the same command continues from what is " if result.interrupted else ""
    _say(f"{early}saved in {result.folder}")

    def draw() -> None:
        if heatmap:
            result.save(result.heatmap(x or result.columns[-1], heatmap, metrics[0]))
        else:
            result.save(result.figure(x, metrics, **(options or {})))

    drawn = not (plot or x or heatmap) or after_saving("the figure", draw)
    result.check_books()
    return 130 if result.interrupted else 0 if drawn and not result.failures else 1


def show(result: "Sweep", metrics: list[str], baseline: str | None, json_: bool) -> None:
    """Print means and intervals of `metrics`, as a table or as JSON."""
    from shallows.printing.report import print_parts
    from shallows.results.summary import finite
    from shallows.sweeps.report import sweep_report

    if json_:
        print_json("sweep", finite(result.intervals(metrics, baseline=baseline)))
    else:
        print_parts(sweep_report(result, metrics, baseline))


def _say(text: str) -> None:
    import sys

    print(text, file=sys.stderr, flush=True)
