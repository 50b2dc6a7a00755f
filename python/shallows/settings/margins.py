"""Phase margins of a scenario's algorithm over its ports, numbers of flows and base round trips."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shallows.base import extras
from shallows.settings.explain import fluid_model
from shallows.units import RATE

if TYPE_CHECKING:
    from shallows.algorithms.algorithm import Algorithm
    from shallows.core.contract import F64
    from shallows.fluid.model import Model
    from shallows.scenario import Scenario

COARSE = 7
"""Numbers of flows, and round trips, at which a whole grid is examined."""
FINE = 25
"""The same for single settings."""
SETTLED = 3.0
"""A queue has settled after this many time constants of the slowest mode: 5 % of the deviation is left."""


@dataclass(frozen=True)
class Worst:
    """The least phase margin in degrees, where it is, and the longest queue at rest in bytes.

    degrees is NaN if there is no fixed point at `flows` and `rtt_s` of a port of `rate_bps`.
    """

    degrees: float
    flows: int
    rtt_s: float
    rate_bps: float
    queue_bytes: float

    @property
    def where(self) -> str:
        return f"{self.flows} flows, {self.rtt_s * 1e6:.3g} us, {RATE.text(round(self.rate_bps))}"


@dataclass(frozen=True)
class Margins:
    """The fluid models of one scenario, one for each rate of its ports, and the ranges to withstand."""

    models: tuple["Model", ...]
    flows: tuple[int, int]
    rtts_s: tuple[float, float]
    sending_s: tuple[float, ...]
    """Of each model, the part of a round trip that its delay leaves out."""

    @classmethod
    def of(
        cls,
        scenario: "Scenario",
        algorithm: "Algorithm",
        rates: Sequence[int],
        flows: tuple[int, int],
        rtts_s: tuple[float, float],
    ) -> "Margins":
        """The models of `algorithm`. Raises `ScenarioError` without the libraries of the fluid world."""
        extras.need("fluid", "shallows advise")
        made = (fluid_model(scenario, rate, round(rtts_s[0] * 1e12), algorithm) for rate in rates)
        models = tuple(model for model in made if model is not None)
        return cls(models, flows, rtts_s, tuple(max(0.0, rtts_s[0] - model.delay) for model in models))

    def with_parameters(self, values: Mapping[str, object]) -> "Margins":
        """The same with other parameters of the models."""
        return replace(self, models=tuple(replace(model, **values) for model in self.models))

    def over(self, grid: Mapping[str, "F64"]) -> "tuple[F64, F64]":
        """(least margin in degrees, longest queue in bytes) of each point; NaN without a fixed point."""
        margins, queues = self._all(grid, COARSE)
        # A place without a fixed point decides, so NaN wins over any number.
        return margins.min(axis=-1), queues.max(axis=-1)

    def worst(self) -> Worst:
        """The worst place, of more than `over` looks at."""
        margins, queues = self._all({}, FINE)
        missing = np.flatnonzero(np.isnan(margins))
        place = int(missing[0]) if len(missing) else int(margins.argmin())
        flows, rtts = self._axes(FINE)
        model, rest = divmod(place, len(flows) * len(rtts))
        flow, rtt = divmod(rest, len(rtts))
        longest = float(np.nanmax(queues)) if np.isfinite(queues).any() else np.nan
        return Worst(float(margins[place]), int(flows[flow]), float(rtts[rtt]),
                     float(self.models[model].rate), longest)  # fmt: skip

    def settles_s(self) -> float:
        """The longest time that a queue needs to settle at the ends of the ranges; infinite if it cannot."""
        from shallows.fluid.linear import linearise

        times: list[float] = []
        for model, sending in zip(self.models, self.sending_s, strict=True):
            for flows in set(self.flows):
                for rtt in set(self.rtts_s):
                    at = replace(model, flows=flows, delay=max(0.0, rtt - sending))
                    if not at.fixed_point().exists:
                        return np.inf
                    growth = linearise(at).rightmost_root().real
                    times.append(-SETTLED / growth if growth < 0 else np.inf)
        return max(times)

    def _axes(self, count: int) -> "tuple[F64, F64]":
        return np.unique(_spread(self.flows, count).round()), _spread(self.rtts_s, count)

    def _all(self, grid: Mapping[str, "F64"], count: int) -> "tuple[F64, F64]":
        """Margins and queues [*grid, places]; places are models, flows and round trips, the last fastest."""
        from shallows.fluid.maps import margin_map

        flows, rtts = self._axes(count)
        shape = tuple(len(values) for values in grid.values())
        margins, queues = list["F64"](), list["F64"]()
        for model, sending in zip(self.models, self.sending_s, strict=True):
            delays: F64 = np.maximum(0.0, rtts - sending)
            found = margin_map(model, {**grid, "flows": flows, "delay": delays})
            degrees: F64 = np.where(found.exists, found.phase_margin_deg, np.nan)
            margins.append(degrees.reshape(*shape, -1))
            queues.append(found.queue_bytes.reshape(*shape, -1))
        return np.concatenate(margins, axis=-1), np.concatenate(queues, axis=-1)


def _spread(ends: tuple[float, float], count: int) -> "F64":
    """`count` values from one end to the other, evenly by ratio; one value where the ends are equal."""
    return np.geomspace(*ends, count if ends[0] < ends[1] else 1)
