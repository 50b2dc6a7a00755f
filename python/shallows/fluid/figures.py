"""The figures of docs/fluid.md. `python -m shallows.fluid.figures docs/figures` draws them again."""

import sys
from dataclasses import replace
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from shallows.fluid import Dcqcn, PatchedTimely, plot
from shallows.fluid.linear import linearise
from shallows.fluid.maps import margin_map
from shallows.fluid.published import FIGURES, linearise_as_published
from shallows.fluid.trajectory import Flows, trajectory
from shallows.plot import STYLE

COUNTS = np.arange(1, 101)


def bode() -> Figure:
    """Ten DCQCN flows at 4 and at 85 us: the delay turns the phase, and the margin changes sign."""
    figure, (magnitude, phase) = plt.subplots(2, 1, figsize=(6.4, 5.6), sharex=True, layout="constrained")
    for index, delay in enumerate((4e-6, 85e-6)):
        loop = linearise(Dcqcn(flows=10, delay=delay)).loop()
        label = f"10 flows, {delay * 1e6:g} µs"
        plot.bode(magnitude, phase, loop, label=label, omega_rad_s=np.geomspace(100, 4e4, 400), index=index)
    magnitude.set_title("DCQCN, 40 Gb/s: loop gain")
    return figure


def margin_against_flows() -> Figure:
    """DCQCN's phase margin against flows: exact, and as the paper's Fig. 3 computed it."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for index, delay in enumerate((0.0, 50e-6, 100e-6)):
        model, label = Dcqcn(delay=delay, ramp="extended"), f"{delay * 1e6:g} µs"
        plot.phase_margin(axes[0], margin_map(model, {"flows": COUNTS}), label, index)
        loops = (linearise_as_published(replace(model, flows=int(n))).loop() for n in COUNTS)
        margins = [loop.margins().phase_margin_deg for loop in loops]
        plot.line(axes[1], COUNTS, margins, label, index)
    axes[0].set_title("linearised exactly")
    axes[1].set_title("as published (Fig. 3: Taylor at eq. 14's p*)")
    axes[1].set_xlabel("number of flows")
    return figure


def stability() -> Figure:
    """Where DCQCN and Patched TIMELY are stable, over flows and delay."""
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
    delays = np.linspace(0, 150e-6, 151)
    models = (Dcqcn(ramp="extended"), PatchedTimely())
    titles = ("DCQCN, 40 Gb/s, extended ramp", "Patched TIMELY, 10 Gb/s, slope 2")
    for one, model, title in zip(axes, models, titles, strict=True):
        image = plot.stability_map(one, margin_map(model, {"flows": COUNTS, "delay": delays}))
        plot.margin_bar(one, image, "phase margin (degrees)")
        one.set_title(title)
    return figure


def trajectories() -> Figure:
    """Ten DCQCN flows at 4 and 85 us with Fig. 4's RED; two Patched TIMELY flows from 7 and 3 Gb/s."""
    figure, axes = plt.subplots(2, 2, figsize=(9.6, 5.2), layout="constrained")
    gentle = FIGURES["fig4"].computed
    for index, delay in enumerate((4e-6, 85e-6)):
        run = trajectory(replace(gentle, flows=10, delay=delay), 0.1)
        plot.trajectory(axes[0, 0], axes[1, 0], run, label=f"{delay * 1e6:g} µs", index=index)
    axes[0, 0].set_ylim(0, 400)
    axes[1, 0].set_ylim(0, 8)
    axes[0, 0].set_title("DCQCN, 10 flows (the first burst is cut off)")
    run = trajectory(PatchedTimely(), 0.1, flows=[Flows(rate_bps=7e9), Flows(rate_bps=3e9)])
    plot.trajectory(axes[0, 1], axes[1, 1], run)
    axes[0, 1].set_title("Patched TIMELY, 2 flows")
    return figure


def slopes() -> Figure:
    """Patched TIMELY's phase margin: eq. 30 as printed, and what Fig. 11 was computed with."""
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    variants = {"eq. 30: slope 2": FIGURES["fig11"].text, "Fig. 11: slope 0.5": FIGURES["fig11"].computed}
    for index, (label, model) in enumerate(variants.items()):
        found = margin_map(replace(model, delay=0.0), {"flows": np.arange(1, 72)})
        plot.phase_margin(axes, found, label, index)
    axes.set_ylim(-90, 60)
    axes.set_title("Patched TIMELY, 10 Gb/s, no propagation delay")
    return figure


FIGURE_FILES = {
    "fluid-bode": bode,
    "fluid-margin": margin_against_flows,
    "fluid-stability": stability,
    "fluid-trajectories": trajectories,
    "fluid-slopes": slopes,
}


def main(folder: str | Path) -> None:
    """Draws every figure into `folder`."""
    for name, draw in FIGURE_FILES.items():
        with matplotlib.rc_context(STYLE | {"text.parse_math": True}):
            figure = draw()
        figure.savefig(Path(folder) / f"{name}.png", dpi=110)
        plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1])
