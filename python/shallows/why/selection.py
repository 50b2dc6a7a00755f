"""Selection of ports and flows of a scenario by name and number."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shallows.errors import ScenarioError

if TYPE_CHECKING:
    from shallows.scenario import Scenario


def ports(scenario: "Scenario", names: Sequence[str] | None) -> list[int] | None:
    """The links of these names or patterns; None if there are none. Raises `ScenarioError`."""
    if not names:
        return None
    try:
        return scenario.graph.ports(names)
    except ValueError as error:
        raise ScenarioError("port", *error.args) from None


def flows(scenario: "Scenario", numbers: Sequence[int] | None) -> list[int] | None:
    """The flow numbers without repetition; None if there are none. Raises `ScenarioError`."""
    if not numbers:
        return None
    for flow in numbers:
        if not 0 <= flow < scenario.flow_count:
            expected = f"a number from 0 to {scenario.flow_count - 1}: there are {scenario.flow_count} flows"
            raise ScenarioError("flow", flow, expected)
    return list(dict.fromkeys(numbers))
