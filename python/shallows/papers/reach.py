"""How far a paper's headline reaches: one condition is moved at a time, away from the paper's own, and what holds is seen.

A reach is stated before it runs, as a claim is: the headline as checks, the axes, and what is expected to break it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from shallows.papers.verdict import Estimate, estimate

if TYPE_CHECKING:
    from shallows.papers.claim import Check
    from shallows.papers.lab import Lab


class Axis(NamedTuple):
    """A condition. `home` is the paper's own; `points` are tried, `home` among them, in rising order."""

    name: str
    unit: str
    home: float
    points: tuple[float, ...]

    def at(self, value: float) -> str:
        """Such as "round trip 400 us"."""
        return f"{self.name} {value:g} {self.unit}".rstrip()


@dataclass(frozen=True)
class Reach:
    """`measure(lab)` says for every point of every axis what `checks` ask for, under `metric(axis, value, name)`."""

    id: str
    headline: str
    expected: str
    axes: tuple[Axis, ...]
    checks: "tuple[Check, ...]"
    measure: "Callable[[Lab], None]"
    scenarios: tuple[str, ...]
    differs: str = ""
    seeds: tuple[int, int] = (3, 5)
    cannot: str = ""


def metric(axis: Axis, value: float, name: str) -> str:
    """The name under which a lab keeps a number of a point."""
    return f"{axis.at(value)}: {name}"


def points(
    lab: "Lab", axes: Sequence[Axis], measure: Callable[[dict[str, float]], Mapping[str, float]]
) -> None:
    """Keeps what `measure` answers, {name: number}, at every point of every axis.

    It is given {axis name: value}, in which all axes but one are at home.
    """
    home = {axis.name: axis.home for axis in axes}
    for axis in axes:
        for value in axis.points:
            for name, number in measure(home | {axis.name: value}).items():
                lab.say(metric(axis, value, name), number)


class Point(NamedTuple):
    """What was found at one point. missed: the names of the checks that fail."""

    value: float
    estimates: dict[str, Estimate]
    missed: tuple[str, ...]


@dataclass(frozen=True)
class Extent:
    """What came out of a reach. axes: axis -> its points, in order."""

    row: Reach
    axes: dict[Axis, list[Point]]

    @property
    def summary(self) -> str:
        """Where the headline stops holding, by which check, and along which axes it never does."""
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
            names = dict.fromkeys(check.metric for check in reach.checks)
            estimates = {
                name: estimate([sample[metric(axis, value, name)] for sample in samples]) for name in names
            }
            means = {name: one.mean for name, one in estimates.items()}
            missed = tuple(check.metric for check in reach.checks if not check.passes(means))
            found.append(Point(value, estimates, missed))
    return Extent(reach, axes)
