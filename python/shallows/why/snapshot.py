"""A snapshot of a run: every queue, window, rate and pause at one time, and the packets in flight.

The scenario runs again up to that time, is read, and continues to its end: the same fingerprint proves that
it was the same run. The state includes everything that happens at or before the time (docs/timelines.md).
"""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shallows.core.contract import Answer
from shallows.errors import ScenarioError
from shallows.scenario import addends, needs
from shallows.scenario.literal import literal
from shallows.units import NEVER, TIME
from shallows.why import rerun
from shallows.why.record import NONE

if TYPE_CHECKING:
    from pandas import DataFrame

    from shallows.core.progress import OnProgress
    from shallows.results.run import RunData
    from shallows.scenario import Scenario

STATES = ("to come", "blocked", "paced", "ready", "finished")
"""States of a flow: not begun; waits for `waits_for`; waits for its pace; waits for the NIC; done."""


class Snapshot:
    """The state of a run at `time_ps`: `ports`, `flows` and `packets` as pandas tables."""

    def __init__(self, scenario: "Scenario", time_ps: int, answer: Answer, tables: dict[str, Any]) -> None:
        self.scenario, self.time_ps = scenario, time_ps
        self.fingerprint, self.ended_ps = answer["fingerprint"], answer["ended_ps"]
        self._tables = tables
        start_ps = addends.from_core(scenario, answer["flows"]["start_ps"])
        self._start_us = start_ps[tables["flows"]["flow"]] / 1e6

    @cached_property
    def ports(self) -> "DataFrame":
        """A row for each egress port.

        `queue_bytes` and `queue_frames` include the frame in transmission: its unsent bytes, and one frame.
        `wire_frames` and `wire_bytes` are on the link; `paused` and `down` are reasons why the port does not
        send.
        """
        import pandas

        columns = {"port": self.scenario.graph.port_names, **self._tables["ports"]}
        return pandas.DataFrame(columns)

    @cached_property
    def flows(self) -> "DataFrame":
        """A row for each flow, with its `state`, one of `STATES`.

        `waits_for` is the reason: "nic" (other flows' turn), "pace", "host" (its delay over a credit),
        "window" or "receiver" (a full window), "application" (no data written), "answer" (a credit or an
        acknowledgement); empty if the flow has ended or not begun. `sent_pkt` counts packets sent at least
        once; `in_flight_pkt` those in flight as the sender knows. Columns after `paced_until_us` are the
        probes of the algorithm, as in the table `probes` of a result.
        """
        import pandas

        hosts, flows = self.scenario.graph.host_names, self.scenario.flows
        table = pandas.DataFrame(
            {
                "flow": np.arange(len(flows), dtype=np.uint32),
                "src": [hosts[host] for host in flows.src],
                "dst": [hosts[host] for host in flows.dst],
                "bytes": pandas.Series(flows.bytes).mask(flows.bytes == 0).astype("UInt64"),
            }
        )
        return table.join(self._begun(), on="flow").fillna({"state": "to come"})

    @property
    def probe_names(self) -> list[str]:
        """The columns of `flows` that belong to the algorithm."""
        return list(self._tables["names"])

    def _begun(self) -> "DataFrame":
        import pandas

        its, waits = self._tables["flows"], np.array([*self._tables["waits"], None])
        waits_for = waits[np.minimum(its["waits_for"], len(waits) - 1)]
        state = np.select(
            [its["finish_ps"] <= self.time_ps, waits_for == "nic", waits_for == "pace"],
            ["finished", "ready", "paced"],
            "blocked",
        )
        waits_for[state == "finished"] = None
        table = pandas.DataFrame(
            {
                "state": state,
                "waits_for": waits_for,
                "start_us": self._start_us,
                "delivered_bytes": its["delivered_bytes"],
                "sent_pkt": _known(its["next"]),
                "in_flight_pkt": _known(its["in_flight"]),
                "retransmits": its["retransmits"],
                "timeouts": its["timeouts"],
                "paced_until_us": np.where(state == "paced", its["until_ps"] / 1e6, np.nan),
            },
            index=its["flow"],
        )
        return table.join(self._probes())

    def _probes(self) -> "DataFrame":
        """A column for each probe of the algorithms."""
        import pandas

        probes = self._tables["probes"]
        wide = {}
        for number, name in enumerate(self.probe_names):
            named = probes["name"] == number
            wide[name] = pandas.Series(probes["value"][named], index=probes["flow"][named])
        return pandas.DataFrame(wide)

    @cached_property
    def packets(self) -> "DataFrame":
        """A row for each packet in flight, by port, in the order of departure.

        `place` is the place on its hop: "waiting", "leaving" (partly sent) or "flying" (sent); `number` its
        sequence or acknowledgement number; `arrives_us` is empty if its port has classes and has not sent it
        yet.
        """
        import pandas

        table = self._tables["packets"]
        ports, arrives = np.asarray(self.scenario.graph.port_names), table["arrives_ps"]
        return pandas.DataFrame(
            {
                "port": ports[table["link"]],
                "place": np.asarray(self._tables["places"])[table["place"]],
                "flow": _known(table["flow"]),
                "kind": np.asarray(self._tables["kinds"])[table["kind"]],
                "number": table["number"],
                "length": table["length"],
                "marked": table["marked"],
                "arrives_us": np.where(arrives < NEVER, arrives / 1e6, np.nan),
            }
        )

    def __repr__(self) -> str:
        return f"<Snapshot {TIME.text(self.time_ps)} of {self.scenario.name}>"


def _known(values: NDArray[np.generic]) -> Any:
    """Integers with nulls for `NONE`."""
    import pandas

    return pandas.arrays.IntegerArray(values.astype(np.int64), values == NONE)


def of_run(run: "RunData", time: object, on_progress: "OnProgress | None" = None) -> "Snapshot":
    """The `Snapshot` of `run`, a `Run` of the packet world, at `time`, such as "3.2ms".

    Raises `ScenarioError` for a time outside of the run, for a run of another world, and if the second pass
    was not the same run.
    """
    from shallows import _core

    scenario = rerun.scenario_of(run)
    ended_ps = round(run.summary["duration_s"] * 1e12)
    time_ps = within(time, ended_ps)
    needs.check_run(scenario, "the snapshot", needs.ENTRY_BYTES * len(scenario.flows))
    answer, tables = _core.at(rerun.request(scenario), time_ps, on_progress)
    if answer["interrupted"]:
        raise KeyboardInterrupt
    rerun.check(run, answer["fingerprint"])
    return Snapshot(scenario, time_ps, answer, tables)


def within(time: object, ended_ps: int, key: str = "time") -> int:
    """A text such as "3.2ms" as picoseconds of a run that ended at `ended_ps`; raises `ScenarioError`."""
    try:
        time_ps = TIME.parse(literal(time))
    except ValueError as error:
        raise ScenarioError(key, time, f"{error}, counted from the begin of the run") from None
    if time_ps > ended_ps:
        raise ScenarioError(key, time, f"at most {TIME.text(ended_ps)}, when the run ended")
    return time_ps
