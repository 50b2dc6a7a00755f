"""The log of an open network: the messages that were sent, as a scenario that repeats the run."""

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from shallows.core.contract import U64
from shallows.driven.rows import Rows
from shallows.errors import ScenarioError
from shallows.traffic import Driven
from shallows.traffic.settings import SenderSetting, in_columns
from shallows.traffic.trace import NUMBER
from shallows.units import TIME

if TYPE_CHECKING:
    from shallows.scenario import Scenario

_COLUMNS = ("table", "src", "dst", "bytes", "start_ps")


class Log:
    """The messages so far, and the scenario that they are added to.

    `settings` are those of senders: time in ps, flow, window in bytes, rate in bit/s.
    """

    def __init__(self, scenario: "Scenario") -> None:
        self.scenario = scenario
        self.settings: list[tuple[int, int, int, int]] = []
        self._rows = Rows(len(_COLUMNS))

    def __len__(self) -> int:
        return len(self._rows)

    def copied(self) -> "Log":
        """The same log, to which other messages can be added."""
        made = copy(self)
        made._rows = self._rows.copied()
        made.settings = self.settings[:]
        return made

    def add(self, table: int, rows: "Sequence[tuple[int, int, int, int]]") -> None:
        """Add messages of a traffic table: source, target, bytes, start in ps."""
        self._rows.add((table, *row) for row in rows)

    def store(self) -> None:
        """Write older messages to a file if there are many."""
        self._rows.store()

    def cut(self, count: int) -> None:
        """Keep the first messages alone; those that are left out are among the newest."""
        self._rows.cut(count)

    def columns(self) -> dict[str, U64]:
        """Table, source, target, bytes and start in ps of all messages."""
        return dict(zip(_COLUMNS, self._rows.columns(), strict=True))

    def row(self, at: int) -> tuple[int, int, int, int]:
        """Source, target, bytes and start in ps of a message."""
        _, src, dst, size, start_ps = self._rows[at]
        return src, dst, size, start_ps

    def table(self, at: int) -> int:
        """The traffic table of a message."""
        return self._rows[at][0]

    def as_scenario(self, ended_ps: int | None = None) -> "Scenario":
        """The scenario whose run is the same, which ends at `ended_ps` if that is given.

        Raises `ScenarioError` if there is no flow.
        """
        if not len(self) and not len(self.scenario.flows):
            raise ScenarioError("traffic", "no message", "one message or more: send one before")
        traffic, columns = self.scenario.tables["traffic"], self.columns()
        for number, table in enumerate(self.scenario.traffic):
            if isinstance(table, Driven):
                traffic[number] = {**traffic[number], "flows": self._flows(columns, number)}
        if self.settings:
            first = next(at for at, table in enumerate(self.scenario.traffic) if isinstance(table, Driven))
            columns_set = in_columns(SenderSetting(*one) for one in self.settings)
            traffic[first] = {**traffic[first], "settings": columns_set}
        changes: dict[str, object] = {"traffic": traffic}
        if ended_ps is not None:
            changes["duration"] = TIME.text(ended_ps)
        return self.scenario.changed(changes)

    def _flows(self, columns: dict[str, U64], table: int) -> dict[str, object]:
        """The columns of a table."""
        hosts = self.scenario.graph.host_names
        at = np.flatnonzero(columns["table"] == table)
        start, src, dst, size = (
            [int(one) for one in columns[key][at]] for key in ("start_ps", *_COLUMNS[1:4])
        )
        return {
            "start_s": [f"{ps // 10**12}.{ps % 10**12:012d}" for ps in start],
            "src": [hosts[host] for host in src],
            "dst": [hosts[host] for host in dst],
            "bytes": size,
            NUMBER: [int(one) for one in at],
        }
