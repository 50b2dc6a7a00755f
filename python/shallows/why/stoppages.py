"""Times when links did not send: spans in which their ports were paused or they were down."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shallows.why.record import NONE

ENDS = {"resumed": "paused", "up": "down"}
"""The event that ends each kind of stoppage, and the event that began it."""


class Stoppage(NamedTuple):
    """A span in which the port of `link` was "paused" or its link "down".

    For a pause, which stops one traffic class, most data of the link waited in the port of `through`;
    otherwise that is `NONE`, and the class 0.
    """

    link: int
    since_ps: int
    until_ps: int
    what: str
    through: int
    traffic_class: int = 0

    @property
    def length_ps(self) -> int:
        """The duration."""
        return self.until_ps - self.since_ps


def of_events(
    events: Mapping[str, NDArray[np.generic]], names: Sequence[str], ended_ps: int
) -> list[Stoppage]:
    """The `Stoppage`s in a table of link events, by their end, which may be the end of the run.

    `events` are its columns `time_ps`, `link`, `event`, `through` and `class`, `names` those of the events.
    """
    causes: dict[tuple[int, int], int] = {}
    since: dict[tuple[int, int, str], tuple[int, int]] = {}
    found: list[Stoppage] = []
    columns = (events[name].tolist() for name in ("time_ps", "link", "event", "through", "class"))
    for time, link, event, through, of_class in zip(*columns, strict=True):
        name = names[int(event)]
        if name == "pause_asked":
            causes[link, of_class] = through
        elif name in ENDS.values():
            cause = causes.get((link, of_class), NONE) if name == "paused" else NONE
            since.setdefault((link, of_class, name), (time, cause))
        elif name in ENDS and (link, of_class, ENDS[name]) in since:
            begun, cause = since.pop((link, of_class, ENDS[name]))
            found.append(Stoppage(link, begun, time, ENDS[name], cause, of_class))
    return found + [
        Stoppage(link, begun, ended_ps, name, cause, of_class)
        for (link, of_class, name), (begun, cause) in since.items()
    ]


def by_link(stops: Sequence[Stoppage]) -> dict[int, list[list[Stoppage]]]:
    """For each link the pauses of each class and the times when it was down: disjoint, and in order."""
    found: dict[int, dict[tuple[str, int], list[Stoppage]]] = {}
    for stop in stops:
        found.setdefault(stop.link, {}).setdefault((stop.what, stop.traffic_class), []).append(stop)
    return {link: list(lists.values()) for link, lists in found.items()}


def within(stops: Sequence[Stoppage], begin: int, end: int) -> Sequence[Stoppage]:
    """Those of disjoint stoppages, in order, that last for a part of a span."""
    first = bisect_right(stops, begin, key=attrgetter("until_ps"))
    return stops[first : bisect_left(stops, end, key=attrgetter("since_ps"))]
