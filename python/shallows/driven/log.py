"""The log of an open network: the messages that were sent, as a scenario that repeats the run."""

from array import array
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING

from shallows.errors import ScenarioError
from shallows.traffic import Driven
from shallows.traffic.trace import NUMBER
from shallows.units import TIME

if TYPE_CHECKING:
    from shallows.scenario import Scenario


class Log:
    """The messages so far, as columns, and the scenario that they were added to."""

    def __init__(self, scenario: "Scenario") -> None:
        self.scenario = scenario
        self._columns = {name: array("Q") for name in ("table", "start_ps", "src", "dst", "bytes")}

    def __len__(self) -> int:
        return len(self._columns["table"])

    def copied(self) -> "Log":
        """The same log, to which other messages can be added."""
        made = copy(self)
        made._columns = {name: column[:] for name, column in self._columns.items()}
        return made

    def add(self, table: int, rows: "Sequence[tuple[int, int, int, int]]") -> None:
        """Add messages of a traffic table: source, target, bytes, start in ps."""
        for src, dst, size, start_ps in rows:
            values = {"table": table, "start_ps": start_ps, "src": src, "dst": dst, "bytes": size}
            for name, value in values.items():
                self._columns[name].append(value)

    def row(self, at: int) -> tuple[int, int, int, int]:
        """Source, target, bytes and start in ps of a message."""
        columns = self._columns
        return columns["src"][at], columns["dst"][at], columns["bytes"][at], columns["start_ps"][at]

    def as_scenario(self, ended_ps: int | None = None) -> "Scenario":
        """The scenario whose run is the same, which ends at `ended_ps` if that is given.

        Raises `ScenarioError` if there is no flow.
        """
        if not len(self) and not len(self.scenario.flows):
            raise ScenarioError("traffic", "no message", "one message or more: send one before")
        traffic = self.scenario.tables["traffic"]
        for number, table in enumerate(self.scenario.traffic):
            if isinstance(table, Driven):
                traffic[number] = {**traffic[number], "flows": self._flows(number)}
        changes: dict[str, object] = {"traffic": traffic}
        if ended_ps is not None:
            changes["duration"] = TIME.text(ended_ps)
        return self.scenario.changed(changes)

    def _flows(self, table: int) -> dict[str, object]:
        """The columns of a table."""
        columns, hosts = self._columns, self.scenario.graph.host_names
        at = [row for row, of in enumerate(columns["table"]) if of == table]
        start = [f"{ps // 10**12}.{ps % 10**12:012d}" for ps in (columns["start_ps"][row] for row in at)]
        src, dst = ([hosts[columns[name][row]] for row in at] for name in ("src", "dst"))
        size = [columns["bytes"][row] for row in at]
        return {"start_s": start, "src": src, "dst": dst, "bytes": size, NUMBER: at}
