"""Colours of utilization and of queues in a page, as CSS variables that follow light and dark."""

import matplotlib
import matplotlib.colors

from shallows.plot.topology import COLOURS

UTILIZATION = COLOURS
QUEUE = "OrRd"
DARKEST, LIGHTEST = 0.18, 0.3
"""Where the colours begin on a dark page, and those of queues on a light one: the first are hard to see."""


def style() -> str:
    """CSS: `--u0` to `--u100` and `--q0` to `--q100`, by percent; in the dark the last are the brightest."""
    light = _variables("u", UTILIZATION) + _variables("q", QUEUE, LIGHTEST)
    dark = _variables("u", _reversed(UTILIZATION), DARKEST) + _variables("q", _reversed(QUEUE), DARKEST)
    return f":root{{{light}}}@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}"


def _variables(key: str, name: str, least: float = 0.0) -> str:
    colours = matplotlib.colormaps[name]
    shares = (least + (1 - least) * percent / 100 for percent in range(101))
    return "".join(
        f"--{key}{percent}:{matplotlib.colors.to_hex(colours(share))};"
        for percent, share in enumerate(shares)
    )


def _reversed(name: str) -> str:
    return name.removesuffix("_r") if name.endswith("_r") else f"{name}_r"
