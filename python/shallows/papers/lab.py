"""What a row's function is given: it runs scenarios for one seed and collects numbers and curves."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from shallows import examples
from shallows.fluid.model import Model

if TYPE_CHECKING:
    from shallows.papers.claim import Measured
    from shallows.results.run import Run
    from shallows.scenario import Scenario

SCENARIOS = examples.folder()
V = TypeVar("V")
M = TypeVar("M", bound=Model)


class Lab:
    """One row, one seed.

    quick: the reduced form of the row. perturb: {"dx.headroom": "50us"} gives every DX flow, or fluid model, that
    value, to see whether verdicts depend on it.
    """

    def __init__(
        self, row: "Measured", seed: int = 1, quick: bool = False, perturb: Mapping[str, str] | None = None
    ) -> None:
        self.row, self.seed, self.quick, self.perturb = row, seed, quick, dict(perturb or {})
        self.values: dict[str, float] = {}
        self.series: dict[str, list[list[float]]] = {}
        self.ran: list[str] = []

    def pick(self, quick: V, full: V) -> V:
        """`quick` in quick mode, else `full`."""
        return quick if self.quick else full

    def run(self, name: str, changes: Mapping[str, Any] | None = None, **more: Any) -> "Run":
        """The packet run of scenarios/NAME.toml with `changes`; the keywords have `__` for dots."""
        from shallows.scenario import Scenario
        from shallows.worlds import packet

        if name not in self.row.scenarios:
            raise ValueError(f"{self.row.id} runs {name}, which it does not name")
        changes = {**(changes or {}), **{key.replace("__", "."): value for key, value in more.items()}}
        scenario = Scenario.load(SCENARIOS / f"{name}.toml").replace({"seed": self.seed, **changes})
        scenario = self._perturbed(scenario)
        options = " ".join(f"--set {key}={_text(value)}" for key, value in changes.items())
        self.ran.append(f"shallows run scenarios/{name}.toml {options} --seed {self.seed}".replace("  ", " "))
        return packet.run(scenario).check_books()

    def _perturbed(self, scenario: "Scenario") -> "Scenario":
        changes: dict[str, Any] = {}
        for key, value in self.perturb.items():
            algorithm, _, parameter = key.partition(".")
            if scenario.cc is not None and scenario.cc.name == algorithm:
                changes[f"cc.{parameter}"] = value
            for i, table in enumerate(scenario.traffic):
                if table.cc is not None and table.cc.name == algorithm:
                    changes[f"traffic.{i}.cc.{parameter}"] = value
        return scenario.replace(changes) if changes else scenario

    def fluid(self, model: M) -> M:
        """A fluid model, perturbed if that is asked for."""
        names = {spec.name for spec in fields(model)}
        for key, value in self.perturb.items():
            algorithm, _, parameter = key.partition(".")
            if algorithm == model.name and parameter in names:
                model = replace(
                    model, **{parameter: type(model).read({parameter: value}).__dict__[parameter]}
                )
        self.ran.append(f"fluid {model.name}, {model.flows:g} flows, {model.delay * 1e6:g} us")
        return model

    def say(self, metric: str, value: float) -> None:
        """Keeps a number under its name."""
        self.values[metric] = float(value)

    def ratio(self, metric: str, of: str, over: str) -> None:
        """Keeps how many times one number kept before is another."""
        self.say(metric, self.values[of] / self.values[over])

    def curve(self, label: str, x: Any, y: Any) -> None:
        """Keeps a curve of the figure, thinned to what can be seen."""
        x, y = np.asarray(x, float), np.asarray(y, float)
        every = max(1, len(x) // 400)
        self.series[label] = [_short(x[::every]), _short(y[::every])]

    def cdf(self, label: str, values: Any) -> None:
        """Keeps the distribution of `values` as a curve."""
        at = np.linspace(0, 1, 101)
        self.curve(label, np.quantile(values, at), at)


def _short(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value).replace(" ", "")
