"""The tables of a result and their columns."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shallows.units import NEVER

if TYPE_CHECKING:
    import pandas


class Column(NamedTuple):
    """A column of a table: numpy type ("name" is repeating text), unit and definition."""

    type: str
    unit: str
    definition: str


TABLES = {
    "flows": {
        "flow": Column("uint32", "", "number of the flow, from 0 in the order of the scenario"),
        "traffic": Column("uint32", "", "number of its traffic table, from 0"),
        "cc": Column("name", "", "congestion control algorithm"),
        "src": Column("name", "", "sending host"),
        "dst": Column("name", "", "receiving host"),
        "bytes": Column("uint64", "B", "payload to send; empty for a flow without an end"),
        "start_us": Column("float64", "us", "when the flow may first send; empty if it never began"),
        "fct_us": Column("float64", "us", "from start until the receiver has every byte"),
        "exchange_us": Column(
            "float64", "us", "of a response: from the start of its request until the client has every byte"
        ),
        "ideal_us": Column(
            "float64", "us", "fct of the same bytes alone: serialisation at every hop plus propagation"
        ),
        "slowdown": Column("float64", "1", "fct_us / ideal_us"),
        "goodput_gbps": Column(
            "float64",
            "Gbit/s",
            "in-order payload per time: over fct_us if finished, else over its time in the run; "
            "of a flow without an end, after the warm-up and until its stop only",
        ),
        "retransmits": Column("uint64", "packets", "data packets sent again"),
        "timeouts": Column("uint64", "1", "retransmission timeouts"),
        "timeout_wait_us": Column(
            "float64", "us", "for which it waited for them; in the kernel world rto_min for each"
        ),
        "credits": Column("uint64", "packets", "credits that the receiver handed out"),
        "credits_wasted": Column("uint64", "packets", "credits that came and found nothing to send"),
        "srtt_mean_us": Column(
            "float64",
            "us",
            "mean over its acks of the smoothed round trip (RFC 6298); empty where it has none",
        ),
        "srtt_max_us": Column("float64", "us", "the largest of them"),
        "reordering_pkt": Column(
            "uint64",
            "packets",
            "reordering depth: the most by which a packet arrived behind one that left later",
        ),
    },
    "computations": {
        "computation": Column("uint32", "", "its number, from 0 in the order of the scenario"),
        "traffic": Column("uint32", "", "number of its traffic table, from 0"),
        "step": Column("uint32", "", "number of its step in its task"),
        "host": Column("name", "", "the host that computes"),
        "processor": Column("uint32", "", "number of the processor of the host"),
        "duration_us": Column("float64", "us", "how long it keeps the processor busy"),
        "start_us": Column("float64", "us", "when it began; empty if it never did"),
        "finish_us": Column("float64", "us", "when it ended; empty if it never did"),
    },
    "queues": {
        "time_us": Column("float64", "us", "when the sample was taken"),
        "port": Column("name", "", "egress port, as from->to"),
        "queue_pkt": Column("float64", "full frames", "`queue_bytes` / mtu"),
        "queue_bytes": Column("uint32", "B", "frames waiting plus what is left of the one being sent"),
    },
    "probes": {
        "time_us": Column("float64", "us", "when the sample was taken"),
        "flow": Column("uint32", "", "number of the flow"),
        "name": Column("name", "", "what is measured; its unit is its suffix"),
        "value": Column("float64", "see name", "the sample"),
    },
    "ports": {
        "port": Column("name", "", "egress port, as from->to"),
        "utilization": Column("float64", "1", "share of the time after the warm-up spent sending"),
        "queue_mean_pkt": Column("float64", "full frames", "queue, weighted by time, after the warm-up"),
        "queue_p50_pkt": Column("float64", "full frames", "not exceeded half of the time after the warm-up"),
        "queue_p99_pkt": Column("float64", "full frames", "not exceeded 99 % of the time after the warm-up"),
        "queue_max_pkt": Column("float64", "full frames", "largest queue after the warm-up"),
        "delay_mean_us": Column(
            "float64",
            "us",
            "from a frame's arrival to its last bit sent, mean over the frames after the warm-up",
        ),
        "backlog_p99_us": Column(
            "float64", "us", "time to send what is queued, not exceeded 99 % of the time after the warm-up"
        ),
        "sent": Column("uint64", "packets", "sent after the warm-up"),
        "marked": Column("uint64", "packets", "given a congestion mark after the warm-up"),
        "dropped": Column("uint64", "packets", "dropped after the warm-up"),
        "trimmed": Column("uint64", "packets", "cut to their headers after the warm-up"),
        "lost": Column("uint64", "packets", "lost by faults of the link after the warm-up, not by its queue"),
        "pauses": Column("uint64", "", "times a pause stopped data after the warm-up"),
        "paused_us": Column("float64", "us", "time the port was kept from sending after the warm-up"),
    },
    "queue_histograms": {
        "port": Column("name", "", "egress port, as from->to"),
        "from_pkt": Column("float64", "full frames", "lower end of the bin, inclusive"),
        "below_pkt": Column("float64", "full frames", "upper end of the bin, exclusive"),
        "time_us": Column("float64", "us", "exact time the queue spent in the bin after the warm-up"),
    },
}
"""Every table of a result: its columns in order, each with type, unit and definition."""

ALL_TABLES = {
    **TABLES,
    "classes": {
        "port": Column("name", "", "egress port, as from->to"),
        "class": Column("name", "", 'traffic class; "control" and "pause" are those of the ports'),
        "sent": Column("uint64", "packets", "sent after the warm-up"),
        "sent_bytes": Column("uint64", "B", "length on the wire of these"),
        "marked": Column("uint64", "packets", "given a congestion mark after the warm-up"),
        "dropped": Column("uint64", "packets", "dropped after the warm-up"),
        "queue_mean_pkt": Column("float64", "full frames", "queue of the class, weighted by time"),
        "queue_max_pkt": Column("float64", "full frames", "largest queue of the class after the warm-up"),
        "delay_mean_us": Column(
            "float64", "us", "from a frame's arrival to its last bit sent, mean over frames"
        ),
        "pauses": Column("uint64", "", "times a pause stopped the class after the warm-up"),
        "paused_us": Column("float64", "us", "time during which a pause stopped the class"),
    },
    "messages": {
        "traffic": Column("uint32", "", "number of its traffic table, from 0"),
        "group": Column("uint32", "", "number of its group, from 0"),
        "step": Column("uint32", "", "number of its step, from 0"),
        "src": Column("name", "", "sending rank"),
        "dst": Column("name", "", "receiving rank"),
        "bytes": Column("uint64", "B", "payload"),
        "first_flow": Column("uint32", "", "number of the flow of its first part; its other parts follow"),
        "parts": Column("uint32", "", "its flows, one over each queue pair if it is divided"),
        "queue_pair": Column(
            "uint32",
            "",
            "number of the queue pair of its connection, from 0, over which its last byte arrived",
        ),
        "start_us": Column("float64", "us", "when its first part may be sent; empty if it never began"),
        "fct_us": Column("float64", "us", "from then until the receiver has every byte"),
        "spread_us": Column("float64", "us", "from the end of its first part to that of its last"),
    },
    "goodput": {
        "fault": Column("uint32", "", "number of the fault, `[[faults]]`, from 0"),
        "flows": Column("name", "", "those whose paths use its links (`affected`), or all `others`"),
        "time_us": Column("float64", "us", "end of the interval"),
        "goodput_gbps": Column("float64", "Gbit/s", "payload that arrived in the interval, per time"),
    },
}
"""The same with the tables that a result may have."""

ENDS = ("fct_us", "finish_us")
"""The columns of times that nothing has without a `start_us`."""

OPTIONAL = ("classes", "messages", "goodput")
"""Tables that a result has only if its scenario has classes, queue pairs, or faults."""


LATEST_US = NEVER / 1e6
"""No time of the core, in picoseconds of 64 bits, is later."""


class Names(NamedTuple):
    """A column of text: `codes` (integers, one per row) into `names`; a negative code is a missing value."""

    codes: NDArray[np.integer]
    names: list[str]

    def texts(self) -> NDArray[np.object_]:
        """Every row's text; None for a missing value."""
        return np.array([*self.names, None], object)[self.codes]

    def in_order(self) -> "Names":
        """The same rows with only the names that occur, in order of first occurrence."""
        rows = len(self.codes)
        first = np.full(len(self.names) + 1, rows)
        first[self.codes[::-1]] = np.arange(rows)[::-1]  # of several writes to one place the last remains
        first[-1] = rows
        order = np.argsort(first, kind="stable")[: np.count_nonzero(first < rows)]
        codes = np.full(len(self.names) + 1, -1, np.int32)
        codes[order] = np.arange(len(order))
        return Names(codes[self.codes], [self.names[code] for code in order])


Block = Mapping[str, "NDArray[Any] | Names"]
"""Some rows of a table: columns of one length, NaN for a missing value."""


def joined(name: str, blocks: Iterable[Block]) -> Block:
    """A whole table, each column with its own type, or as floats if values are missing."""
    pieces = {column: list[Any]() for column in ALL_TABLES[name]}
    for block in blocks:
        for column, parts in pieces.items():
            parts.append(block[column])
    # One column at a time, so that only one exists twice in memory.
    return {
        column: _settled(stacked(pieces.pop(column)), parts.type)
        for column, parts in ALL_TABLES[name].items()
    }


def stacked(pieces: list[Any]) -> "NDArray[np.generic] | Names":
    """The pieces of a column, joined."""
    if not pieces:
        return np.empty(0)
    if isinstance(pieces[0], Names):
        return Names(np.concatenate([piece.codes for piece in pieces]), pieces[0].names)
    return np.concatenate(pieces)


def _settled(values: "NDArray[np.generic] | Names", kind: str) -> "NDArray[np.generic] | Names":
    if isinstance(values, Names):
        settled = values.in_order()
        settled.codes.flags.writeable = False
        return settled
    if kind == "name":
        return Names(np.empty(0, np.int32), [])
    if values.dtype.kind == "f" and np.isnan(values).any():
        kind = "float64"
    settled = values.astype(kind)
    settled.flags.writeable = False
    return settled


def impossible(name: str, columns: Block) -> tuple[str, float | str, str] | None:
    """Of a table, a column with a value that no run has, this value, and what is expected; or None."""
    for key, column in ALL_TABLES[name].items():
        values = columns[key]
        if isinstance(values, Names):
            hidden = next((text for text in values.names if not text.isprintable()), None)
            if hidden is not None:
                return key, hidden, "a name of printable characters, without control characters"
        elif column.unit == "us" and (wrong := _impossible_time(key, values, columns)):
            return key, *wrong
    return None


def _impossible_time(key: str, column: "NDArray[Any]", columns: Block) -> tuple[float, str] | None:
    values = np.asarray(column, float)
    checks = [((values < 0) | (values > LATEST_US), f"a time in us from 0 to {LATEST_US:g}")]
    if key in ENDS:
        begun = np.isfinite(np.asarray(columns["start_us"], float))
        checks.append((np.isfinite(values) & ~begun, "none, because `start_us` is empty"))
    return next(((float(values[wrong][0]), expected) for wrong, expected in checks if wrong.any()), None)


def frame(columns: Block) -> "pandas.DataFrame":
    """Columns as a pandas table, names as categories."""
    import pandas

    def made(values: "NDArray[Any] | Names") -> object:
        if not isinstance(values, Names):
            return values
        return pandas.Categorical.from_codes(values.codes, pandas.Index(values.names, dtype=str))

    return pandas.DataFrame({name: made(values) for name, values in columns.items()})


def rows(columns: Block) -> list[dict[str, object]]:
    """Columns as a list of rows, None for a missing value."""

    def made(values: "NDArray[np.generic] | Names") -> list[object]:
        if isinstance(values, Names):
            return values.texts().tolist()
        # Only NaN differs from itself.
        return [value if value == value else None for value in values.tolist()]

    lists = [made(values) for values in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
