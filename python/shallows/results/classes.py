"""The table of traffic classes of a result, or of the two queues of ports."""

from typing import TYPE_CHECKING

from shallows.results.tables import Block, Names
from shallows.scenario import port_request

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shallows.core.contract import ClassColumns
    from shallows.scenario import Scenario
    from shallows.topology import Network


def columns(answer: "ClassColumns", scenario: "Scenario", network: "Network") -> Block:
    """A row for each class of each port; without `[[classes]]` for both queues of ports with two."""
    rows = _rows(answer, scenario)
    return {
        "port": Names(answer["link"][rows], network.port_names),
        "class": Names(answer["class"][rows], port_request.names(scenario)),
        "sent": answer["sent"][rows],
        "sent_bytes": answer["sent_bytes"][rows],
        "marked": answer["marked"][rows],
        "dropped": answer["dropped"][rows],
        "queue_mean_pkt": answer["queue_mean_bytes"][rows] / scenario.mtu,
        "queue_max_pkt": answer["largest_bytes"][rows] / scenario.mtu,
        "delay_mean_us": answer["delay_mean_ps"][rows] / 1e6,
        "pauses": answer["pauses"][rows],
        "paused_us": answer["paused_ps"][rows] / 1e6,
    }


def _rows(answer: "ClassColumns", scenario: "Scenario") -> "slice | NDArray[np.bool_]":
    """The rows of the table. Ports of links that fail have one class without a name."""
    if scenario.classes:
        return slice(None)
    return port_request.links_with_two_queues(scenario)[answer["link"]]
