"""The second pass of a run, which records why packets of some flows left when they did.

The record is a set of tables (`TABLES`; docs/why.md) in numpy columns; `Record.table` converts one to Arrow,
and `Record.save` writes Parquet files. Times are integers in picoseconds.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shallows.core.contract import U64
from shallows.errors import ScenarioError
from shallows.results import arrow, disk, mismatch, store
from shallows.results.tables import Column
from shallows.scenario import addends, needs, port_request
from shallows.units import NEVER
from shallows.why import demand, rerun

if TYPE_CHECKING:
    from pyarrow import Table

    from shallows.core.contract import Answer
    from shallows.core.progress import OnProgress
    from shallows.results.run import RunData
    from shallows.scenario import Scenario

NONE = 2**32 - 1
"""The number for no packet, flow, link or cause."""
DATA_LIKE = ("data", "credit_request", "credit_stop", "rate_request")
"""Kinds of packets that the sending side of a flow sends."""
MARGIN_PS = 2_000_000
"""Added on both sides of a span, because times of a saved run are in microseconds."""
Ways = Sequence[Collection[int]]
"""For each watched flow the links that its packets and their answers may take."""
TABLES = {
    "packets": {
        "flow": "number of the flow",
        "kind": "what it is for, a place in `kinds`",
        "seq": "its number in the flow; of an acknowledgement, that of a block that came early",
        "cumulative": "of an acknowledgement: the number expected next",
        "first": "the first packet that an acknowledgement is for, if not the one that let it leave",
        "length": "bytes on the wire; 0 of an acknowledgement that rides on data",
        "left_ps": "when its host offered it to the first port",
        "cause": "why it could be sent, a row of `causes`",
    },
    "causes": {
        "why": "what it was, a place in `whys`",
        "at_ps": "from when on it let the flow send",
        "since_ps": "since when that had been waited for",
        "packet": "the packet that came or left then, a row of `packets`",
        "before": "the cause that the waiting began with, a row of `causes`",
        "lack": "what the flow lacked until then, a place in `lacks`",
        "short": "bytes that a window lacked",
        "window": "bytes that the sender's window allowed in flight then; 0 is none",
    },
    "hops": {
        "packet": "a row of `packets`",
        "link": "the link behind the port",
        "offered_ps": "when it came to the port",
        "begun_ps": "when its first bit was sent; 2**64-1 is never",
        "ended_ps": "when its last bit was",
        "arrived_ps": "when it came to the end of the link; 2**64-1 is never",
        "outcome": "what became of it, a place in `outcomes`",
    },
    "frames": {
        "link": "the link",
        "flow": "whose it is; 2**32-1 is nobody's (a pause)",
        "packet": "a row of `packets`, if its flow is watched",
        "kind": "what it is for, a place in `kinds`",
        "length": "bytes on the wire",
        "offered_ps": "when it came to the port",
        "begun_ps": "when its first bit was sent",
        "ended_ps": "when its last bit was",
    },
    "links": {
        "time_ps": "when",
        "link": "to which link",
        "event": "what happened, a place in `link_events`",
        "through": "where a pause was asked for: the port in which most of what the link brought waits",
        "class": "of a pause: the traffic class, from 0",
    },
    "completed": {"flow": "number of the flow", "packet": "the packet that completed it"},
    "ideal": {
        "flow": "number of the flow",
        "link": "a link on its way",
        "waits_ps": "while the frames before its last are sent there, were the path empty",
        "sending_ps": "while the last is",
        "delay_ps": "propagation",
    },
}
"""Every table of a record: its columns with their meaning."""


class Record:
    """The record of the flows in `flows`: a dict of columns for each of `TABLES`.

    `left_out` are flows that were asked for but did not fit into memory.
    """

    def __init__(
        self, scenario: "Scenario", flows: list[int], answer: "Answer", tables: dict[str, Any]
    ) -> None:
        self.scenario = scenario
        self.flows = flows
        self.left_out: list[int] = []
        self.fingerprint = answer["fingerprint"]
        self.start_ps = addends.from_core(scenario, answer["flows"]["start_ps"])
        self.addends = addends.in_fct(scenario)
        """Picoseconds of each flow by cause, from its start until its first byte may leave."""
        self.finish_ps = answer["flows"]["finish_ps"]
        self.ended_ps = answer["ended_ps"]
        self.deadlock = answer["deadlock"]
        self.traffic_classes = port_request.class_of_flows(scenario)
        self.tables = {name: tables[name] for name in TABLES}
        self.kinds, self.whys = list(tables["kinds"]), list(tables["whys"])
        self.lacks, self.outcomes = list(tables["lacks"]), list(tables["outcomes"])
        self.link_events = list(tables["link_events"])
        self.names = scenario.graph.port_names

    def __repr__(self) -> str:
        frames = len(self.tables["frames"]["link"])
        return f"<Record of {len(self.flows)} flows of {self.scenario.name}: {frames} frames>"

    def table(self, name: str) -> "Table":
        """One of `TABLES` as a pyarrow table, with its definitions in the metadata of the columns.

        Raises `ScenarioError` without pyarrow, which the extra `arrow` brings.
        """
        return arrow.table(self._columns(name), self.tables[name], self._about())

    def save(self, folder: str | PathLike[str]) -> Path:
        """Write a Parquet file for each table into `folder`; return its path."""
        folder = Path(folder)
        with store.replacing(folder, check_folder) as filling:
            for name in TABLES:
                path = filling / f"{name}.parquet"
                disk.write(path, self._columns(name), self._about(), [self.tables[name]])
        return folder

    def _columns(self, name: str) -> dict[str, Column]:
        types = {column: self.tables[name][column].dtype.name for column in TABLES[name]}
        return {column: Column(types[column], "", means) for column, means in TABLES[name].items()}

    def _about(self) -> dict[str, str]:
        """Metadata: the meaning of numbers, and the run."""
        names = {
            "kinds": self.kinds,
            "whys": self.whys,
            "lacks": self.lacks,
            "outcomes": self.outcomes,
            "link_events": self.link_events,
        }
        return {key: ",".join(texts) for key, texts in names.items()} | {
            "fingerprint": self.fingerprint or ""
        }


def check_folder(folder: Path) -> None:
    """Raise `ScenarioError` unless a record may be saved in `folder`: new, empty, or an earlier record's."""
    store.check_outside(folder)
    store.check_only(folder, {f"{name}.parquet" for name in TABLES})
    expected = "a new or empty folder, or one with an earlier record: choose another name"
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        metadata, _ = disk.header(path, expected)
        if "link_events" not in metadata:
            raise ScenarioError("it is of no record", file=path, expected=expected)


def of_run(
    run: "RunData",
    flows: Sequence[int],
    on_progress: "OnProgress | None" = None,
    *,
    as_many_as_fit: bool = False,
) -> Record:
    """The `Record` of a second pass over `run`, a `Run` of the packet world, for these flows.

    With `as_many_as_fit` it is of the first of them that fit into memory, and `left_out` has the rest. Raises
    `ScenarioError` if they do not fit, or if the second pass was not the same run, because of other code or
    another scenario.
    """
    table = run.columns("flows")
    start, fct = (np.asarray(table[name]) for name in ("start_us", "fct_us"))
    for flow in flows:
        if not 0 <= flow < len(start):
            expected = f"a number from 0 to {len(start) - 1}, the flows of this run"
            raise ScenarioError("flow", int(flow), expected)
        if not np.isfinite(fct[flow]):
            expected = "one that has finished: it has not, so its completion time has no path"
            raise ScenarioError("flow", int(flow), expected)
    ends = {flow: (start + fct)[flow] * 1e6 for flow in flows}
    return of_flows(run, ends, start * 1e6, on_progress, as_many_as_fit=as_many_as_fit)


def of_flows(
    run: "RunData",
    ends: "Mapping[int, float]",
    start_ps: NDArray[np.generic],
    on_progress: "OnProgress | None" = None,
    *,
    as_many_as_fit: bool = False,
) -> Record:
    """The `Record` of a second pass over `run` for flows from their starts until the times in `ends` (ps).

    See `of_run` for `as_many_as_fit`.
    """
    scenario, flows = rerun.scenario_of(run), list(ends)
    begin = np.maximum(start_ps[np.asarray(flows, np.uint32)].astype(float) - MARGIN_PS, 0)
    end = np.array(list(ends.values()), float) + MARGIN_PS
    spans = begin.astype(np.uint64), end.astype(np.uint64)

    def fit(flows: Sequence[int], ways: Ways) -> Sequence[int]:
        bounds = spans[0][: len(flows)], spans[1][: len(flows)]
        return _that_fit(scenario, demand.of_flows(run, scenario, flows, bounds, ways), flows, as_many_as_fit)

    needs.check_run(scenario, "the second pass", demand.PATH_BYTES * len(flows), "fewer flows")
    record = of_scenario(scenario, flows, spans, on_progress, fit)
    record.left_out = flows[len(record.flows) :]
    rerun.check(run, record.fingerprint)
    mismatch.refuse_times(run, record.flows, record.finish_ps)
    return record


def _that_fit(
    scenario: "Scenario", each: Sequence[float], flows: Sequence[int], as_many_as_fit: bool
) -> Sequence[int]:
    """The first of the flows whose record fits into memory. Raises `TooLargeError` if all must fit."""
    fit = demand.fitting(scenario, each)
    if fit == len(flows) or (fit and as_many_as_fit):
        return flows[:fit]
    one = "flow" if as_many_as_fit or len(flows) == 1 else "flows"
    count, need = (1, each[0]) if as_many_as_fit else (len(flows), each[-1])
    instead = "a shorter flow, or more memory" if count == 1 else "fewer flows, or shorter ones"
    needs.check_run(scenario, f"the record of {count} {one}", need, instead)
    return flows


def of_scenario(
    scenario: "Scenario",
    flows: Sequence[int],
    spans: tuple[U64, U64] | None = None,
    on_progress: "OnProgress | None" = None,
    fit: Callable[[Sequence[int], Ways], Sequence[int]] = lambda flows, _: flows,
) -> Record:
    """The `Record` of a run of `scenario` for these flows, each within its span of times (ps).

    A pass watches the links of the paths that flows have at first, or all if they have several. If packets
    took other links, another pass watches these too. Before a pass, `fit` chooses the first of the flows.
    """
    from shallows import _core

    request, flows = rerun.request(scenario), list(flows)
    if spans is None:
        spans = np.zeros(len(flows), np.uint64), np.full(len(flows), NEVER, np.uint64)
    ways: Ways = [range(len(scenario.graph.link_from))] * len(flows)
    if scenario.network.balancing == "flow":
        ways = [{*forward, *back} for forward, back in _core.paths(request, np.asarray(flows, np.uint32))]
    while True:
        flows = list(fit(flows, ways))
        ways, spans = ways[: len(flows)], (spans[0][: len(flows)], spans[1][: len(flows)])
        watched = {"flows": np.asarray(flows, np.uint32), "spans": _spans(ways, *spans)}
        answer, tables = _core.watch(request, watched, on_progress)
        if answer["interrupted"]:
            raise KeyboardInterrupt("in the second pass; the saved result is unchanged")
        record = Record(scenario, flows, answer, tables)
        taken = _taken(record)
        new = [
            [link for link in taken[flow] if link not in way] for flow, way in zip(flows, ways, strict=True)
        ]
        if not any(new):
            return record
        ways = [{*way, *links} for way, links in zip(ways, new, strict=True)]


def _taken(record: Record) -> dict[int, list[int]]:
    """The links that packets of each flow were offered to."""
    hops, links = record.tables["hops"], len(record.names)
    flow = record.tables["packets"]["flow"][hops["packet"]].astype(np.uint64)
    found: dict[int, list[int]] = {flow: [] for flow in record.flows}
    for pair in np.unique(flow * np.uint64(links) + hops["link"].astype(np.uint64)).tolist():
        found[pair // links].append(pair % links)
    return found


def _spans(ways: Ways, begin: U64, end: U64) -> dict[str, NDArray[np.generic]]:
    """For each link of the flows: the spans in which a flow may use it, ordered and disjoint."""
    groups: dict[int, tuple[Collection[int], list[tuple[int, int]]]] = {}
    for way, since, until in zip(ways, begin.tolist(), end.tolist(), strict=True):
        groups.setdefault(id(way), (way, []))[1].append((since, until))
    spans: dict[int, list[tuple[int, int]]] = {}
    for way, times in groups.values():  # flows that may take every link are one group
        together = _apart(sorted(times))
        for link in way:
            spans.setdefault(link, []).extend(together)
    rows = [(link, *span) for link, times in sorted(spans.items()) for span in _apart(sorted(times))]
    columns = np.array(rows, np.uint64).reshape(-1, 3)
    return {
        "link": columns[:, 0].astype(np.uint32),
        "from_ps": np.ascontiguousarray(columns[:, 1]),
        "until_ps": np.ascontiguousarray(columns[:, 2]),
    }


def _apart(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sorted spans with touching spans joined."""
    merged: list[tuple[int, int]] = []
    for since, until in spans:
        if merged and since <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], until)
        else:
            merged.append((since, until))
    return merged
