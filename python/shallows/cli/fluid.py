"""`shallows fluid`: fixed points, margins, trajectories and maps from the fluid models."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import Field, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from shallows.base import extras
from shallows.cli.fluid_output import (
    bodes,
    draw,
    draw_map,
    map_columns,
    of_map,
    of_margins,
    of_rest,
    of_run,
    run_columns,
    show,
    write_csv,
)
from shallows.cli.output import Json
from shallows.cli.parsing import App
from shallows.cli.settings import settings
from shallows.errors import ScenarioError
from shallows.units import RATE, TIME, Dimension, did_you_mean

if TYPE_CHECKING:
    from shallows.core.contract import F64
    from shallows.fluid.model import Model

MISTAKE = 2

app = App(
    help="The fluid world: stability and steady state, in seconds.",
)

ModelName = Annotated[str, typer.Argument(metavar="MODEL", help="dcqcn, timely, dctcp, dx, …")]
FlowCount = Annotated[
    str | None, typer.Option("--flows", metavar="N", help="Flows at the bottleneck; by default the model's.")
]
LinkRate = Annotated[
    str | None,
    typer.Option("--rate", metavar="RATE", help="Capacity, such as 40Gbps; by default the model's."),
]
Delay = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Feedback delay without queueing: 4us; by default the model's."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A parameter by its paper's name: kmax=1MB."),
]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw the figure into a file.")]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the columns into a file.")]

MOST_POINTS = 10_000_000
POINTS_OF_AN_AXIS = 101


def _explained(command: Callable[..., None]) -> Callable[..., None]:
    """A typer command that prints a user's mistake as one message on stderr, with exit status 2."""

    @wraps(command)
    def wrapped(**options: object) -> None:
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
    show("fixed-point", of_rest(_model(model, flows, rate, delay, settings).fixed_point()), as_json)


@app.command()
@_explained
def margin(
    model: ModelName, flows: FlowCount = None, rate: LinkRate = None, delay: Delay = None,
    settings: Settings = None, as_json: Json = False, plot: Plot = None,
    as_published: Annotated[
        bool, typer.Option("--as-published", help="Also print the margin as the paper's figure computed it.")
    ] = False,
) -> None:  # fmt: skip
    """How far the fixed point is from instability: phase margin, delay margin, rightmost root."""
    from shallows.fluid.linear import linearise
    from shallows.fluid.published import PRINTED, linearise_as_published

    if as_published and model not in PRINTED:
        expected = f"a model with a phase margin in its paper: {' or '.join(PRINTED)}"
        raise ScenarioError("--as-published", model, expected)
    built = _model(model, flows, rate, delay, settings)
    rest = built.fixed_point()
    columns = {"exact": linearise(built)} if rest.exists else {}
    if as_published:
        columns["as published"] = linearise_as_published(built)
    exact = of_margins(columns.get("exact"))
    report = of_rest(rest) | exact
    if as_published:
        report["as_published"] = of_margins(columns["as published"])
    show("margin", report, as_json)
    if plot:
        if not columns:
            raise ScenarioError("--plot", built.name, "a model with a fixed point")
        draw(plot, built, (2, 1), lambda axes: bodes(axes, columns))


@app.command()
@_explained
def trajectory(
    model: ModelName,
    duration: Annotated[str, typer.Option(metavar="TIME", help="How long, such as 100ms.")],
    flows: FlowCount = None, rate: LinkRate = None, delay: Delay = None, settings: Settings = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="RATE,…", help="The rate each flow starts at: 7Gbps,3Gbps; by default the model's."
        ),
    ] = None,
    step: Annotated[
        str | None, typer.Option(metavar="TIME", help="Step of the integrator; by default the model's.")
    ] = None,
    method: Annotated[str, typer.Option(help="rk4 or heun.")] = "rk4",
    jitter: Annotated[
        str | None, typer.Option(metavar="TIME", help="Uniform extra feedback delay; by default 0.")
    ] = None,
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
    show("trajectory", of_run(result), as_json)
    if csv_file:
        write_csv(csv_file, run_columns(result))
    if plot:
        from shallows.fluid.plot import trajectory as paint

        draw(plot, built, (2, 1), lambda axes: paint(axes[0], axes[1], result))


@app.command("map")
@_explained
def map_(
    model: ModelName,
    over: Annotated[
        list[str],
        typer.Option("--over", metavar="KEY=RANGE", help="flows=2:100, delay=0us:100us:1us, or a,b,c."),
    ],
    flows: FlowCount = None, rate: LinkRate = None, delay: Delay = None, settings: Settings = None,
    as_json: Json = False, plot: Plot = None, csv_file: Csv = None,
) -> None:  # fmt: skip
    """Margins over one or more parameters."""
    from shallows.fluid.maps import margin_map

    built = _model(model, flows, rate, delay, settings)
    result = margin_map(built, _axes(built, over, "--over"))
    show("map", of_map(result, as_json), as_json)
    if csv_file:
        write_csv(csv_file, map_columns(result))
    if plot:
        draw_map(plot, result)


def _model(
    name: str, flows: str | None, rate: str | None, delay: str | None, set_: list[str] | None
) -> "Model":
    from shallows.fluid import MODELS
    from shallows.fluid.model import in_words
    from shallows.worlds.fluid_models import with_network_defaults

    if name not in MODELS:
        raise ScenarioError("MODEL", name, f"one of {', '.join(MODELS)}{did_you_mean(name, MODELS)}")
    given = {"flows": flows, "rate": rate, "delay": delay}
    texts = {key: text for key, text in given.items() if text is not None}
    texts |= {key: str(text) for key, text in settings(set_, "kmax=1MB").items()}
    try:
        model, changed = with_network_defaults(MODELS[name].read(texts), texts.keys())
    except ScenarioError as error:
        options = {key: f"--{key}" for key, text in given.items() if text is not None}
        raise ScenarioError(options.get(error.key or "", error.key), error.value, error.expected) from None
    if changed:
        kinds = {spec.name: spec.metadata["kind"] for spec in fields(model)}
        words = ", ".join(f"{key} {in_words(kinds[key], value)}" for key, value in changed.items())
        print(
            f"shallows: as in a scenario at {RATE.text(round(model.rate))}, by default {words}",
            file=sys.stderr,
        )
    return model


def _quantity(option: str, text: str, dimension: Dimension) -> float:
    """`text` in SI units. Raises ScenarioError with the name of the option."""
    try:
        return dimension.parse(text) / (10**12 if dimension is TIME else 1)
    except ValueError as error:
        raise ScenarioError(option, text, str(error)) from None


def _axes(model: "Model", ranges: Sequence[str], option: str) -> "dict[str, F64]":
    """{name: values} of texts such as flows=2:100, delay=0us:100us:1us, r_ai=10Mbps,40Mbps."""
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


def _values(spec: Field[object], text: str, option: str) -> "F64":
    from shallows.fluid.model import read_number

    expected = "FIRST:LAST, FIRST:LAST:STEP or VALUE,VALUE,…"
    if ":" not in text:
        return np.array([read_number(spec, part) for part in text.split(",")])
    parts = [read_number(spec, part) for part in text.split(":")]
    if len(parts) > 3 or parts[1] < parts[0]:
        raise ScenarioError(option, text, expected)
    first, last = parts[:2]
    if len(parts) == 2 and spec.metadata["kind"] != "count":
        return np.linspace(first, last, POINTS_OF_AN_AXIS, dtype=np.float64)
    step = parts[2] if len(parts) == 3 else 1
    if not step > 0 or (last - first) / step > MOST_POINTS:
        raise ScenarioError(option, text, f"{expected} with a step above 0 and at most {MOST_POINTS} values")
    return first + step * np.arange(int((last - first) / step + 1e-9) + 1, dtype=np.float64)
