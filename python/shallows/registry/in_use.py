"""Parameters of an algorithm or a marking as a run of a scenario uses them."""

from typing import TYPE_CHECKING

from shallows.algorithms import defaults, marking
from shallows.algorithms.algorithm import choose
from shallows.errors import ScenarioError
from shallows.registry import catalog
from shallows.scenario import supported_keys
from shallows.scenario.ports import algorithms_by_marking
from shallows.scenario.resolve import of_network
from shallows.units import RATE

if TYPE_CHECKING:
    from shallows.algorithms.marking import Marking
    from shallows.core.contract import U64
    from shallows.printing.report import Part
    from shallows.scenario import Scenario

Values = dict[str, dict[str, float]]
"""Key of a scenario -> parameter -> value in SI base units."""


def values(name: str, scenario: "Scenario") -> Values:
    """The parameters of an algorithm or a marking where `scenario` has it, or else by default on its network.

    Raises `ScenarioError` for an unknown name, and for a receiver.
    """
    found = catalog.entry(name)
    scale = defaults.Scale.of(scenario.graph, scenario.mtu)
    used: Values = {}
    if "cc" in found:
        algorithms = {
            key: one for key, one in supported_keys.algorithms(scenario.settled) if one.name == name
        }
        algorithms = algorithms or {"cc": of_network(choose(name, scenario.frame), scale)}
        used |= {key: one.parameters for key, one in algorithms.items()}
    if "network.marking" in found:
        markings = {key: one for key, (one, _) in algorithms_by_marking(scenario).items()}
        kinds = {key: one for key, one in markings.items() if not isinstance(one, str) and one.kind == name}
        rates = scenario.graph.rate_bps
        by_default = marking.choose({"kind": name}, scenario.frame).settled(scale, rates)
        for key, one in (kinds or {"network.marking": by_default}).items():
            used |= _at_rates(key, one, rates[~scenario.graph.is_nic])
    if not used:
        raise ScenarioError("--on", name, "the name of an algorithm or of a marking, not of a receiver")
    return used


def _at_rates(key: str, of: "Marking", rates: "U64") -> Values:
    """The parameters at switch ports, by rate where they differ."""
    points, place = of.at_rates(rates)
    if len(points) == 1:
        return {key: points[0]["parameters"]}
    by_rate = dict(zip(rates.tolist(), place.tolist(), strict=True))
    return {f"{key} at {RATE.text(rate)}": points[at]["parameters"] for rate, at in sorted(by_rate.items())}


def page(name: str, used: Values) -> "list[Part]":
    """The result of `values` as a list of rich renderables."""
    from rich.markup import escape
    from rich.table import Table

    known = {one["name"]: one for row in catalog.entry(name).values() for one in row["parameters"]}
    parts: list[Part] = []
    for key, parameters in used.items():
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("parameter", "value", "default"):
            table.add_column(column, no_wrap=True)
        for parameter, value in parameters.items():
            one = known[parameter]
            cells = (parameter, catalog.quantity(value, one["unit"]), catalog.default(one))
            table.add_row(*map(escape, cells))
        parts += [f"[bold]{escape(key)}[/] = [bold]{name}[/]", table]
    return parts
