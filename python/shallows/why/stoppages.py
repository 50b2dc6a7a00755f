"""Times when links did not send: spans in which their ports were paused or they were down."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from shallows.why.record import NONE

ENDS = {"resumed": "paused", "up": "down"}
"""The event that ends each kind of stoppage, and the event that began it."""


class Stoppage(NamedTuple):
    """A span in which the port of `link` was "paused" or its link "down".

    For a pause, most data of the link waited in the port of `through`; otherwise that is `NONE`.
    """

    link: int
    since_ps: int
    until_ps: int
    what: str
    through: int

    @property
    def length_ps(self) -> int:
        """The duration."""
        return self.until_ps - self.since_ps


def of_events(events: Mapping[str, NDArray[Any]], names: Sequence[str], ended_ps: int) -> list[Stoppage]:
    """The `Stoppage`s in a table of link events, by their end, which may be the end of the run.

    `events` are its columns `time_ps`, `link`, `event` and `through`, `names` those of the events.
    """
    asked: dict[int, int] = {}
    since: dict[tuple[int, str], tuple[int, int]] = {}
    found: list[Stoppage] = []
    columns = (events[name].tolist() for name in ("time_ps", "link", "event", "through"))
    for time, link, event, through in zip(*columns, strict=True):
        name = names[int(event)]
        if name == "pause_asked":
            asked[link] = through
        elif name in ENDS.values():
            since.setdefault((link, name), (time, asked.get(link, NONE) if name == "paused" else NONE))
        elif name in ENDS and (link, ENDS[name]) in since:
            begun, its = since.pop((link, ENDS[name]))
            found.append(Stoppage(link, begun, time, ENDS[name], its))
    return found + [
        Stoppage(link, begun, ended_ps, name, its) for (link, name), (begun, its) in since.items()
    ]
