"""The parameters that `shallows advise` tunes: a grid for each algorithm with a margin in the fluid world."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shallows.errors import ScenarioError
from shallows.units import RATE, SIZE, TIME

if TYPE_CHECKING:
    from shallows.algorithms.algorithm import Algorithm
    from shallows.core.contract import F64
    from shallows.scenario import Scenario


@dataclass(frozen=True)
class Range:
    """The ranges that a grid has to cover.

    own: the algorithm's parameters in the scenario, in SI units. rate_bps: the lowest rate of a switch port.
    rtt_s: the longest base round trip. limit_bytes: the most that marking may leave in a port.
    """

    own: Mapping[str, float]
    rate_bps: float
    rtt_s: float
    limit_bytes: float


@dataclass(frozen=True)
class Tuning:
    """How one algorithm is tuned.

    grid: parameter of the fluid model -> values in SI units. keys: such values and the scenario's own
    parameters -> keys of the scenario, those of the algorithm after "cc.". step: the parameter that sets how
    fast a flow takes free bandwidth. fixed: words that the model of every candidate has. note: what is tied
    to what.
    """

    grid: Callable[[Range], Mapping[str, Sequence[float]]]
    keys: Callable[[Mapping[str, float], Mapping[str, float]], dict[str, object]]
    step: str
    fixed: Mapping[str, object]
    note: str


REACTION_S = 50e-6
"""DCQCN's notifications and timers act after about this long (SIGCOMM 2015), however short the path."""
TIMER_S = 55e-6
"""The timers of SIGCOMM 2015. NVIDIA's NICs have 1 us for alpha's and 300 us for that of increases."""


def _dcqcn(given: Range) -> Mapping[str, Sequence[float]]:
    reference = given.rate_bps * max(given.rtt_s, REACTION_S) / 8
    kmax = {min(reference * share, given.limit_bytes) for share in (0.2, 0.5, 1, 4, 16)}
    return {
        "kmin": [_two_digits(min(reference, given.limit_bytes) * share) for share in (0.01, 0.05, 0.2, 0.5)],
        "kmax": [_two_digits(one) for one in sorted(kmax)],
        "pmax": [0.01, 0.05, 0.2, 1.0],
        "r_ai": _steps(given, (1, 2.5, 10), given.own["r_ai"]),
        # in units of the NIC, so that writing rounds nothing
        "g": [1 / 1024, 4 / 1024, 16 / 1024],
        "tau_prime": sorted({TIMER_S, given.own["tau_prime"]}),
        "t": sorted({TIMER_S, given.own["t"]}),
    }


def _dcqcn_keys(values: Mapping[str, float], own: Mapping[str, float]) -> dict[str, object]:
    return {
        "network.marking.kmin": SIZE.text(round(values["kmin"])),
        "network.marking.kmax": SIZE.text(round(values["kmax"])),
        "network.marking.pmax": values["pmax"],
        "cc.r_ai": RATE.text(round(values["r_ai"])),
        "cc.r_hai": RATE.text(round(values["r_ai"] * own["r_hai"] / own["r_ai"])),
        "cc.g": values["g"],
        "cc.tau_prime": _time(values["tau_prime"]),
        "cc.t": _time(values["t"]),
    }


def _patched_timely(given: Range) -> Mapping[str, Sequence[float]]:
    return {
        "delta": _steps(given, (2.5, 5, 10), given.own["delta"]),
        "beta": [0.002, 0.004, 0.008, 0.016, 0.03],
        "t_low": sorted({25e-6, 50e-6, 100e-6, given.own["t_low"]}),
    }


def _patched_timely_keys(values: Mapping[str, float], own: Mapping[str, float]) -> dict[str, object]:
    return {
        "cc.delta": RATE.text(round(values["delta"])),
        "cc.beta": values["beta"],
        "cc.t_low": _time(values["t_low"]),
    }


def _steps(given: Range, shares: Sequence[float], own: float) -> list[float]:
    """Additive steps: ten-thousandths of the rate in whole Mbit/s, and the scenario's own."""
    return sorted({max(1.0, round(given.rate_bps * share / 1e10)) * 1e6 for share in shares} | {own})


def _two_digits(value: float) -> float:
    return float(f"{value:.1e}")


def _time(seconds: float) -> str:
    return TIME.text(round(seconds * 1e12))


TUNINGS: dict[tuple[str, str | None], Tuning] = {
    ("dcqcn", "red"): Tuning(
        _dcqcn, _dcqcn_keys, "r_ai", {"ramp": "cliff"},
        "r_hai keeps its ratio to r_ai; the fluid model has neither hyper increase nor a least rate",
    ),
    ("patched-timely", None): Tuning(
        _patched_timely, _patched_timely_keys, "delta", {}, "the fluid model has no least rate"
    ),
}  # fmt: skip
"""(algorithm, kind of marking; None is any) -> how it is tuned."""


@dataclass(frozen=True)
class Tuned:
    """What is tuned in one scenario: the algorithm, how, and the tables that have it ("cc", "traffic.0.cc").

    others: the labels of other algorithms.
    """

    algorithm: "Algorithm"
    tuning: Tuning
    tables: tuple[str, ...]
    others: tuple[str, ...]

    def keys(self, values: Mapping[str, float], extended: bool) -> dict[str, object]:
        """The scenario's keys for `values` of the model, in each of the tables.

        extended: whether the scenario's ramp goes on above kmax, as no switch has it.
        """
        found: dict[str, object] = {}
        for key, value in self.tuning.keys(values, self.algorithm.parameters).items():
            places = [f"{table}.{key[3:]}" for table in self.tables] if key.startswith("cc.") else [key]
            found |= dict.fromkeys(places, value)
        return found | ({"network.marking.extended": False} if extended else {})


def tuned(scenario: "Scenario") -> Tuned:
    """What can be tuned in `scenario`. Raises `ScenarioError` where that is nothing, or not one algorithm."""
    kind = scenario.marking and scenario.marking.kind
    places = {f"traffic.{i}.cc": table.cc for i, table in enumerate(scenario.traffic) if table.cc}
    if len(places) < len(scenario.traffic) and scenario.cc:
        places["cc"] = scenario.cc
    found: dict[str, tuple[Algorithm, Tuning]] = {}
    for place, used in places.items():
        tuning = TUNINGS.get((used.name, kind)) or TUNINGS.get((used.name, None))
        if tuning:
            found[place] = (used, tuning)
    if not found:
        raise ScenarioError("cc.name", ", ".join(sorted({one.label for one in places.values()})), _expected())
    first, tuning = next(iter(found.values()))
    if any(used.name != first.name or used.parameters != first.parameters for used, _ in found.values()):
        labels = ", ".join(used.label for used, _ in found.values())
        raise ScenarioError("cc", labels, "one algorithm to tune, with the same parameters in all tables")
    others = {used.label for place, used in places.items() if place not in found}
    return Tuned(first, tuning, tuple(found), tuple(sorted(others)))


def _expected() -> str:
    known = " or ".join(f"{name} with {kind} marking" if kind else name for name, kind in TUNINGS)
    return (
        f"{known}: advice needs a fluid model with a phase margin. For other algorithms compare settings in "
        "the packet world: shallows sweep SCENARIO --over KEY=VALUES"
    )


def grid(tuning: Tuning, given: Range) -> "dict[str, F64]":
    """The grid of `tuning` as arrays."""
    return {name: np.asarray(values, float) for name, values in tuning.grid(given).items()}
