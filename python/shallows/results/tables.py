"""The tables of a result and their columns."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Column(NamedTuple):
    """A column of a table: its Arrow type ("name" is text that repeats), unit and definition."""

    type: str
    unit: str
    definition: str


TABLES = {
    "flows": {
        "flow": Column("uint32", "", "number of the flow, from 0 in the order the scenario lists them"),
        "traffic": Column("uint32", "", "number of its table, `[[traffic]]`, from 0"),
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
        "retransmits": Column("uint32", "packets", "data packets sent again"),
        "timeouts": Column("uint32", "1", "retransmission timeouts"),
        "credits": Column("uint64", "packets", "credits that the receiver handed out"),
        "credits_wasted": Column("uint64", "packets", "credits that came and found nothing to send"),
        "srtt_mean_us": Column(
            "float64",
            "us",
            "mean over its acks of the smoothed round trip (RFC 6298); empty where it has none",
        ),
        "srtt_max_us": Column("float64", "us", "the largest of them"),
    },
    "queues": {
        "time_us": Column("float64", "us", "when the sample was taken"),
        "port": Column("name", "", "egress port, as from->to"),
        "queue_pkt": Column("float64", "full frames", "queue_bytes / mtu"),
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


class Names(NamedTuple):
    """A column of text: `codes` (integers, one a row) into `names`."""

    codes: NDArray[np.integer]
    names: list[str]


Block = Mapping[str, "NDArray[Any] | Names"]
"""Some rows of a table: columns of one length, NaN for what does not exist."""
