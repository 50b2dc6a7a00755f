"""The causes of the time of a flow, with meaning and colour."""

from typing import NamedTuple

from shallows.scenario.addends import ADDENDS


class Cause(NamedTuple):
    """A cause: title, meaning, and colour in figures."""

    title: str
    meaning: str
    colour: str


CAUSES = {
    "transmission": Cause("transmission", "a frame of the flow itself is being sent", "#4c72b0"),
    "propagation": Cause("propagation", "it is on the link", "#9bb8e0"),
    "queue": Cause("queue", "it waits at a port behind frames of other flows", "#c44e52"),
    "nic": Cause("NIC turn", "it waits at its own host's NIC behind other flows", "#e08b55"),
    "pause": Cause("pause", "the port has been told to stop (PFC)", "#8c3b8f"),
    "shaping": Cause("shaping", "the port's class waits for its tokens", "#b58fc6"),
    "fault": Cause("link down", "the link does not work", "#333333"),
    "window": Cause(
        "window", "a round trip over empty links before the window let the next frame go", "#55a868"
    ),
    "cut": Cause(
        "window, cut", "as under window, until a window that a queue of others had cut had regrown", "#2f7d46"
    ),
    "receiver": Cause("receiver", "as under window, where the receiver allowed no more", "#a9d4a0"),
    "pace": Cause("pace", "the algorithm's pace, or its server's pacer, held the frame back", "#ccb974"),
    "pace_cut": Cause(
        "pace, cut", "as under pace, until a pace that a queue of others had cut had regrown", "#8a7a3a"
    ),
    "host": Cause("host", "the host took its time over a credit", "#e8d5a3"),
    "credit": Cause("credit or grant", "the flow waited to be called, or to be told a rate", "#d6c400"),
    "delayed_ack": Cause("delayed ack", "the receiver held its acknowledgement back", "#64b5cd"),
    "reordering": Cause("reordering", "a frame was sent again that had not been lost", "#937860"),
    "loss": Cause(
        "loss, repaired", "from a frame's loss until it was sent again by a fast repair", "#da8bc3"
    ),
    "timeout": Cause("loss, timeout", "from a frame's loss until a timeout sent it again", "#a02c60"),
    "dependency": Cause("other flow", "the flow that it waits for had not ended", "#8c8c8c"),
    "delay": Cause("delay", "the fixed delay between the end of that wait and the start", "#b0a48c"),
    "cost": Cause("host cost", "the software of the host took its time over a message", "#7f6a93"),
    "processor": Cause(
        "processor", "a computation of another task kept the processor of the host busy", "#f0b98d"
    ),
    "computation": Cause("computation", "a processor of the host computed", "#dd8452"),
    "application": Cause("application", "the application waited of itself", "#c7c7c7"),
}
"""Causes by key, in the order of tables and figures."""

SENDERS = frozenset({"window", "cut", "receiver", "credit", "loss", "timeout", "reordering"})
"""Causes that replace transmission and propagation of the round trip that they needed."""

OWN = frozenset({"propagation", "computation", "application", *(addend.cause for addend in ADDENDS)})
"""Causes of time that no other flow, port or algorithm adds."""

WAITS = ("queue", "nic", "pause", "shaping", "fault", "loss", "timeout")
"""Causes at a port."""
