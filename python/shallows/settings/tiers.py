"""The settings of a tier: those of all ports, as `[[ports]]` changes them for some."""

from typing import TYPE_CHECKING

from shallows.errors import ScenarioError
from shallows.scenario.ports import PortGroups
from shallows.units import NEVER, SIZE

if TYPE_CHECKING:
    from shallows.scenario import Scenario
    from shallows.scenario.ports import Queue
    from shallows.scenario.queues import Trimming


def of_tier(scenario: "Scenario", names: str) -> "Scenario":
    """`scenario` with the queues of these switch ports at all ports, and without `[[ports]]`.

    names: a port or a pattern, such as "spine*->*". Raises `ScenarioError` if these ports differ.
    """
    network = scenario.graph
    try:
        links = [link for link in network.ports([names]) if not network.is_nic[link]]
    except ValueError as error:
        raise ScenarioError("--tier", *error.args) from None
    groups = PortGroups.of(scenario, network)
    found = {int(groups.group[link]): link for link in links}
    if len(found) != 1:
        both = " and ".join(network.port_names[link] for link in list(found.values())[:2])
        wrong = f"{both} differ" if found else "these are ports of hosts"
        raise ScenarioError("--tier", names, f"ports of switches with the same [[ports]]: {wrong}")
    overrides: dict[str, object] = {"ports": []}
    for queue in groups.queues(scenario)[next(iter(found))]:
        overrides |= _keys(queue, scenario.mtu)
    return scenario.changed(overrides)


def _keys(queue: "Queue", mtu: int) -> dict[str, object]:
    """The keys of a queue that `[[ports]]` can change."""
    keys: dict[str, object] = {"marking": queue.marks.table(mtu) if queue.marks else "none"}
    if queue.trimming:
        keys["trimming"] = _trimming(queue.trimming, mtu)
    elif queue.buffer < NEVER:
        keys["buffer"] = SIZE.text(queue.buffer, mtu)
    return {f"{queue.key}.{key}": value for key, value in keys.items()}


def _trimming(table: "Trimming", mtu: int) -> dict[str, object]:
    limit = {"threshold": SIZE.text(table.threshold, mtu)} if table.threshold else {"queue": table.queue}
    return {**limit, "headers": SIZE.text(table.headers, mtu), "ratio": table.ratio}
