"""The table of traffic classes of a result."""

from typing import TYPE_CHECKING

from shallows.results.tables import Block, Names
from shallows.scenario import port_request

if TYPE_CHECKING:
    from shallows.core.contract import ClassColumns
    from shallows.scenario import Scenario
    from shallows.topology import Network


def columns(answer: "ClassColumns", scenario: "Scenario", network: "Network") -> Block:
    """A row for each class of each port, of a scenario with classes."""
    return {
        "port": Names(answer["link"], network.port_names),
        "class": Names(answer["class"], port_request.names(scenario)),
        "sent": answer["sent"],
        "sent_bytes": answer["sent_bytes"],
        "marked": answer["marked"],
        "dropped": answer["dropped"],
        "queue_mean_pkt": answer["queue_mean_bytes"] / scenario.mtu,
        "queue_max_pkt": answer["largest_bytes"] / scenario.mtu,
        "delay_mean_us": answer["delay_mean_ps"] / 1e6,
        "pauses": answer["pauses"],
        "paused_us": answer["paused_ps"] / 1e6,
    }
