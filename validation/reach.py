"""How far a paper's headline reaches: one condition at a time is varied, away from the paper's own.

A reach is stated before it runs, as a claim is: the headline as bands, the axes, and what is expected to break it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from validation.verdict import Estimate, estimate, passes

if TYPE_CHECKING:
    from validation.claim import Band
    from validation.lab import Lab


class Axis(NamedTuple):
    """A condition. `home` is the paper's own value; `points` are the tested values in rising order, `home` among them."""

    name: str
    unit: str
    home: float
    points: tuple[float, ...]

    def at(self, value: float) -> str:
        """Such as "round trip 400 us"."""
        return f"{self.name} {value:g} {self.unit}".rstrip()


@dataclass(frozen=True)
class Reach:
    """`measure(lab)` says for every point of every axis what `bands` ask for, under `metric(axis, value, name)`."""

    id: str
    headline: str
    expected: str
    axes: tuple[Axis, ...]
    bands: "tuple[Band, ...]"
    measure: "Callable[[Lab], None]"
    runs: Mapping[str, str]
    differs: str = ""
    nightly = True
    """Where claims end to hold is what no paper states, and takes as long as a sixth of all figures."""

    def count(self, quick: bool) -> int:
        """How many seeds."""
        return 1 if quick else 5


def metric(axis: Axis, value: float, name: str) -> str:
    """The name under which a lab stores a number of a point."""
    return f"{axis.at(value)}: {name}"


def points(
    lab: "Lab", axes: Sequence[Axis], measure: Callable[[dict[str, float]], Mapping[str, float]]
) -> None:
    """Stores what `measure` returns, {name: number}, at every point of every axis.

    `measure` receives {axis name: value}, with all axes but one at home.
    """
    home = {axis.name: axis.home for axis in axes}
    for axis in axes:
        for value in axis.points:
            for name, number in measure(home | {axis.name: value}).items():
                lab.say(metric(axis, value, name), number)


class Point(NamedTuple):
    """The estimates at one point. missed: the names of the bands that fail."""

    value: float
    estimates: dict[str, Estimate]
    missed: tuple[str, ...]


@dataclass(frozen=True)
class Extent:
    """The outcome of a reach. axes: axis -> its points, in order."""

    row: Reach
    axes: dict[Axis, list[Point]]

    @property
    def summary(self) -> str:
        """Where the headline stops holding, by which band, and along which axes it always holds."""
        broken = {axis: [point for point in found if point.missed] for axis, found in self.axes.items()}
        stops = [_stops(axis, bad) for axis, bad in broken.items() if bad]
        whole = [_span(axis) for axis, bad in broken.items() if not bad]
        parts = [f"Stops at {'; '.join(stops)}."] if stops else []
        parts += [f"Holds throughout for {_listed(whole)}."] if whole else []
        return " ".join(parts)


def _span(axis: Axis) -> str:
    return f"{axis.name} {axis.points[0]:g} to {axis.points[-1]:g} {axis.unit}".rstrip()


def _stops(axis: Axis, bad: Sequence[Point]) -> str:
    where = _listed([f"{point.value:g}" for point in bad])
    missed = dict.fromkeys(name for point in bad for name in point.missed)
    return f"{axis.name} {where} {axis.unit}".rstrip() + f" ({_listed(list(missed))})"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def extent(reach: Reach, samples: Sequence[Mapping[str, float]]) -> Extent:
    """The `Extent` of a reach from `samples`, a dict metric -> value for each seed."""
    axes: dict[Axis, list[Point]] = {axis: [] for axis in reach.axes}
    for axis, found in axes.items():
        for value in axis.points:
            names = list(dict.fromkeys(band.metric for band in reach.bands))
            here = [{name: sample[metric(axis, value, name)] for name in names} for sample in samples]
            estimates = {name: estimate([one[name] for one in here]) for name in names}
            missed = tuple(band.metric for band in reach.bands if not passes(band, here))
            found.append(Point(value, estimates, missed))
    return Extent(reach, axes)
