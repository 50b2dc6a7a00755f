"""`Lab`: what a figure's function is given. It runs scenarios for one seed and stores numbers and curves."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

import shallows as sh
from shallows.fluid import Model

if TYPE_CHECKING:
    from validation.claim import Measured

SCENARIOS = Path(__file__).parents[1] / "scenarios"
V = TypeVar("V")
M = TypeVar("M", bound=Model)


class Lab:
    """One figure, one seed.

    quick: whether the figure is reduced. change: deviations from the figure's setting, see `claim.Mutation`:

        "dx.headroom": "50us"          a parameter of every DX flow, or of every fluid model with this name
        "dx-10:topology.rtt": "1ms"    a key of the scenario dx-10
        "cc:dx@ns-2": "vegas"          another algorithm in the place of this one
        "input:w_min": 0.02            a number that the figure's function takes from `input`
    """

    def __init__(
        self, row: "Measured", seed: int = 1, quick: bool = False, change: Mapping[str, Any] | None = None
    ) -> None:
        self.row, self.seed, self.quick, self.change = row, seed, quick, dict(change or {})
        self.values: dict[str, float] = {}
        self.series: dict[str, list[list[float]]] = {}
        self.ran: list[str] = []
        self.used: set[str] = set()
        self._measured: dict[int, str] = {}

    def pick(self, quick: V, full: V) -> V:
        """`quick` in quick mode, else `full`."""
        return quick if self.quick else full

    def input(self, name: str, value: V) -> V:
        """`value`, unless a change names another."""
        key = f"input:{name}"
        if key not in self.change:
            return value
        self.used.add(key)
        return self.change[key]

    def run(self, name: str, changes: Mapping[str, Any] | None = None, **more: Any) -> sh.Run:
        """The packet run of scenarios/NAME.toml with `changes`; the keywords have `__` for dots."""
        if name not in self.row.runs:
            raise ValueError(f"{self.row.id} runs the scenario {name}; add it to `runs` of the figure")
        changes = {**(changes or {}), **{key.replace("__", "."): value for key, value in more.items()}}
        port = self.row.runs[name]
        recorded = {"record.ports": [port]} if port else {}
        overrides = {"seed": self.seed, **recorded, **self._swapped(changes), **self._of_scenario(name)}
        scenario = self._with_parameters(sh.Scenario.load(SCENARIOS / f"{name}.toml", overrides))
        options = " ".join(f"--set {key}={_text(value)}" for key, value in changes.items())
        self.ran.append(f"shallows run scenarios/{name}.toml {options} --seed {self.seed}".replace("  ", " "))
        run = sh.run(scenario, threads=1)
        self._measured[id(run)] = port
        return run

    def port(self, run: sh.Run, name: str | None = None) -> dict[str, Any]:
        """The statistics of the port that the figure names for this scenario, or of the port `name`."""
        table = run.ports.set_index("port")
        return table.loc[name or self._port_of(run)].to_dict()

    def queue(self, run: sh.Run, after_us: float = 0) -> Any:
        """The queue samples of the figure's port after `after_us`."""
        table = run.queues
        return table[(table.port == self._port_of(run)) & (table.time_us >= after_us)]

    def _port_of(self, run: sh.Run) -> str:
        port = self._measured[id(run)]
        if not port:
            raise ValueError(f"{self.row.id} measures a port; name it in `runs` of the figure")
        return port

    def _swapped(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        swaps = {key.removeprefix("cc:"): key for key in self.change if key.startswith("cc:")}

        def swap(value: Any) -> Any:
            if isinstance(value, str) and value in swaps:
                self.used.add(swaps[value])
                return self.change[swaps[value]]
            if isinstance(value, dict):
                table = cast("dict[str, Any]", value)
                return {key: swap(one) for key, one in table.items()}
            return [swap(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value

        return {key: swap(value) for key, value in changes.items()} if swaps else dict(changes)

    def _of_scenario(self, name: str) -> dict[str, Any]:
        keys = [key for key in self.change if key.startswith(f"{name}:")]
        self.used.update(keys)
        return {key.partition(":")[2]: self.change[key] for key in keys}

    def _with_parameters(self, scenario: sh.Scenario) -> sh.Scenario:
        changes: dict[str, Any] = {}
        for key, value in self.change.items():
            algorithm, _, parameter = key.partition(".")
            if ":" in key:
                continue
            if scenario.cc is not None and scenario.cc.name == algorithm:
                changes[f"cc.{parameter}"] = value
            for i, table in enumerate(scenario.traffic):
                if table.cc is not None and table.cc.name == algorithm:
                    changes[f"traffic.{i}.cc.{parameter}"] = value
            if changes:
                self.used.add(key)
        return scenario.replace(changes) if changes else scenario

    def fluid(self, model: M) -> M:
        """A fluid model, with the parameters of a change that names it."""
        names = {spec.name for spec in fields(model)}
        for key, value in self.change.items():
            algorithm, _, parameter = key.partition(".")
            if algorithm == model.name and parameter in names:
                self.used.add(key)
                read = type(model).read({parameter: value}).__dict__[parameter]
                model = replace(model, **{parameter: read})
        self.ran.append(f"fluid {model.name}, {model.flows:g} flows, {model.delay * 1e6:g} us")
        return model

    def say(self, metric: str, value: float) -> None:
        """Stores a number under its name."""
        self.values[metric] = float(value)

    def ratio(self, metric: str, of: str, over: str) -> None:
        """Stores the ratio of two stored numbers."""
        self.say(metric, self.values[of] / self.values[over])

    def curve(self, label: str, x: Any, y: Any) -> None:
        """Stores a curve of the figure, thinned to about 400 points."""
        x, y = np.asarray(x, float), np.asarray(y, float)
        every = max(1, len(x) // 400)
        self.series[label] = [_short(x[::every]), _short(y[::every])]

    def cdf(self, label: str, values: Any) -> None:
        """Stores the distribution of `values` as a curve."""
        at = np.linspace(0, 1, 101)
        self.curve(label, np.quantile(values, at), at)


def _short(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value).replace(" ", "")
