"""The parameters with which printed figures were computed, where these differ from their text.

`FIGURES` names a model as its text describes it and as the figure was made. `linearise_as_published`
is the paper's own linearisation: for DCQCN a Taylor expansion at the approximate fixed point, for
Patched TIMELY the exact one with the parameters of Fig. 11. `ScriptHostPi` is the system behind
Fig. 19.

Source: ECN or Delay (CoNEXT 2016) eq. 14, 33, 34 and figures 3, 4, 8, 11, 19; the parameters that the
text does not give were recovered by comparing with the plotted curves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shallows.fluid.dcqcn import Dcqcn, any_marked, increase_rates
from shallows.fluid.linear import Linear, linearise
from shallows.fluid.model import Constants, Model, Status, parameter
from shallows.fluid.patched_timely import PatchedTimely
from shallows.fluid.patched_timely_pi import PatchedTimelyPi
from shallows.fluid.system import equations
from shallows.fluid.timely import Timely, delay_constants

FOUND = int(Status.FOUND)
PRINTED = ("dcqcn", "patched-timely")
"""Models whose paper prints phase margins."""


def approximate_marking(model: Dcqcn) -> float:
    """p* of eq. 14, the expansion of eq. 11 about p = 0: 16 % (N = 1) to 70 % (N = 100) too high."""
    k = model.scalars()
    per_rate = 1 / k["B"] + k["flows"] / (k["T"] * k["C"])
    return (k["R_AI"] * k["flows"] ** 2 / (k["tau_prime"] * k["C"] ** 2) * per_rate**2) ** (1 / 3)


def linearise_as_published(model: Model) -> Linear:
    """The `Linear` behind the paper's phase margins (Fig. 3, Fig. 11). Raises ValueError for other models."""
    if type(model) is Dcqcn:
        return taylor_dcqcn(model)
    if type(model) is PatchedTimely:
        return linearise(replace(model, weight_slope=0.5, interval="seg"))
    raise ValueError(f"the paper prints no phase margin of {model.name}")


def taylor_dcqcn(model: Dcqcn) -> Linear:
    """DCQCN linearised as for Fig. 3: eq. 34 at eq. 14's p*, on the ramp's slope wherever p* lies.

    The increase terms are expanded to second order in p with A = 1/B + 1/(T R) held constant although
    R varies, the present and the delayed rate share them as in eq. 34, and alpha follows p with a pole
    at g R and gain 1, where eq. 5 gives g/tau' and the gain tau' R.
    """
    k = model.scalars()
    R, p, F, R_AI, g = k["C"] / k["flows"], approximate_marking(model), k["F"], k["R_AI"], k["g"]
    slope = k["pmax"] / (k["Kmax"] - k["Kmin"])
    alpha = any_marked(p, k["tau_prime"] * R)
    _, additive = increase_rates(p, R, k["B"], k["T"], F)
    R_T = R + additive * k["tau"] * R_AI / any_marked(p, k["tau"] * R)

    A = 1 / k["B"] + 1 / (k["T"] * R)
    half = 1 / 2 + A / 4
    additive_slope = (1 + 2 * F + A / 2) * R_AI
    by_flow = np.array(
        [
            [
                -p * R * alpha / 2 - A / 2 * R + A / 2 * R_T + half * p * R - half * p * R_T,
                A / 2 * R - half * p * R,
                -p * R**2 / 2,
            ],
            [p * R + A * R_AI, -p * R, 0.0],
            [0.0, 0.0, -g * R],
        ]
    )
    by_delayed = np.array(
        [
            [
                slope * (-(R**2) * alpha / 2 - half * R * R_T + half * R**2),
                -p * R * alpha / 2 - A / 2 * R + half * p * R,
            ],
            [
                slope * (-R * R_T + R**2 - additive_slope * R),
                -p * R_T + p * R + A * R_AI - additive_slope * p,
            ],
            [slope * g * R, 0.0],
        ]
    )
    partials = (
        np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1)), np.array([[1.0, 0.0, 0.0]]), np.zeros((3, 1)),
        by_flow, by_delayed,
    )  # fmt: skip
    delays = np.full(2, float(model.delay))
    system = model.system
    return Linear(partials, float(model.flows), system.tap_states, delays, 0, system.states, model.delay)


@equations
def _script_reaction(
    R: float, p: float, q_d: float, q_dd: float, Seg: float, delta: float, q_ref: float, a: float, b: float
) -> tuple[float, float]:
    """The rate, with half of p R as the decrease; and p, a difference of two samples rather than eq. 32."""
    return R / Seg * (delta - 0.5 * p * R), a * (q_d - q_ref) - b * (q_dd - q_ref)


@equations
def _script_equilibrium(flows: float, C: float, delta: float, q_ref: float) -> tuple[float, ...]:
    return FOUND, q_ref, C / flows, 2 * delta * flows / C


@dataclass(frozen=True, kw_only=True, repr=False)
class ScriptHostPi(Timely):
    """Host PI as Fig. 19 was computed: other gains, target and rate law than §5.2 describes.

    Its flows started with random p between 0 and 0.01, which is what keeps them unequal.
    """

    q_ref: float = parameter("size", 343.75e3, "target queue: C (T_low + T_high)/2", above=0)

    name: ClassVar = "script-host-pi"
    source: ClassVar = "ECN or Delay (CoNEXT 2016) Fig. 19"
    outputs: ClassVar = {"p": ("p", False)}
    system: ClassVar = replace(
        Timely.system, flow=("R", "p"), reaction=_script_reaction, equilibrium=_script_equilibrium
    )

    def constants(self) -> Constants:
        gain = 1.816e-9 * self.rate / (10 * 8 * self.seg)
        return delay_constants(self) | {"q_ref": 8 * self.q_ref, "a": 1.0005 * gain, "b": gain}

    def start(self, rate_bps: float) -> dict[str, float]:
        return {"R": rate_bps, "p": 0.0}

    def explain(self, status: Status, state: Mapping[str, float]) -> str:
        return ""


@dataclass(frozen=True)
class Figure:
    """A printed figure: the model of its text, the model it was computed with, what differs."""

    text: Model
    computed: Model
    difference: str


FIGURES = {
    "fig3": Figure(
        Dcqcn(ramp="extended"),
        Dcqcn(ramp="extended"),
        "computed by `taylor_dcqcn`; the ramp's slope is used beyond kmax as well",
    ),
    "fig4": Figure(Dcqcn(), Dcqcn(kmax=2e6, pmax=0.1), "Kmax 2000 KB and pmax 10 %, but for N = 2 at 4 us"),
    "fig8": Figure(Timely(), Timely(serialization="seg"), "a burst, not an MTU, is serialised in eq. 24"),
    "fig11": Figure(
        PatchedTimely(),
        PatchedTimely(weight_slope=0.5, interval="seg"),
        "slope 0.5 instead of 2 in eq. 30, no maximum in eq. 23",
    ),
    "fig19": Figure(
        PatchedTimelyPi(), ScriptHostPi(), "another rate law; target 343.75 KB, not 300; random p at first"
    ),
}
