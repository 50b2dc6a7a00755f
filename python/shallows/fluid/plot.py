"""Figures of the fluid world. Each draws on the Axes it is given; lines differ in dash and colour."""

from collections.abc import Sequence
from typing import TypedDict

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from matplotlib.typing import LineStyleType
from numpy.typing import ArrayLike

from shallows.core.contract import F64
from shallows.fluid.compiled import C128
from shallows.fluid.linear import Loop, Margins
from shallows.fluid.maps import MarginMap
from shallows.fluid.model import Model
from shallows.fluid.trajectory import Trajectory
from shallows.plot import COLOURS, DASHES
from shallows.plot.style import COLUMN_IN, logarithmic


class Look(TypedDict):
    """The style of a line."""

    color: str
    linestyle: LineStyleType


def _look(index: int) -> Look:
    """Colour and dash of the `index`-th line, as figures of the other worlds have them."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index % len(DASHES)]}


def bode(
    magnitude: Axes,
    phase: Axes,
    loop: Loop,
    label: str | None = None,
    omega_rad_s: ArrayLike | None = None,
    index: int = 0,
) -> None:
    """A loop's gain (dB) and phase (degrees) on two Axes, with its crossover and phase margin marked.

    index: the how-manieth loop on these Axes, which chooses its line style.
    """
    margins = loop.margins()
    centre = margins.crossover_rad_s if np.isfinite(margins.crossover_rad_s) else 1e3
    omega = np.geomspace(centre / 30, centre * 30, 600) if omega_rad_s is None else np.asarray(omega_rad_s)
    response = loop.response(omega)
    style = _look(index)
    space = "\n" if magnitude.figure.get_size_inches()[0] < COLUMN_IN else " "
    if np.isfinite(margins.crossover_rad_s):
        title = f"phase margin {margins.phase_margin_deg:.1f}°{space}at {margins.crossover_rad_s:.0f} rad/s"
        label = f"{label}: {title}" if label else title
    angle = _continuous_phase(loop, omega, response, margins)
    magnitude.plot(omega, 20 * np.log10(np.abs(response)), label=label, **style)
    phase.plot(omega, angle, **style)
    for axes in (magnitude, phase):
        logarithmic(axes.xaxis, lambda value, _: f"{value:,.0f}")
    if np.isfinite(margins.crossover_rad_s):
        _mark_margin(magnitude, phase, margins, style["color"])
    magnitude.axhline(0, color="0.7", linewidth=0.8)
    phase.axhline(-180, color="0.7", linewidth=0.8)
    phase.set_ylim(max(angle.min(), -540) - 20, angle.max() + 20)
    magnitude.set_ylabel("gain (dB)")
    phase.set_ylabel("phase (degrees)")
    phase.set_xlabel("frequency (rad/s)")
    if label:
        magnitude.legend(frameon=False, fontsize=7 if space == "\n" else None)


def _continuous_phase(loop: Loop, omega: F64, response: C128, margins: Margins) -> F64:
    """Unwrapped phase, on the branch on which the margin is phase + 180 at the crossover."""
    angle: F64 = np.degrees(np.unwrap(np.angle(response)))
    if not np.isfinite(margins.crossover_rad_s):
        return angle
    (reached,) = np.interp([np.log(margins.crossover_rad_s)], np.log(omega), angle).tolist()
    return angle - 360 * round((reached + 180 - margins.phase_margin_deg) / 360)


def _mark_margin(magnitude: Axes, phase: Axes, margins: Margins, color: str) -> None:
    crossover, margin = margins.crossover_rad_s, margins.phase_margin_deg
    for axes in (magnitude, phase):
        axes.axvline(crossover, color=color, linewidth=0.6, linestyle=(0, (1, 3)))
    magnitude.plot([crossover], [0], "o", color=color, markersize=4)
    phase.plot([crossover] * 2, [-180, margin - 180], color=color, linewidth=2.5, solid_capstyle="butt")


_AXIS_LABELS = {
    "flows": ("number of flows", 1),
    "delay": ("feedback delay (µs)", 1e6),
    "rate": ("link rate (Gb/s)", 1e-9),
    "r_ai": ("R_AI (Mb/s)", 1e-6),
    "delta": ("delta (Mb/s)", 1e-6),
    "kmin": ("Kmin (KB)", 1e-3),
    "kmax": ("Kmax (KB)", 1e-3),
}
_KIND_LABELS = {"time": ("µs", 1e6), "size": ("KB", 1e-3), "rate": ("Mb/s", 1e-6)}


def axis_label(model: Model, name: str) -> tuple[str, float]:
    """(label with unit, factor from SI) of a parameter's axis."""
    if name in _AXIS_LABELS:
        return _AXIS_LABELS[name]
    kind = type(model).__dataclass_fields__[name].metadata["kind"]
    unit, factor = _KIND_LABELS.get(kind, ("", 1))
    return (f"{name} ({unit})" if unit else name), factor


def phase_margin(axes: Axes, margin_map: MarginMap, label: str | None = None, index: int = 0) -> None:
    """Phase margin along the one axis of a map; gaps are where there is no fixed point."""
    ((name, values),) = margin_map.axes.items()
    text, factor = axis_label(margin_map.model, name)
    margin = np.where(margin_map.exists, margin_map.phase_margin_deg, np.nan)
    line(axes, values * factor, margin, label, index)
    axes.set_xlabel(text)
    axes.set_ylabel("phase margin (degrees)")


def line(axes: Axes, x: ArrayLike, y: ArrayLike, label: str | None = None, index: int = 0) -> None:
    """One more curve over a line at 0, told from the others without colour."""
    axes.plot(x, y, label=label, **_look(index))
    axes.axhline(0, color="0.7", linewidth=0.8)
    if label:
        axes.legend(frameon=False)


def stability_map(axes: Axes, margin_map: MarginMap) -> QuadMesh:
    """Phase margin over the two axes of a map: blue is stable, red is not; a legend names the rest.

    Returns the image, for a colour bar.
    """
    (x_name, x_values), (y_name, y_values) = margin_map.axes.items()
    x_label, x_factor = axis_label(margin_map.model, x_name)
    y_label, y_factor = axis_label(margin_map.model, y_name)
    x, y = x_values * x_factor, y_values * y_factor
    margin = np.where(margin_map.exists, margin_map.phase_margin_deg, np.nan).T
    for name, axis in ((x_name, axes.xaxis), (y_name, axes.yaxis)):
        if name == "flows":
            axis.set_major_locator(MaxNLocator(integer=True))
    return _shaded(axes, x, y, margin, (x_label, y_label))


def _shaded(axes: Axes, x: F64, y: F64, margin: F64, labels: tuple[str, str]) -> QuadMesh:
    finite = margin[np.isfinite(margin)]
    named: list[Artist] = []
    # One scale for both sides of 0: equal margins of either sign are equally dark.
    most = max(float(np.abs(finite).max(initial=0.0)), 1.0)
    norm = Normalize(-most, most)
    image = axes.pcolormesh(x, y, margin, cmap="RdBu", norm=norm, shading="nearest", rasterized=True)
    axes.grid(visible=False)
    missing = np.isnan(margin)
    if missing.any():
        axes.contourf(x, y, missing.astype(float), levels=[0.5, 1.5], colors="none", hatches=["////"])
        named.append(Patch(facecolor="none", edgecolor="black", hatch="////", label="no fixed point"))
    if finite.size and finite.min() < 0 < finite.max():
        axes.contour(x, y, margin, levels=[0], colors="black", linewidths=1.6)
        named.append(Line2D([], [], color="black", linewidth=1.6, label="margin 0"))
    if named:
        axes.legend(
            handles=named, frameon=False, ncols=2, fontsize=7, loc="lower right", bbox_to_anchor=(1, 1)
        )
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    return image


def margin_bar(axes: Axes, image: QuadMesh, label: str) -> None:
    """The colour bar of a map."""
    figure = axes.get_figure()
    assert figure is not None, "these Axes have a figure"
    figure.colorbar(image, ax=axes, label=label, ticks=MaxNLocator(6))


def trajectory(
    queue: Axes,
    rates: Axes,
    run: Trajectory,
    label: str | None = None,
    index: int = 0,
    flows: Sequence[int] | None = None,
) -> None:
    """A run's queue (KB) and rates (Gb/s, of one flow of each class) against time (ms), on two Axes.

    flows: the classes drawn; None is all.
    """
    time_ms = run.time_s * 1e3
    queue.plot(time_ms, run.queue_bytes / 1e3, label=label, **_look(index))
    chosen = range(len(run.rates_bps)) if flows is None else flows
    for place, flow in enumerate(chosen):
        name = label if len(chosen) == 1 else f"flow {flow + 1}"
        rates.plot(time_ms, run.rates_bps[flow] / 1e9, label=name, **_look(index + place))
    queue.set_ylabel("queue (KB)")
    rates.set_ylabel("rate of a flow (Gb/s)")
    for axes in (queue, rates):
        axes.set_xlabel("time (ms)")
        axes.set_ylim(bottom=0)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False)
