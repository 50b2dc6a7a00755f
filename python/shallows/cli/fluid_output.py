"""Output of `shallows fluid`: what it prints, writes into files and draws."""

import csv
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shallows.base import streams
from shallows.base.toml import is_list, is_table
from shallows.cli.output import print_json
from shallows.errors import ScenarioError
from shallows.results import files
from shallows.results.summary import finite

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shallows.fluid.linear import Linear
    from shallows.fluid.maps import MarginMap
    from shallows.fluid.model import FixedPoint, Model
    from shallows.fluid.trajectory import Trajectory

Report = dict[str, object]
Columns = Mapping[str, NDArray[np.generic]]
MARGINS = ("phase_margin_deg", "crossover_rad_s", "delay_margin_us", "rightmost_root", "differential_root")
FREQUENCIES = np.geomspace(50, 5e4, 600)


def of_rest(rest: "FixedPoint") -> Report:
    """The report of a fixed point."""
    return {
        "p": rest.p,
        "queue_kb": None if rest.queue_bytes is None else rest.queue_bytes / 1e3,
        "alpha": rest.alpha,
        "rate_gbps": rest.rate_bps / 1e9,
        "on_ramp": rest.on_ramp,
        "fixed_point": rest.exists,
        "message": rest.explanation,
    }


def of_margins(linear: "Linear | None") -> Report:
    """The margins of a linearised model; nulls for None. A root is [real part, imaginary part] in 1/s."""
    if linear is None:
        return {**dict.fromkeys(MARGINS), "stable": False}
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


def of_run(run: "Trajectory") -> Report:
    """The report of a trajectory."""
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
        "message": "mean, minimum and maximum refer to the second half",
    }


def of_map(result: "MarginMap", in_full: bool) -> Report:
    """The report of a map, with every point if `in_full`."""
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
        report["at"] = {name: with_unit(result.model, name, value) for name, value in at.items()}
    if in_full:
        report["axes"] = {name: values.tolist() for name, values in result.axes.items()}
        report["phase_margin_deg"] = margin.tolist()
        report["delay_margin_us"] = (result.delay_margin_s * 1e6).tolist()
        report["queue_kb"] = (result.queue_bytes / 1e3).tolist()
    return report


def _pairs(table: Report) -> str:
    return ", ".join(f"{key} {_text(part)}" for key, part in table.items())


def with_unit(model: "Model", name: str, value: float) -> object:
    """The value of a parameter as a user writes it."""
    from shallows.fluid.model import in_words

    return in_words(type(model).__dataclass_fields__[name].metadata["kind"], float(value))


def show(kind: str, report: Report, as_json: bool) -> None:
    """Print a report as JSON, or with a line for each key."""
    if as_json:
        print_json(f"fluid-{kind}", finite(report))
        return
    with streams.unread():
        for name, value in report.items():
            if is_table(value):
                value = _pairs(value)
            if value not in (None, ""):
                print(f"{name:24}{_text(value)}")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if is_list(value):
        return ", ".join(_text(part) for part in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def run_columns(run: "Trajectory") -> Columns:
    """The columns of a trajectory by name, each [times]."""
    columns = {"time_us": run.time_s * 1e6, "queue_bytes": run.queue_bytes}
    for flow, rates in enumerate(run.rates_bps):
        columns[f"rate_bps_{flow}"] = rates
    for name, values in run.internals.items():
        rows = {name: values} if values.ndim == 1 else {f"{name}_{i}": row for i, row in enumerate(values)}
        columns |= rows
    return columns


def map_columns(result: "MarginMap") -> Columns:
    """The columns of a map by name, each [points]."""
    grid = np.meshgrid(*result.axes.values(), indexing="ij")
    columns = {name: values.ravel() for name, values in zip(result.axes, grid, strict=True)}
    for name in ("phase_margin_deg", "crossover_rad_s", "delay_margin_s", "queue_bytes"):
        columns[name] = getattr(result, name).ravel()
    return columns | {"status": result.status.ravel()}


def write_csv(path: Path, columns: Columns) -> None:
    """Write columns into a file."""
    kind = files.table([*columns])
    with files.writing(path, kind) as filling, filling.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))


def draw(
    path: Path,
    model: "Model",
    shape: tuple[int, int],
    paint: "Callable[[Sequence[Axes]], None]",
    swept: Collection[str] = (),
) -> None:
    """Write a figure of `shape` (rows, columns), drawn by paint(its Axes, row by row), to `path`.

    Its caption names the model and its settings, except those that are swept.
    """
    from shallows.base import version
    from shallows.plot import Drawing, small_print

    figure = Drawing((6.4, 2.9 * shape[0] + 0.6))
    with figure.styled():
        paint(figure.subplots(*shape, squeeze=False).ravel().tolist())
        small_print(figure, "  ·  ".join([*_settings(model, swept), f"shallows {version.version()}"]))
    files.draw(figure, path, dpi=150)


def _settings(model: "Model", swept: Collection[str]) -> list[str]:
    """The model, its link, and parameters that are not at their defaults."""
    from dataclasses import fields

    from shallows.fluid.model import in_words

    said = [model.name]
    for field in fields(model):
        value = getattr(model, field.name)
        if field.name not in swept and (field.name in ("flows", "rate", "delay") or value != field.default):
            said.append(f"{field.name} {_text(in_words(field.metadata['kind'], value))}")
    return said


def bodes(axes: "Sequence[Axes]", columns: "Mapping[str, Linear]") -> None:
    """Bode plots of linearised models by label, on two Axes."""
    from shallows.fluid.plot import bode

    for index, (label, linear) in enumerate(columns.items()):
        bode(axes[0], axes[1], linear.loop(), label=label, omega_rad_s=FREQUENCIES, index=index)


def draw_map(path: Path, result: "MarginMap") -> None:
    """Draw the margins of a map of one or two parameters."""
    from shallows.fluid.plot import margin_bar, phase_margin, stability_map

    if len(result.axes) > 2:
        raise ScenarioError("--plot", str(path), "one or two --over to draw")
    if len(result.axes) == 1:
        draw(path, result.model, (1, 1), lambda axes: phase_margin(axes[0], result), result.axes)
        return

    def paint(axes: "Sequence[Axes]") -> None:
        margin_bar(axes[0], stability_map(axes[0], result), "phase margin (degrees)")

    draw(path, result.model, (1, 1), paint, result.axes)
