"""`shallows fluid`: fixed points, margins, trajectories, maps and recommendations from the fluid models."""

import csv
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, fields
from functools import wraps
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from shallows import extras
from shallows.cli_settings import settings
from shallows.errors import ScenarioError
from shallows.plain import is_list, is_table
from shallows.units import RATE, SIZE, TIME, Dimension, did_you_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shallows.contract import F64
    from shallows.fluid.linear import Linear
    from shallows.fluid.maps import MarginMap
    from shallows.fluid.model import FixedPoint, Model
    from shallows.fluid.recommend import Recommendation
    from shallows.fluid.trajectory import Trajectory

MISTAKE = 2
Report = dict[str, Any]
Columns = dict[str, NDArray[Any]]

app = typer.Typer(
    help="The fluid world: stability and steady state in milliseconds.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

ModelName = Annotated[str, typer.Argument(metavar="MODEL", help="dcqcn, timely, dctcp, dx, …")]
FlowCount = Annotated[str | None, typer.Option("--flows", metavar="N", help="Flows at the bottleneck.")]
LinkRate = Annotated[str | None, typer.Option("--rate", metavar="RATE", help="Capacity, such as 40Gbps.")]
Delay = Annotated[str | None, typer.Option(metavar="TIME", help="Feedback delay without queueing: 4us.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A parameter by its paper's name: kmax=1MB."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw the figure into a file.")]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the columns into a file.")]

MARGINS = ("phase_margin_deg", "crossover_rad_s", "delay_margin_us", "rightmost_root", "differential_root")
MOST_POINTS = 10_000_000
POINTS_OF_AN_AXIS = 101
FREQUENCIES = np.geomspace(50, 5e4, 600)


def _explained(command: Callable[..., None]) -> Callable[..., None]:
    """`command` for typer: a user's mistake becomes one message on stderr and exit status 2."""

    @wraps(command)
    def wrapped(**options: Any) -> None:
        try:
            extras.need("fluid", "shallows fluid")
            if options.get("plot"):
                extras.need("plot", "--plot")
            command(**options)
        except (ScenarioError, OSError) as error:
            print(f"shallows: {error}", file=sys.stderr)
            raise typer.Exit(MISTAKE) from None

    return wrapped


@app.command("fixed-point")
@_explained
def fixed_point(
    model: ModelName, flows: FlowCount = None, rate: LinkRate = None, delay: Delay = None,
    settings: Settings = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Where N identical flows come to rest: marking probability, queue, alpha, rate."""
    _print(_rest(_model(model, flows, rate, delay, settings).fixed_point()), as_json)


@app.command()
@_explained
def margin(
    model: ModelName, flows: FlowCount = None, rate: LinkRate = None, delay: Delay = None,
    settings: Settings = None, as_json: Json = False, plot: Plot = None,
    as_published: Annotated[
        bool, typer.Option("--as-published", help="Beside it, the margin as the paper's figure computed it.")
    ] = False,
) -> None:  # fmt: skip
    """How far the fixed point is from instability: phase margin, delay margin, rightmost root."""
    from shallows.fluid.linear import linearise
    from shallows.fluid.published import linearise_as_published

    built = _model(model, flows, rate, delay, settings)
    rest = built.fixed_point()
    columns = {"exact": linearise(built)} if rest.exists else {}
    if as_published:
        try:
            columns["as published"] = linearise_as_published(built)
        except ValueError as error:
            raise ScenarioError("--as-published", built.name, str(error)) from None
    exact = _margins(columns.get("exact"))
    report = _rest(rest) | exact
    if as_published:
        report["as_published"] = _margins(columns["as published"])
    _print(report, as_json)
    if plot:
        if not columns:
            raise ScenarioError("--plot", built.name, "a model with a fixed point")
        _draw(plot, (2, 1), lambda axes: _bode(axes, columns))


@app.command()
@_explained
def trajectory(
    model: ModelName,
    duration: Annotated[str, typer.Option(metavar="TIME", help="How long, such as 100ms.")],
    flows: FlowCount = None, rate: LinkRate = None, delay: Delay = None, settings: Settings = None,
    start: Annotated[
        str | None, typer.Option(metavar="RATE,…", help="The rate each flow starts at: 7Gbps,3Gbps.")
    ] = None,
    step: Annotated[str | None, typer.Option(metavar="TIME", help="Step of the integrator.")] = None,
    method: Annotated[str, typer.Option(help="rk4 or heun.")] = "rk4",
    jitter: Annotated[str | None, typer.Option(metavar="TIME", help="Uniform extra feedback delay.")] = None,
    as_json: Json = False, plot: Plot = None, csv_file: Csv = None,
) -> None:  # fmt: skip
    """The queue and the rates over time, from the model's own start."""
    from shallows.fluid.trajectory import Flows, Jitter
    from shallows.fluid.trajectory import trajectory as run

    rates = [_quantity("--start", one, RATE) for one in start.split(",")] if start else None
    if rates and flows is None:
        flows = str(len(rates))
    built = _model(model, flows, rate, delay, settings)
    if rates and len(rates) != built.flows:
        raise ScenarioError("--start", start, f"one rate for each of the {built.flows:g} flows")
    classes = [Flows(rate_bps=one) for one in rates] if rates else None
    result = run(
        built, _quantity("--duration", duration, TIME), flows=classes, method=method,
        step_s=_quantity("--step", step, TIME) if step else None,
        jitter=Jitter(_quantity("--jitter", jitter, TIME)) if jitter else None,
    )  # fmt: skip
    _print(_run_summary(result), as_json)
    if csv_file:
        _write_csv(csv_file, _run_columns(result))
    if plot:
        from shallows.fluid.plot import trajectory as draw

        _draw(plot, (2, 1), lambda axes: draw(axes[0], axes[1], result))


@app.command("map")
@_explained
def map_(
    model: ModelName,
    over: Annotated[
        list[str],
        typer.Option("--over", metavar="KEY=RANGE", help="flows=2:100, delay=0us:100us:1us, or a,b,c."),
    ],
    flows: FlowCount = None, rate: LinkRate = None, delay: Delay = None, settings: Settings = None,
    engine: Annotated[
        str, typer.Option(help="numba, or jax (with the extra of that name; on a GPU where there is one).")
    ] = "numba",
    as_json: Json = False, plot: Plot = None, csv_file: Csv = None,
) -> None:  # fmt: skip
    """Margins over one or more parameters."""
    from shallows.fluid.maps import margin_map

    built = _model(model, flows, rate, delay, settings)
    result = margin_map(built, _axes(built, over, "--over"), engine=engine)
    _print(_map_report(result, as_json), as_json)
    if csv_file:
        _write_csv(csv_file, _map_columns(result))
    if plot:
        _draw_map(plot, result)


@app.command()
@_explained
def recommend(
    model: ModelName,
    flows: Annotated[str, typer.Option(metavar="RANGE", help="Numbers of flows to withstand: 2:64.")],
    tune: Annotated[
        list[str], typer.Option(metavar="KEY=RANGE", help="What may be chosen: r_ai=5Mbps:80Mbps.")
    ],
    rate: LinkRate = None, delay: Delay = None, settings: Settings = None,
    queue_bound: Annotated[
        str | None, typer.Option(metavar="SIZE", help="The queue at rest is at most this.")
    ] = None,
    as_json: Json = False, plot: Plot = None,
) -> None:  # fmt: skip
    """The parameters with the largest worst-case phase margin within a queue bound."""
    from shallows.fluid.recommend import recommend as choose

    built = _tunable(model, rate, delay, settings or [], tune)
    counts = _axes(built, [f"flows={flows}"], "--flows")["flows"]
    bound = _quantity("--queue-bound", queue_bound, SIZE) if queue_bound else np.inf
    found = choose(built, counts, _axes(built, tune, "--tune"), bound)
    parameters = {name: _in_words(built, name, value) for name, value in found.parameters.items()}
    _print(
        {
            "stable": found.model is not None,
            "parameters": parameters,
            "worst_phase_margin_deg": found.worst_margin_deg,
            "worst_flows": found.worst_flows,
            "worst_queue_kb": found.worst_queue_bytes / 1e3,
            "message": found.explanation,
        },
        as_json,
    )
    if plot:
        _draw_recommendation(plot, found)


def _tunable(name: str, rate: str | None, delay: str | None, settings: list[str], tune: list[str]) -> "Model":
    """A model with an end of each range set: defaults, and some of the ends, may not go together."""
    mistakes: list[ScenarioError] = []
    for chosen in product(*(_ends(one) for one in tune if "=" in one)):
        try:
            return _model(name, None, rate, delay, [*settings, *chosen])
        except ScenarioError as mistake:
            mistakes.append(mistake)
    raise mistakes[0]


def _ends(tuned: str) -> tuple[str, str]:
    """The first and the last value of a range, as settings."""
    key, _, values = tuned.partition("=")
    first, *others = values.split(",") if ":" not in values else values.split(":")[:2]
    return f"{key}={first}", f"{key}={others[-1] if others else first}"


def _model(
    name: str, flows: str | None, rate: str | None, delay: str | None, set_: list[str] | None
) -> "Model":
    from shallows.fluid import MODELS

    if name not in MODELS:
        raise ScenarioError("MODEL", name, f"one of {', '.join(MODELS)}{did_you_mean(name, MODELS)}")
    given = {"flows": flows, "rate": rate, "delay": delay}
    texts = {key: text for key, text in given.items() if text is not None}
    return MODELS[name].read(texts | settings(set_, "kmax=1MB"))


def _quantity(option: str, text: str, dimension: Dimension) -> float:
    """`text` in SI units. Raises ScenarioError naming the option."""
    try:
        return dimension.parse(text) / (10**12 if dimension is TIME else 1)
    except ValueError as error:
        raise ScenarioError(option, text, str(error)) from None


def _axes(model: "Model", ranges: Sequence[str], option: str) -> "dict[str, F64]":
    """name -> values, from texts such as flows=2:100, delay=0us:100us:1us, r_ai=10Mbps,40Mbps."""
    specs = {spec.name: spec for spec in fields(model) if not isinstance(spec.metadata["kind"], tuple)}
    axes: dict[str, F64] = {}
    for one in ranges:
        name, equals, text = one.partition("=")
        if not equals or name not in specs:
            expected = f"KEY=RANGE with KEY one of {', '.join(specs)}{did_you_mean(name, specs)}"
            raise ScenarioError(option, one, expected)
        axes[name] = _values(specs[name], text, f"{option} {name}")
    if (points := np.prod([len(values) for values in axes.values()], dtype=float)) > MOST_POINTS:
        raise ScenarioError(option, " ".join(ranges), f"at most {MOST_POINTS} points, not {points:.0f}")
    return axes


def _values(spec: Field[Any], text: str, option: str) -> "F64":
    from shallows.fluid.model import read_parameter

    expected = "FIRST:LAST, FIRST:LAST:STEP or VALUE,VALUE,…"
    if ":" not in text:
        return np.array([read_parameter(spec, part) for part in text.split(",")])
    parts = [read_parameter(spec, part) for part in text.split(":")]
    if len(parts) > 3 or parts[1] < parts[0]:
        raise ScenarioError(option, text, expected)
    first, last = parts[:2]
    if len(parts) == 2 and spec.metadata["kind"] != "count":
        return np.linspace(first, last, POINTS_OF_AN_AXIS, dtype=np.float64)
    step = parts[2] if len(parts) == 3 else 1
    if not step > 0 or (last - first) / step > MOST_POINTS:
        raise ScenarioError(option, text, f"{expected} with a step above 0 and at most {MOST_POINTS} values")
    return first + step * np.arange(int((last - first) / step + 1e-9) + 1)


def _rest(rest: "FixedPoint") -> Report:
    return {
        "p": rest.p,
        "queue_kb": None if rest.queue_bytes is None else rest.queue_bytes / 1e3,
        "alpha": rest.alpha,
        "rate_gbps": rest.rate_bps / 1e9,
        "on_ramp": rest.on_ramp,
        "fixed_point": rest.exists,
        "message": rest.explanation,
    }


def _margins(linear: "Linear | None") -> Report:
    """The margins of a linearised model, or of none. A root is [real part, imaginary part] in 1/s."""
    if linear is None:
        return dict.fromkeys(MARGINS) | {"stable": False}
    margins = linear.loop().margins()
    common, differential = linear.rightmost_root(), linear.rightmost_root("differential")
    return {
        "phase_margin_deg": margins.phase_margin_deg,
        "crossover_rad_s": margins.crossover_rad_s,
        "delay_margin_us": margins.delay_margin_s * 1e6,
        "rightmost_root": [common.real, common.imag],
        "differential_root": [differential.real, differential.imag],
        "stable": linear.stable,
    }


def _run_summary(run: "Trajectory") -> Report:
    late = run.between(run.time_s[-1] / 2)
    queue = run.queue_bytes[late] / 1e3
    return {
        "duration_s": float(run.time_s[-1]),
        "step_us": run.step_s * 1e6,
        "utilization": run.utilization(late),
        "queue_mean_kb": float(queue.mean()),
        "queue_min_kb": float(queue.min()),
        "queue_max_kb": float(queue.max()),
        "queue_peak_kb": float(run.queue_bytes.max() / 1e3),
        "rates_gbps": (run.rates_bps[:, late].mean(axis=1) / 1e9).tolist(),
        "message": "means, least and most are of the second half",
    }


def _map_report(result: "MarginMap", in_full: bool) -> Report:
    margin = np.where(result.exists, result.phase_margin_deg, np.nan)
    report: Report = {
        "points": margin.size,
        "stable": int(result.stable.sum()),
        "without_fixed_point": int((~result.exists).sum()),
    }
    if np.isfinite(margin).any():
        place = np.unravel_index(np.nanargmin(margin), margin.shape)
        at = {name: values[i] for (name, values), i in zip(result.axes.items(), place, strict=True)}
        report["least_phase_margin_deg"] = float(margin[place])
        report["at"] = {name: _in_words(result.model, name, value) for name, value in at.items()}
    if in_full:
        report["axes"] = {name: values.tolist() for name, values in result.axes.items()}
        report["phase_margin_deg"] = margin.tolist()
        report["delay_margin_us"] = (result.delay_margin_s * 1e6).tolist()
        report["queue_kb"] = (result.queue_bytes / 1e3).tolist()
    return report


def _in_words(model: "Model", name: str, value: float) -> Any:
    from shallows.fluid.model import in_words

    return in_words(type(model).__dataclass_fields__[name].metadata["kind"], float(value))


def _print(report: Report, as_json: bool) -> None:
    if as_json:
        print(json.dumps(_plain(report), indent=2))
        return
    for name, value in report.items():
        if is_table(value):
            value = ", ".join(f"{key} {_text(part)}" for key, part in value.items())
        if value not in (None, ""):
            print(f"{name:24}{_text(value)}")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if is_list(value):
        return ", ".join(_text(part) for part in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    """`value` with what JSON cannot say (NaN, infinity, NumPy's types) as null or plain numbers."""
    if is_table(value):
        return {key: _plain(part) for key, part in value.items()}
    if is_list(value):
        return [_plain(part) for part in value]
    if hasattr(value, "item"):
        return _plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _run_columns(run: "Trajectory") -> Columns:
    columns = {"time_us": run.time_s * 1e6, "queue_bytes": run.queue_bytes}
    for flow, rates in enumerate(run.rates_bps):
        columns[f"rate_bps_{flow}"] = rates
    for name, values in run.internals.items():
        rows = {name: values} if values.ndim == 1 else {f"{name}_{i}": row for i, row in enumerate(values)}
        columns |= rows
    return columns


def _map_columns(result: "MarginMap") -> Columns:
    grid = np.meshgrid(*result.axes.values(), indexing="ij")
    columns = {name: values.ravel() for name, values in zip(result.axes, grid, strict=True)}
    for name in ("phase_margin_deg", "crossover_rad_s", "delay_margin_s", "queue_bytes"):
        columns[name] = getattr(result, name).ravel()
    return columns | {"status": result.status.ravel()}


def _write_csv(path: Path, columns: Columns) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))


def _draw(path: Path, shape: tuple[int, int], paint: Callable[[Any], None]) -> None:
    """A figure of `shape` (rows, columns), painted by paint(its Axes), written to `path`."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(*shape, figsize=(6.4, 2.9 * shape[0] + 0.6), layout="constrained")
    paint(axes)
    try:
        figure.savefig(path, dpi=150)
    except ValueError as error:
        expected = f"a name that ends in a format matplotlib writes ({error})"
        raise ScenarioError("--plot", str(path), expected) from None
    finally:
        plt.close(figure)


def _bode(axes: "Sequence[Axes]", columns: "Mapping[str, Linear]") -> None:
    from shallows.fluid.plot import bode

    for index, (label, linear) in enumerate(columns.items()):
        bode(axes[0], axes[1], linear.loop(), label=label, omega_rad_s=FREQUENCIES, index=index)


def _draw_map(path: Path, result: "MarginMap") -> None:
    from shallows.fluid.plot import phase_margin, stability_map

    if len(result.axes) > 2:
        raise ScenarioError("--plot", str(path), "one or two --over to draw")
    if len(result.axes) == 1:
        _draw(path, (1, 1), lambda axes: phase_margin(axes, result))
        return

    def paint(axes: "Axes") -> None:
        axes.figure.colorbar(stability_map(axes, result), ax=axes, label="phase margin (degrees)")

    _draw(path, (1, 1), paint)


def _draw_recommendation(path: Path, found: "Recommendation") -> None:
    from shallows.fluid.plot import recommendation

    if len(found.map.axes) != 3:
        raise ScenarioError("--plot", str(path), "two --tune to draw")

    def paint(axes: "Axes") -> None:
        axes.figure.colorbar(recommendation(axes, found), ax=axes, label="worst phase margin (degrees)")

    _draw(path, (1, 1), paint)
